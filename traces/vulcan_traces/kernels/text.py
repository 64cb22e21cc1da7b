"""Compiled inner loops. Import it late: numba is slow to load."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import njit

IGNORED, TIME, ID, VOLUME, SIZE, COUNT = range(6)
"""Roles of the fields of a line. Fields of kind SIZE add up; a VOLUME field qualifies the id."""

(
    WELL_FORMED,
    WRONG_FIELD_COUNT,
    TIME_NOT_A_NUMBER,
    ID_MISSING,
    ID_NOT_A_NUMBER,
    SIZE_NOT_A_NUMBER,
    SIZE_NEGATIVE,
    SIZE_TOO_LARGE,
    COUNT_OUT_OF_RANGE,
    QUOTE_NOT_CLOSED,
    CONTROL_CHARACTER,
) = range(11)

BLANKS = 0
"""The delimiter that stands for any run of spaces and tabs."""

MAX_COUNTED = 65_536
"""Maximum COUNT of a line: beyond it, the line is malformed."""

_MAX_SIZE = np.uint64(2**32 - 1)
_DIGIT_LIMIT = np.uint64((2**64 - 1) // 10)
_SIGN_LIMIT = np.uint64(2**63)
_TEN = np.uint64(10)
_FIT, _NO_NUMBER, _TOO_LONG = range(3)
_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_MIX_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, inline="always")
def mix(value):
    """Return the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection whose output looks
    random."""
    value = value + _MIX_INCREMENT
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@njit(cache=True)
def hash_bytes(data, start, end):
    """FNV-1a over data[start:end], finalised by `mix`: the same 64 bits on every machine."""
    value = _FNV_OFFSET
    for i in range(start, end):
        value = (value ^ np.uint64(data[i])) * _FNV_PRIME
    return mix(value)


@njit(cache=True, inline="always")
def combine(volume, key):
    """Return one 64-bit key for an id within a volume: both are scattered, so that ranges of ids do not collide."""
    return mix(volume + mix(key))


@njit(cache=True)
def _whole_number(data, start, end):
    """Status, sign and magnitude of the decimal integer in data[start:end]."""
    negative = start < end and data[start] == ord("-")
    if negative:
        start += 1
    value = np.uint64(0)
    if start >= end:
        return _NO_NUMBER, negative, value
    for i in range(start, end):
        if data[i] < ord("0") or data[i] > ord("9"):
            return _NO_NUMBER, negative, value
        digit = np.uint64(data[i] - ord("0"))
        if value > _DIGIT_LIMIT or (value == _DIGIT_LIMIT and digit > np.uint64(5)):
            return _TOO_LONG, negative, value
        value = value * _TEN + digit
    return _FIT, negative, value


@njit(cache=True)
def _seconds(data, start, end):
    """Check whether data[start:end] is a finite decimal number, and it. The first 18 digits count."""
    i = start
    negative = i < end and data[i] == ord("-")
    if negative:
        i += 1
    mantissa = np.int64(0)
    digits = 0
    exponent = np.int64(0)
    seen_point = False
    seen_digit = False
    while i < end and data[i] != ord("e") and data[i] != ord("E"):
        c = data[i]
        if c == ord(".") and not seen_point:
            seen_point = True
        elif ord("0") <= c <= ord("9"):
            seen_digit = True
            if digits < 18:
                mantissa = mantissa * 10 + np.int64(c - ord("0"))
                digits += 1 if mantissa else 0
                exponent -= 1 if seen_point else 0
            else:
                exponent += 0 if seen_point else 1
        else:
            return False, 0.0
        i += 1
    if not seen_digit:
        return False, 0.0
    if i < end:
        start_of_exponent = i + 1
        if start_of_exponent < end and data[start_of_exponent] == ord("+"):
            start_of_exponent += 1
        status, below_zero, power = _whole_number(data, start_of_exponent, end)
        if status != _FIT or power > np.uint64(400):
            return False, 0.0
        exponent += -np.int64(power) if below_zero else np.int64(power)
    value = float(mantissa)
    if mantissa:
        if -22 <= exponent < 0:
            value = value / 10.0 ** float(-exponent)  # exact powers: correctly rounded up to 2^53
        elif exponent:
            value = value * 10.0 ** float(exponent)
    return np.isfinite(value), -value if negative else value


@njit(cache=True)
def _digits(data, start, end):
    """Return the number that data[start:end] spells, -1 if it is not digits alone."""
    value = 0
    for i in range(start, end):
        if data[i] < ord("0") or data[i] > ord("9"):
            return -1
        value = value * 10 + data[i] - ord("0")
    return value


@njit(cache=True)
def _date_and_time(data, start, end):
    """Return whether data[start:end] is a date and time of ISO 8601, and its seconds since 1970; by default in UTC.

    `2024-05-31T12:30:00.25Z`, with a blank for the T, a fraction and a zone such as +02:00 as they may be left out.
    """
    if end - start < 19 or data[start + 4] != ord("-") or data[start + 7] != ord("-"):
        return False, 0.0
    separator = data[start + 10]
    if separator != ord("T") and separator != ord("t") and separator != ord(" "):
        return False, 0.0
    if data[start + 13] != ord(":") or data[start + 16] != ord(":"):
        return False, 0.0
    year, month = _digits(data, start, start + 4), _digits(data, start + 5, start + 7)
    day, hour = _digits(data, start + 8, start + 10), _digits(data, start + 11, start + 13)
    minute, second = _digits(data, start + 14, start + 16), _digits(data, start + 17, start + 19)
    if year < 0 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return False, 0.0
    if not 0 <= hour <= 24 or not 0 <= minute <= 59 or not 0 <= second <= 60:
        return False, 0.0
    i = start + 19
    fraction, scale = 0.0, 0.1
    if i < end and data[i] == ord("."):
        i += 1
        first = i
        while i < end and ord("0") <= data[i] <= ord("9"):
            fraction += scale * (data[i] - ord("0"))
            scale /= 10.0
            i += 1
        if i == first:
            return False, 0.0
    zone = 0
    if i < end and (data[i] == ord("Z") or data[i] == ord("z")):
        i += 1
    elif i < end and (data[i] == ord("+") or data[i] == ord("-")):
        sign = 1 if data[i] == ord("+") else -1
        width = end - i
        minutes_at = i + 4 if width == 6 and data[i + 3] == ord(":") else i + 3
        if width not in (3, 5, 6):
            return False, 0.0
        hours = _digits(data, i + 1, i + 3)
        minutes = 0 if width == 3 else _digits(data, minutes_at, minutes_at + 2)
        if hours < 0 or minutes < 0:
            return False, 0.0
        zone = sign * (hours * 3600 + minutes * 60)
        i = end
    if i != end:
        return False, 0.0
    # Days since 1970 of the proleptic Gregorian calendar, counted in years that begin with March
    of_march = year - 1 if month <= 2 else year
    era = of_march // 400
    of_era = of_march - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return True, days * 86400.0 + hour * 3600.0 + minute * 60.0 + second - zone + fraction


@njit(cache=True)
def _split(data, start, end, delimiter, starts, ends):
    """Finds the fields of a line; returns how many there are, -1 where a quote is not closed."""
    count = 0
    i = start
    while True:
        while i < end and (data[i] == ord(" ") or data[i] == ord("\t")) and data[i] != delimiter:
            i += 1
        if delimiter == BLANKS and i >= end:
            return count
        if delimiter != BLANKS and i < end and data[i] == ord('"'):
            i += 1
            first = i
            while i < end and not (data[i] == ord('"') and not (i + 1 < end and data[i + 1] == ord('"'))):
                i += 2 if data[i] == ord('"') else 1
            if i >= end:
                return -1
            last = i
            i += 1
            while i < end and data[i] != delimiter:
                if data[i] != ord(" ") and data[i] != ord("\t"):
                    return -1
                i += 1
        else:
            first = i
            if delimiter == BLANKS:
                while i < end and data[i] != ord(" ") and data[i] != ord("\t"):
                    i += 1
            else:
                while i < end and data[i] != delimiter:
                    i += 1
            last = i
            while last > first and (data[last - 1] == ord(" ") or data[last - 1] == ord("\t")):
                last -= 1
        if count < len(starts):
            starts[count] = first
            ends[count] = last
        count += 1
        if i >= end:
            return count
        i += 1


@njit(cache=True)
def _size(data, start, end):
    """Return the fault of data[start:end] as a size in bytes (or WELL_FORMED), and the size."""
    for i in range(start + 1, end):  # a whole number written as a float, as pandas does where one is missing
        if data[i] == ord("."):
            if i + 1 < end and _digits(data, i + 1, end) == 0:
                end = i
            break
    status, negative, value = _whole_number(data, start, end)
    if status == _NO_NUMBER:
        return SIZE_NOT_A_NUMBER, value
    if negative and (value or status == _TOO_LONG):
        return SIZE_NEGATIVE, value
    return (SIZE_TOO_LARGE if status == _TOO_LONG or value > _MAX_SIZE else WELL_FORMED), value


@njit(cache=True)
def _id(data, start, end, is_text):
    """Return the fault of data[start:end] as an id (or WELL_FORMED), and its key: negative ids in two's complement."""
    if start >= end:
        return ID_MISSING, np.uint64(0)
    if is_text:
        return WELL_FORMED, hash_bytes(data, start, end)
    status, negative, value = _whole_number(data, start, end)
    if status != _FIT or (negative and value > _SIGN_LIMIT):
        return ID_NOT_A_NUMBER, value
    return WELL_FORMED, (~value + np.uint64(1)) if negative else value


@njit(cache=True)
def _request(data, roles, starts, ends, text_ids):
    """Return the fault of the fields as a request (or WELL_FORMED), and its key, time, size and count."""
    key = np.uint64(0)
    volume = np.uint64(0)
    in_volume = False
    time = 0.0
    size = np.uint64(0)
    count = np.int64(1)
    for field in range(len(roles)):
        start, end = starts[field], ends[field]
        if roles[field] == TIME:
            is_number, time = _seconds(data, start, end)
            if not is_number:
                is_number, time = _date_and_time(data, start, end)
            if not is_number:
                return TIME_NOT_A_NUMBER, key, time, size, count
        elif roles[field] == ID:
            why, key = _id(data, start, end, text_ids)
            if why:
                return why, key, time, size, count
        elif roles[field] == VOLUME:
            volume = combine(volume, hash_bytes(data, start, end))
            in_volume = True
        elif roles[field] == SIZE:
            why, part = _size(data, start, end)
            if why:
                return why, key, time, size, count
            size += part
        elif roles[field] == COUNT:
            status, negative, value = _whole_number(data, start, end)
            if status != _FIT or negative or value < np.uint64(1) or value > np.uint64(MAX_COUNTED):
                return COUNT_OUT_OF_RANGE, key, time, size, count
            count = np.int64(value)
    return WELL_FORMED, combine(volume, key) if in_volume else key, time, size, count


@njit(cache=True)
def parse_lines(data, delimiter, roles, size_unit, text_ids, marker, keys, times, sizes, counts, bad):
    """Parses whole lines; returns how many there are, how many requests, and how many are malformed.

    `data` uint8; `roles` what each field is for, as many as a line must have; a size field counts in
    `size_unit` bytes; `text_ids` has ids hashed. A line that is the single byte `marker` (0: none) or blank
    is no request. `keys`, `times`, `sizes` (int64), `counts` and `bad` (of shape (lines, 2): line from 0,
    why) are filled.
    """
    starts = np.zeros(len(roles), np.int64)
    ends = np.zeros(len(roles), np.int64)
    line = 0
    row = 0
    malformed = 0
    start = 0
    while start < len(data):
        after = start
        is_blank = True
        has_control = False
        while after < len(data) and data[after] != ord("\n"):
            c = data[after]
            if c != ord(" ") and c != ord("\t") and c != ord("\r"):
                is_blank = False
                if c < 32 or c == 127:
                    has_control = True
            after += 1
        end = after
        if end > start and data[end - 1] == ord("\r"):
            end -= 1
        if not is_blank and not (marker and end == start + 1 and data[start] == marker):
            why = WELL_FORMED
            if has_control:
                why = CONTROL_CHARACTER
            else:
                fields = _split(data, start, end, delimiter, starts, ends)
                if fields < 0:
                    why = QUOTE_NOT_CLOSED
                elif fields != len(roles):
                    why = WRONG_FIELD_COUNT
            if not why:
                why, key, time, size, count = _request(data, roles, starts, ends, text_ids)
                size = size * np.uint64(size_unit)
                if not why and size > _MAX_SIZE:
                    why = SIZE_TOO_LARGE
            if why:
                bad[malformed, 0] = line
                bad[malformed, 1] = why
                malformed += 1
            else:
                keys[row] = key
                times[row] = time
                sizes[row] = size
                counts[row] = count
                row += 1
        line += 1
        start = after + 1
    return line, row, malformed
