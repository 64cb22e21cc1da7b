"""Compiled inner loops. Import it late: numba is slow to load."""

import numpy as np

from vulcan.kernel_support import njit
from vulcan_traces.kernels.dates import date_and_time, digits, time_of_log
from vulcan_traces.raw_requests import MAX_SIZE

IGNORED, TIME, ID, VOLUME, SIZE, COUNT, OPERATION, OVERHEAD, REPEATS = range(9)
"""Roles of the fields of a line: see `vulcan_traces.parsing.text_table.Role`."""

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

MAX_COUNTED = 1 << 20
"""Maximum number of requests that a line stands for: beyond it, the line is malformed."""

_MAX_SIZE = np.uint64(MAX_SIZE)
_DIGIT_LIMIT = np.uint64((2**64 - 1) // 10)
_DIGITS_TOO_MANY = 20  # so many may be over 64 bits
_SIGN_LIMIT = np.uint64(2**63)
_TEN = np.uint64(10)
_FIT, _NO_NUMBER, _TOO_LONG = range(3)
_POWERS_OF_TEN = np.array([float(10**power) for power in range(23)])  # all that are exact
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
    fit = end - start < _DIGITS_TOO_MANY
    for i in range(start, end):
        if data[i] < ord("0") or data[i] > ord("9"):
            return _NO_NUMBER, negative, value
        digit = np.uint64(data[i] - ord("0"))
        if not fit and (value > _DIGIT_LIMIT or (value == _DIGIT_LIMIT and digit > np.uint64(5))):
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
    while i < end:
        c = data[i]
        if ord("0") <= c <= ord("9"):
            seen_digit = True
            if digits < 18:
                mantissa = mantissa * 10 + np.int64(c - ord("0"))
                digits += 1 if mantissa else 0
                exponent -= 1 if seen_point else 0
            else:
                exponent += 0 if seen_point else 1
        elif c == ord(".") and not seen_point:
            seen_point = True
        elif c == ord("e") or c == ord("E"):
            break
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
            value = value / _POWERS_OF_TEN[-exponent]  # correctly rounded up to 2^53
        elif exponent:
            value = value * 10.0 ** float(exponent)
    return np.isfinite(value), -value if negative else value


@njit(cache=True)
def _split(data, start, end, delimiter, starts, ends, all_fields):
    """Finds the fields of a line, or the first ones; returns how many there are, -1 where a quote is not closed."""
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
        if i >= end or (count == len(starts) and not all_fields):
            return count
        i += 1


@njit(cache=True)
def _size(data, start, end):
    """Return the fault of data[start:end] as a size (or WELL_FORMED), and the size: 0 where it is empty or `-`."""
    if start >= end or (end - start == 1 and data[start] == ord("-")):
        return WELL_FORMED, np.uint64(0)
    status, negative, value = _whole_number(data, start, end)
    if status == _NO_NUMBER:  # or one written as a float, as pandas does where one is missing
        for i in range(start + 1, end):
            if data[i] == ord("."):
                if i + 1 < end and digits(data, i + 1, end) == 0:
                    status, negative, value = _whole_number(data, start, i)
                break
    if status == _NO_NUMBER:
        return SIZE_NOT_A_NUMBER, value
    if negative and (value or status == _TOO_LONG):
        return SIZE_NEGATIVE, value
    return (SIZE_TOO_LARGE if status == _TOO_LONG or value > _SIGN_LIMIT else WELL_FORMED), value


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
def _operation(data, start, end, operations):
    """Return the place of data[start:end] among the operations, whatever its case; behind the last for none of them.

    The quote before the method of a web server's log does not count.
    """
    if start < end and data[start] == ord('"'):
        start += 1
    value = _FNV_OFFSET
    for i in range(start, end):
        c = data[i]
        value = (value ^ np.uint64(c + 32 if ord("A") <= c <= ord("Z") else c)) * _FNV_PRIME
    value = mix(value)
    for place in range(len(operations)):
        if operations[place] == value:
            return place
    return len(operations)


@njit(cache=True)
def _request(data, roles, starts, ends, fields, text_ids):
    """Return the fault of the fields as a request (or WELL_FORMED), and its key, volume, time, size and count.

    Of the roles behind the last field there are none.
    """
    key = np.uint64(0)
    volume = np.uint64(0)
    time = 0.0
    size = np.uint64(0)
    overhead = np.uint64(0)
    count = np.int64(1)
    for field in range(min(fields, len(roles))):
        start, end = starts[field], ends[field]
        if roles[field] == TIME:
            is_number, time = _seconds(data, start, end)
            if not is_number:
                is_number, time = date_and_time(data, start, end)
            if not is_number:
                is_number, time = time_of_log(data, start, end)
            if not is_number:
                return TIME_NOT_A_NUMBER, key, volume, time, size, count
        elif roles[field] == ID:
            why, key = _id(data, start, end, text_ids)
            if why:
                return why, key, volume, time, size, count
        elif roles[field] == VOLUME:
            volume = combine(volume, hash_bytes(data, start, end))
        elif roles[field] == SIZE or roles[field] == OVERHEAD:
            why, part = _size(data, start, end)
            if why:
                return why, key, volume, time, size, count
            if roles[field] == SIZE:
                size += part
            else:
                overhead += part
        elif roles[field] == COUNT or roles[field] == REPEATS:
            status, negative, value = _whole_number(data, start, end)
            if status != _FIT or negative or value < np.uint64(1) or value > np.uint64(MAX_COUNTED):
                return COUNT_OUT_OF_RANGE, key, volume, time, size, count
            count = np.int64(value)
    return WELL_FORMED, key, volume, time, size + overhead if size else size, count


@njit(cache=True)
def parse_lines(
    data,
    delimiter,
    roles,
    fewest,
    most,
    unit,
    page,
    ranges,
    text_ids,
    marker,
    comment,
    operations,
    taken,
    informs,
    keys,
    volumes,
    times,
    sizes,
    counts,
    seen,
    bad,
):
    """Parses whole lines; returns how many rows there are, and how many lines are malformed.

    `data` uint8; `roles` what each field is for, and a line has from `fewest` to `most` fields (0: any number from
    then on); sizes count in `unit` bytes, and ids too if there is a `page` (0: none), which has a line stand for
    the pages of that many bytes that it touches. `text_ids` has ids hashed. A line that is the single byte `marker`,
    begins with `comment` (0: none, of either) or is blank is no request. Of `operations` (their hashes) those `taken`
    are requests; another line is a row with the count 0 if it `informs` of a size, else none. `keys`, `volumes`,
    `times`, `sizes`, `counts`, the numbers of lines `seen` of each operation (in the last place of all others) and
    `bad` (of shape (lines, 2): line from 0, why) are filled. Keys and volumes are combined unless keys are to be
    `ranges`.
    """
    starts = np.zeros(len(roles), np.int64)
    ends = np.zeros(len(roles), np.int64)
    operation_at = -1
    in_volume = False
    for field in range(len(roles)):
        if roles[field] == OPERATION:
            operation_at = field
        in_volume |= roles[field] == VOLUME
    scale = np.uint64(unit)
    line = 0
    row = 0
    malformed = 0
    start = 0
    while start < len(data):
        after = start
        blanks = 0
        has_control = False
        while after < len(data):
            c = data[after]
            if c <= 32 or c == 127:
                if c == ord("\n"):
                    break
                if c == ord(" ") or c == ord("\t") or c == ord("\r"):
                    blanks += 1
                else:
                    has_control = True
            after += 1
        end = after
        if end > start and data[end - 1] == ord("\r"):
            end -= 1
        if (
            blanks < after - start
            and not (marker and end == start + 1 and data[start] == marker)
            and not (comment and data[start] == comment)
        ):
            why = WELL_FORMED
            is_taken = True
            fields = 0
            if has_control:
                why = CONTROL_CHARACTER
            else:
                fields = _split(data, start, end, delimiter, starts, ends, most > 0)
                if fields < 0:
                    why = QUOTE_NOT_CLOSED
                elif fields <= operation_at or (most and fields > most):
                    why = WRONG_FIELD_COUNT
                elif operation_at >= 0:
                    place = _operation(data, starts[operation_at], ends[operation_at], operations)
                    seen[place] += 1
                    is_taken = place < len(operations) and taken[place]
                if not why and is_taken and fields < fewest:
                    why = WRONG_FIELD_COUNT
            if not why and (is_taken or (informs and fields >= len(roles))):
                why, key, volume, time, size, count = _request(data, roles, starts, ends, fields, text_ids)
                if not why:
                    if size > _SIGN_LIMIT // scale or (not page and size * scale > _MAX_SIZE):
                        why = SIZE_TOO_LARGE
                    size *= scale
                if not why and page:
                    if key > _SIGN_LIMIT // scale:
                        why = ID_NOT_A_NUMBER
                    else:
                        first = key * scale // np.uint64(page)
                        last = (key * scale + (size - np.uint64(1) if size else size)) // np.uint64(page)
                        count = np.int64(last - first) + 1
                        key = first
                        size = np.uint64(page)
                        if count > MAX_COUNTED:
                            why = SIZE_TOO_LARGE
                if not why and (is_taken or size):
                    keys[row] = combine(volume, key) if in_volume and not ranges else key
                    if ranges:
                        volumes[row] = volume
                    times[row] = time
                    sizes[row] = size
                    counts[row] = count if is_taken else 0
                    row += 1
            if why and is_taken:
                bad[malformed, 0] = line
                bad[malformed, 1] = why
                malformed += 1
        line += 1
        start = after + 1
    return row, malformed


@njit(cache=True)
def combine_all(volumes, keys):
    """Return `combine` of each volume with its key."""
    combined = np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        combined[i] = combine(volumes[i], keys[i])
    return combined


@njit(cache=True)
def hash_of(data):
    """Return the hash of an operation's name in lower case."""
    return hash_bytes(data, 0, len(data))
