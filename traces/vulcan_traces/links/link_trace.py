"""Trace of a link's capacity over time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError

OPPORTUNITY_BYTES = 1504
"""Bytes per opportunity: a packet of 1,500 bytes plus the four bytes of a TUN header, as in Mahimahi."""

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
MAX = 10**6 * SECOND
"""The longest period, in ns: eleven days. A thousand of them are still exact in an int64."""

Kind = Literal["opportunities", "rates"]


@dataclass(frozen=True, slots=True, eq=False)
class LinkTrace:
    """Capacity of a link, in one of two descriptions; it repeats after `period` nanoseconds.

    `opportunities` (the meaning of Mahimahi's mm-link: Netravali et al., USENIX ATC 2015): at each of `times`, in ns,
    nondecreasing and in (0, period], the link may carry 1,504 bytes; what nobody uses is lost. `rates` is empty.
    `rates`: from each of `times` on, in ns, increasing from 0 and below `period`, the link sends `rates` bits/s of the
    wire (0 is an outage), until the next; the last of them lasts until the period ends.

    `digest` is of the content: equal for links that let the same through, whatever they are called.
    """

    name: str
    kind: Kind
    times: NDArray[np.int64] = field(repr=False)
    rates: NDArray[np.float64] = field(repr=False)
    period: int
    digest: str

    @property
    def seconds(self) -> float:
        """The period in seconds."""
        return self.period / SECOND

    @property
    def bits(self) -> float:
        """Capacity of the link in one period, in bits."""
        if self.kind == "opportunities":
            return float(len(self.times)) * OPPORTUNITY_BYTES * 8
        lasting = np.diff(np.append(self.times, self.period))
        return float((lasting * self.rates).sum()) / SECOND

    @property
    def mean_rate(self) -> float:
        """Bits/s on average."""
        return self.bits / self.seconds

    def carried_until(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bits that the link carries from the beginning of its trace until each time, ns."""
        cycles, rest = np.divmod(times, self.period)
        if self.kind == "opportunities":
            passed = np.searchsorted(self.times, rest, side="right")
            return (OPPORTUNITY_BYTES * 8.0 * (cycles * len(self.times) + passed)).astype(np.float64)
        starts = np.append(self.times, self.period)
        until = np.concatenate(([0.0], np.cumsum(self.rates * np.diff(starts)))) / SECOND
        bits: NDArray[np.float64] = (cycles * until[-1] + np.interp(rest, starts, until)).astype(np.float64)
        return bits


def make_link(
    name: str, kind: Kind, times: NDArray[np.int64], period: int, rates: NDArray[np.float64] | None = None
) -> LinkTrace:
    """Return a link trace with its digest. Raises ValueError where the arrays are not as `LinkTrace` says they are."""
    rates = np.empty(0) if rates is None else np.ascontiguousarray(rates, np.float64)
    times = np.ascontiguousarray(times, np.int64)
    if not 0 < period <= MAX:
        raise ValueError(f"a period of {period} ns: must be from 1 to {MAX}")
    if not len(times):
        raise ValueError("the link never delivers anything")
    steps = np.diff(times)
    if kind == "opportunities":
        if times[0] <= 0 or times[-1] > period or (steps < 0).any() or len(rates):
            raise ValueError("opportunities need nondecreasing times in (0, period], and no rates")
    else:
        if times[0] != 0 or times[-1] >= period or (steps <= 0).any() or len(rates) != len(times):
            raise ValueError("rates need a rate for each of increasing times in [0, period), the first at 0")
        if not (np.isfinite(rates).all() and (rates >= 0).all() and rates.any()):
            raise ValueError("rates need to be finite and not negative, and one of them above 0")
    times.flags.writeable = rates.flags.writeable = False
    content = hashlib.sha256(f"{kind}/1 {period}\n".encode() + times.tobytes() + rates.tobytes())
    return LinkTrace(name, kind, times, rates, int(period), content.hexdigest())


# Parts and repetitions of a link trace.


def repeated(link: LinkTrace, at_least: int) -> LinkTrace:
    """Return the same link with a period, a multiple of its own, of at least this many ns; itself if long enough."""
    times = -(-at_least // link.period)
    if times <= 1:
        return link
    starts = np.arange(times, dtype=np.int64) * link.period
    every = (starts[:, None] + link.times[None, :]).ravel()
    return make_link(link.name, link.kind, every, link.period * times, np.tile(link.rates, times))


def cut_link(link: LinkTrace, start: int, stop: int) -> LinkTrace:
    """Return the link cut to the interval between two times of its period, in ns, and repeated.

    The name stays. Raises UserError where nothing is let through there, ValueError for times outside of the period.
    """
    if not 0 <= start < stop <= link.period:
        raise ValueError(f"from {start} to {stop} ns is not within a period of {link.period} ns")
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
            f"{link.name}: nothing is delivered from {start / SECOND:g} s to {stop / SECOND:g} s; use --split none"
        )
    return make_link(link.name, link.kind, times, stop - start, rates)
