"""Logs of phones that measure a download once per second: the 5G production dataset (Raca et al., ACM MMSys 2020).

A table with a header; `Timestamp` is as 2019.12.16_13.40.04 and `DL_bitrate` in kbit/s. Rows of one second are
averaged; a second without a row keeps the rate of the one before.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime

from vulcan_traces.links.link_trace import SECOND, LinkTrace
from vulcan_traces.links.rate_table import link_of_rates
from vulcan_traces.links.text import Text
from vulcan_traces.parsing.text_table import abbreviated

_TIME, _RATE = "Timestamp", "DL_bitrate"
_FORMAT = "%Y.%m.%d_%H.%M.%S"


def looks_like_bitrate_log(text: Text) -> bool:
    """Check whether the header has both columns."""
    return text.is_text and {_TIME, _RATE} <= set(text.first_lines[0].decode("utf-8", "replace").split(","))


def _rows(text: Text) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, behind the number of its line. Raises UserError where it is no table."""
    rows = csv.reader(io.TextIOWrapper(io.BytesIO(text.content), "utf-8", "replace", newline=""))
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise text.malformed(rows.line_num, f"no row of a table: {error}") from error


def read_bitrate_log(text: Text) -> LinkTrace:
    """Raises UserError with the number of the first bad line."""
    rows = _rows(text)
    _, header = next(rows, (1, []))
    if not {_TIME, _RATE} <= set(header):
        raise text.malformed(1, f"the columns {_TIME} and {_RATE} are not there")
    time_at, rate_at = header.index(_TIME), header.index(_RATE)
    measured: dict[int, list[float]] = {}
    latest = 0
    for number, row in rows:
        if not row:
            continue
        try:
            second = int((datetime.strptime(row[time_at].strip(), _FORMAT) - datetime(1970, 1, 1)).total_seconds())
            rate = float(row[rate_at])
        except (IndexError, ValueError):
            raise text.malformed(number, f"no time and rate: {abbreviated(','.join(row).encode())}") from None
        if not 0 <= rate < 1e10 or second < latest:
            raise text.malformed(
                number, f"the rate is out of range or the time goes back: {row[time_at]}, {row[rate_at]}"
            )
        latest = second
        measured.setdefault(second, []).append(rate * 1e3)
    times = [float((second - min(measured)) * SECOND) for second in measured]
    return link_of_rates(text, times, [sum(rates) / len(rates) for rates in measured.values()])
