"""Tables of a link's rate over time: delimited text with a time and a rate a line.

What the columns mean says the header (`time_s,rate_mbps`, `seconds,bandwidth (kbit/s)`) or a text such as `s,mbps`,
which has the unit of each column in order and `-` for a column to be ignored. Times are s, ms, us or ns; rates bps,
kbps, mbps or gbps (bits a second of the wire). Each rate lasts until the next time; the last one as long as the one
before it.

So are logs of phones that measure a download once per second, as in the 5G production dataset (Raca et al., ACM MMSys
2020): `Timestamp` is as 2019.12.16_13.40.04 and `DL_bitrate` in kbit/s. Rows of one second are averaged; a second
without a row keeps the rate of the one before.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.links.link_trace import MAX, SECOND, LinkTrace, make_link
from vulcan_traces.links.text import Text
from vulcan_traces.parsing.text_table import abbreviated

TIME_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
RATE_UNITS = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9}
_SPELLED = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "millisecond": "ms", "milliseconds": "ms"}
_PER_SECOND = re.compile(r"([kmg]?)bits?(?:/s|/sec|ps| per second)?(?![a-z])")
_WORD = re.compile(r"[a-z]+")
_MAX = 1e13
IGNORED = "-"
_LOG_TIME, _LOG_RATE, _LOG_FORMAT = "timestamp", "dl_bitrate", "%Y.%m.%d_%H.%M.%S"


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of time and rate, their units in ns and bits/s, whether there is a header, and if times are dates."""

    time: int
    rate: int
    time_unit: float
    rate_unit: float
    has_header: bool
    is_log: bool = False


def looks_like_rate_table(text: Text) -> bool:
    """Check whether the first line is a header that names the unit of one time and one rate, or that of a log."""
    return text.is_text and _named(_fields(text.first_lines[0])) is not None


def columns_of(text: Text, spec: str | None) -> Columns:
    """Return the columns of the specification, such as `ms,kbps`, or else of the header. Raises UserError."""
    header = _fields(text.first_lines[0]) if text.first_lines else []
    if spec is None:
        named = _named(header)
        if named is None:
            raise UserError(
                f"{text.path}: its header does not name one time and one rate with their units, such as "
                "time_s,rate_mbps; name them by the format, as csv:s,mbps"
            )
        return named
    units = [piece.strip().lower() for piece in spec.split(",")]
    known = [*TIME_UNITS, *RATE_UNITS, IGNORED]
    for unit in units:
        if unit not in known:
            raise UserError(f"csv:{spec}: no unit {unit!r}{did_you_mean(unit, known)} (known: {', '.join(known)})")
    found = _of_units(units)
    if found is None:
        raise UserError(f"csv:{spec}: the unit of exactly one time and one rate is needed, as csv:s,mbps")
    has_names = len(header) > max(found[:2]) and not any(_number(header[place]) is not None for place in found[:2])
    return Columns(*found, has_header=has_names)


def _named(header: list[str]) -> Columns | None:
    if {_LOG_TIME, _LOG_RATE} <= set(header):
        return Columns(header.index(_LOG_TIME), header.index(_LOG_RATE), 1e9, 1e3, has_header=True, is_log=True)
    found = _of_units([_unit(name) for name in header])
    return None if found is None else Columns(*found, has_header=True)


def read_rate_table(text: Text, columns: Columns) -> LinkTrace:
    """Raises UserError with the number of the first bad line."""
    times, rates = array("d"), array("d")
    time_of = _clock() if columns.is_log else _number
    skip_header = columns.has_header
    for number, line in enumerate(io.BytesIO(text.content), 1):
        if not line.strip():
            continue
        if skip_header:
            skip_header = False
            continue
        fields = _fields(line)
        if len(fields) <= max(columns.time, columns.rate):
            raise text.malformed(number, f"too few fields: {abbreviated(line)}")
        for place, unit, values, what, read, highest in (
            (columns.time, columns.time_unit, times, "time", time_of, float(MAX)),
            (columns.rate, columns.rate_unit, rates, "rate", _number, _MAX),
        ):
            found = read(fields[place])
            if found is None:
                raise text.malformed(number, f"the {what} is not a number: {abbreviated(fields[place].encode())}")
            value = found * unit
            if not abs(value) <= highest or (what == "rate" and value < 0):
                raise text.malformed(number, f"the {what} is out of range: {abbreviated(fields[place].encode())}")
            values.append(value)
        if len(times) > 1 and round(times[-1]) < round(times[-2]) + (not columns.is_log):
            raise text.malformed(number, f"times must increase: {abbreviated(line)}")
    if not times:
        raise UserError(f"{text.path}: the trace has no rate")
    if not any(rates):
        raise UserError(f"{text.path}: every rate is 0")
    begins, row, counts = np.unique(
        np.rint(np.array(times) - times[0]).astype(np.int64), return_inverse=True, return_counts=True
    )
    last = int(begins[-1] - begins[-2]) if len(begins) > 1 else SECOND
    period = int(begins[-1]) + last
    if period > MAX:
        raise UserError(f"{text.path}: the trace lasts over {MAX // SECOND} s")
    return make_link(text.path.name, "rates", begins, period, np.bincount(row, rates) / counts)


def _clock() -> Callable[[str], float | None]:
    """Return what reads the dates of a log, as seconds from the first one; None for what is no date."""
    origin: datetime | None = None

    def seconds(field: str) -> float | None:
        nonlocal origin
        try:
            date = datetime.strptime(field, _LOG_FORMAT)
        except ValueError:
            return None
        origin = origin or date
        return (date - origin).total_seconds()

    return seconds


def _fields(line: bytes) -> list[str]:
    plain = line.decode("utf-8", "replace").strip().lower()
    if "," in plain or ";" in plain:
        return [field.strip(' "') for field in re.split("[,;]", plain)]
    return plain.split("\t") if "\t" in plain else plain.split()


def _unit(name: str) -> str:
    """Return the unit that a column's name ends with; empty where it names none."""
    spelled = _PER_SECOND.sub(lambda match: f"{match[1]}bps", name)
    words: list[str] = [_SPELLED.get(word, word) for word in _WORD.findall(spelled)]
    return words[-1] if words and words[-1] in TIME_UNITS | RATE_UNITS else ""


def _of_units(units: Sequence[str]) -> tuple[int, int, float, float] | None:
    times = [place for place, unit in enumerate(units) if unit in TIME_UNITS]
    rates = [place for place, unit in enumerate(units) if unit in RATE_UNITS]
    if len(times) != 1 or len(rates) != 1:
        return None
    return times[0], rates[0], TIME_UNITS[units[times[0]]], RATE_UNITS[units[rates[0]]]


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in field else None
