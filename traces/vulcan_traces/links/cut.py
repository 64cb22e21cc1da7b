"""A part of a link trace along time, and a trace said several times over."""

from __future__ import annotations

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.links.link_trace import SECOND, LinkTrace, make_link


def repeated(link: LinkTrace, at_least: int) -> LinkTrace:
    """The same link with a period, a multiple of its own, of at least so many ns; itself where it is that long."""
    times = -(-at_least // link.period)
    if times <= 1:
        return link
    starts = np.arange(times, dtype=np.int64) * link.period
    every = (starts[:, None] + link.times[None, :]).ravel()
    return make_link(link.name, link.kind, every, link.period * times, np.tile(link.rates, times))


def cut_link(link: LinkTrace, start: int, stop: int) -> LinkTrace:
    """What the link lets through between two times of its period, in ns, as a link that repeats that.

    The name stays. Raises UserError where nothing is let through there, ValueError for times outside of the period.
    """
    if not 0 <= start < stop <= link.period:
        raise ValueError(f"from {start} to {stop} ns is no part of a period of {link.period} ns")
    if (start, stop) == (0, link.period):
        return link
    if link.kind == "opportunities":
        first, last = np.searchsorted(link.times, (start, stop), side="right")
        times, rates = link.times[first:last] - start, None
        carries = last > first
    else:
        first = int(np.searchsorted(link.times, start, side="right")) - 1
        last = int(np.searchsorted(link.times, stop, side="left"))
        times = np.maximum(link.times[first:last] - start, 0)
        rates = link.rates[first:last]
        carries = bool(rates.any())
    if not carries:
        raise UserError(
            f"{link.name}: nothing is let through from {start / SECOND:g} s to {stop / SECOND:g} s; use --split none"
        )
    return make_link(link.name, link.kind, times, stop - start, rates)
