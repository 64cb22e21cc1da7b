"""Mahimahi's packet-delivery traces: each line is the millisecond of an opportunity to carry 1,504 bytes.

The last line is also the length of the file, after which it repeats (Netravali et al., USENIX ATC 2015, and the
manual page of mm-link). An opportunity at millisecond 0 coincides with the last one of the time before; here, as
there, it can be used from the second time on, for at the very start nothing is queued.
"""

from __future__ import annotations

import numpy as np

from vulcan_traces.links.link_trace import MAX, MILLISECOND, LinkTrace, make_link
from vulcan_traces.links.text import Text
from vulcan_traces.parsing.text_table import abbreviated

_MAX_DIGITS = len(str(MAX // MILLISECOND))


def looks_like_mahimahi(text: Text) -> bool:
    """Check whether the first line is a whole number."""
    return text.is_text and text.first_lines[0].isdigit()


def read_mahimahi(text: Text) -> LinkTrace:
    """Raises UserError with the number of the first bad line."""
    found = []
    for number, line in enumerate(text.content.rstrip(b" \t\r\n").splitlines(), 1):
        digits = line.strip(b" \t")
        if not digits:
            raise text.malformed(number, "a blank line; each line is the millisecond of an opportunity")
        if not digits.isdigit():
            raise text.malformed(number, f"not a whole number of milliseconds: {abbreviated(line)}")
        digits = digits.lstrip(b"0") or b"0"
        if len(digits) > _MAX_DIGITS or int(digits) > MAX // MILLISECOND:
            raise text.malformed(number, f"over {MAX // MILLISECOND} ms: {abbreviated(line)}")
        found.append(int(digits))
    milliseconds = np.array(found, np.int64)
    falls = np.flatnonzero(np.diff(milliseconds) < 0)
    if len(falls):
        number = int(falls[0]) + 2
        earlier, later = milliseconds[number - 2], milliseconds[number - 1]
        raise text.malformed(number, f"{later} ms comes after {earlier} ms; times may not go back")
    period = int(milliseconds[-1]) * MILLISECOND
    if period == 0:
        raise text.malformed(len(found), "the last time is 0 ms, and so the trace has no length")
    times = milliseconds * MILLISECOND
    first = int(np.searchsorted(times, 0, side="right"))
    times = np.concatenate([times[first:], np.full(first, period, np.int64)])
    return make_link(text.path.name, "opportunities", times, period)
