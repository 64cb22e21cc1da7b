"""Compiled readers of dates with a time. Import it late: numba is slow to load."""

import numpy as np

from vulcan.kernel_support import njit

_MONTHS = tuple(
    ord(name[0]) << 16 | ord(name[1]) << 8 | ord(name[2])
    for name in ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
)


@njit(cache=True)
def digits(data, start, end):
    """Return the number that data[start:end] spells, -1 if it is not digits alone."""
    value = 0
    for i in range(start, end):
        if data[i] < ord("0") or data[i] > ord("9"):
            return -1
        value = value * 10 + data[i] - ord("0")
    return value


@njit(cache=True)
def _seconds_of(year, month, day, hour, minute, second):
    """Return whether that is a date and time, and its seconds since 1970."""
    if year < 0 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return False, 0.0
    if not 0 <= hour <= 24 or not 0 <= minute <= 59 or not 0 <= second <= 60:
        return False, 0.0
    # Days since 1970 of the proleptic Gregorian calendar, counted in years that begin with March
    of_march = year - 1 if month <= 2 else year
    era = of_march // 400
    of_era = of_march - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return True, days * 86400.0 + hour * 3600.0 + minute * 60.0 + second


@njit(cache=True)
def time_of_log(data, start, end):
    """Return whether data[start:end] is the time of a web server's log, and its seconds since 1970.

    `[14/Nov/2023:22:13:20 +0000]`. Where blanks separate the fields the zone is behind the field, and is read there.
    """
    if start < end and data[start] == ord("["):
        start += 1
    start -= 1
    if end - start < 21 or data[start + 3] != ord("/") or data[start + 7] != ord("/"):
        return False, 0.0
    if data[start + 12] != ord(":") or data[start + 15] != ord(":") or data[start + 18] != ord(":"):
        return False, 0.0
    letters = np.int64(data[start + 4]) << 16 | np.int64(data[start + 5]) << 8 | np.int64(data[start + 6])
    month = 0
    for i in range(12):
        if letters == _MONTHS[i]:
            month = i + 1
    good, seconds = _seconds_of(
        digits(data, start + 8, start + 12),
        month,
        digits(data, start + 1, start + 3),
        digits(data, start + 13, start + 15),
        digits(data, start + 16, start + 18),
        digits(data, start + 19, start + 21),
    )
    if good and start + 27 <= len(data) and data[start + 21] == ord(" "):
        hours, minutes = digits(data, start + 23, start + 25), digits(data, start + 25, start + 27)
        if hours < 0 or minutes < 0:
            return False, 0.0
        zone = hours * 3600.0 + minutes * 60.0
        seconds += zone if data[start + 22] == ord("-") else -zone
    return good, seconds


@njit(cache=True)
def date_and_time(data, start, end):
    """Return whether data[start:end] is a date and time of ISO 8601, and its seconds since 1970; by default in UTC.

    `2024-05-31T12:30:00.25Z`, with a blank for the T, a fraction and a zone such as +02:00 as they may be left out; a
    date alone is its midnight.
    """
    if end - start == 10 and data[start + 4] == ord("-") and data[start + 7] == ord("-"):
        year, month = digits(data, start, start + 4), digits(data, start + 5, start + 7)
        return _seconds_of(year, month, digits(data, start + 8, end), 0, 0, 0)
    if end - start < 19 or data[start + 4] != ord("-") or data[start + 7] != ord("-"):
        return False, 0.0
    separator = data[start + 10]
    if separator != ord("T") and separator != ord("t") and separator != ord(" "):
        return False, 0.0
    if data[start + 13] != ord(":") or data[start + 16] != ord(":"):
        return False, 0.0
    year, month = digits(data, start, start + 4), digits(data, start + 5, start + 7)
    day, hour = digits(data, start + 8, start + 10), digits(data, start + 11, start + 13)
    minute, second = digits(data, start + 14, start + 16), digits(data, start + 17, start + 19)
    good, seconds = _seconds_of(year, month, day, hour, minute, second)
    if not good:
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
        hours = digits(data, i + 1, i + 3)
        minutes = 0 if width == 3 else digits(data, minutes_at, minutes_at + 2)
        if hours < 0 or minutes < 0:
            return False, 0.0
        zone = sign * (hours * 3600 + minutes * 60)
        i = end
    return i == end, seconds - zone + fraction
