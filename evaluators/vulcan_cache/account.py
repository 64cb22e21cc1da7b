"""The misses of a policy by cause and by what the objects were, and what left too early or was kept too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator import override
from vulcan.simulator.account import Account, Grouping, in_order
from vulcan_cache.spec import Requests

MAX_REQUESTS = 1 << 30
"""Longest simulation with a history: a request's number takes the 30 bits beside its outcome."""

CAUSES = ("first requests, or too large", "missed by the oracle too", "had left", "had been refused")
"""Of a miss. Objects larger than the cache are too large; where the oracle hits, the object had left, or was refused
before: these two are the regret."""

CLASSES = 8
"""Of each grouping: by part of the trace, size, requests so far and requests since the last one."""

_OUTCOMES = 8
_AT_ONCE = 1 << 24


@dataclass(frozen=True, slots=True)
class Lookback:
    """What the requests of an instance were, whatever decides, and what its oracle misses.

    `before` is the object's request before each one, -1 for none, of shape (requests,). `place`, of shape (measured
    requests,), is the combination of classes in which each is, the event of accounts; `weights` are the requests in
    each, and `groups` its classes.
    """

    requests: Requests
    capacity: int
    before: NDArray[np.int32]
    place: NDArray[np.uint16]
    weights: NDArray[np.float64]
    groups: tuple[Grouping, ...]
    oracle_missed: NDArray[np.bool_]

    @classmethod
    def of(cls, requests: Requests, capacity: int, mean_size: float, oracle_missed: NDArray[np.uint8]) -> Lookback:
        """Look back from each request; `mean_size` is that of objects, in bytes. Raises UserError for too many."""
        from vulcan_cache.kernels.attribution import look_back  # compiles the kernel, or loads it

        count, start = len(requests.objects), requests.measure_from
        if count >= MAX_REQUESTS:
            raise UserError(f"findings are of at most {MAX_REQUESTS:,} requests; this instance has {count:,}")
        before, seen = np.empty(count, np.int32), np.empty(count, np.uint8)
        look_back(requests.objects, requests.object_count, before, seen)
        held = max(1.0, capacity / mean_size)
        sizes, idle = ([base * 2.0**n for n in range(low, 4)] for base, low in ((mean_size, -3), (held, -2)))
        measured = np.arange(count, dtype=np.int32)[start:]
        first = before[start:] < 0
        found = (
            in_order("part of the trace", count - start, CLASSES).classes.astype(np.uint8),
            _class_of(requests.sizes[start:], sizes),
            _class_of(seen[start:], (0, 1, 2, 4, 8, 16, 32)),
            np.where(first, np.uint8(0), _class_of(measured - before[start:], idle) + np.uint8(1)),
        )
        place = np.zeros(count - start, np.uint16)
        for classes in found:
            place = place * np.uint16(CLASSES) + classes
        tally = _tally(place, CLASSES ** len(found))
        used = np.flatnonzero(tally)
        names = (
            ("part of the trace", in_order("", 0, CLASSES).names),
            (f"object size in bytes (mean {mean_size:,.0f})", _up_to(sizes)),
            ("requests for the object before this one", ["first", "1", "2", "3-4", "5-8", "9-16", "17-32", "over 32"]),
            (f"requests since the object's last one (about {held:,.0f} objects fit)", ["first", *_up_to(idle)]),
        )
        of_cells = np.unravel_index(used, (CLASSES,) * len(found))
        groups = [Grouping(by, of, named) for (by, named), of in zip(names, of_cells, strict=True)]
        if (requests.sizes == requests.sizes[:1]).all():
            del groups[1]
        index = np.zeros(len(tally), np.uint16)
        index[used] = np.arange(len(used))
        return cls(
            requests, capacity, before, index[place], tally[used].astype(float), tuple(groups), oracle_missed != 0
        )

    def account(self, name: str, missed: NDArray[np.uint8]) -> Account:
        """Return the account of who misses these requests, of shape (requests,)."""
        return Account(name, "request", "misses", {"misses": self._rates(missed)[1]}, self.groups, weights=self.weights)

    def attributed(self, name: str, history: NDArray[np.uint32]) -> CacheAccount:
        """Return the account of a policy by cause, of what `simulate` recorded."""
        from vulcan_cache.kernels.common import ADMITTED, HIT, OUTCOME_BITS, REFUSED

        r, start = self.requests, self.requests.measure_from
        outcome = (history & np.uint32((1 << OUTCOME_BITS) - 1)).astype(np.uint8)
        left = history >> np.uint32(OUTCOME_BITS)
        missed = np.flatnonzero(outcome != HIT)
        last = self.before[missed]
        had_left, saved = (last >= 0) & (left[last] > 0), ~self.oracle_missed[missed]
        cause = np.select(
            [(last < 0) | (r.sizes[missed] > self.capacity), ~saved, had_left], [1, 2, 3], len(CAUSES)
        ).astype(np.uint8)
        causes = np.zeros(len(outcome), np.uint8)
        causes[missed] = cause
        parts = dict(zip(CAUSES, self._rates(causes)[1:], strict=False))
        leaving = np.flatnonzero(left)
        held = r.sizes[leaving] * (left[leaving] - leaving)
        is_unhit, counted = outcome[leaving] == ADMITTED, left[leaving] >= start
        back = had_left & (left[last] >= start)
        whole = float(self.capacity) * len(outcome)
        departures = Departures(
            evictions=int(counted.sum()),
            for_good=int(counted.sum() - back.sum()),
            early=int((back & saved).sum()),
            unhit=int((counted & is_unhit).sum()),
            unhit_space=float(held[is_unhit].sum() / whole),
            idle_space=float(held[~is_unhit].sum() / whole),
            refusals=int((outcome[start:] == REFUSED).sum()),
        )
        return CacheAccount(name, "request", "misses", parts, self.groups, weights=self.weights, departures=departures)

    def _rates(self, outcomes: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the share of the requests in each place that have each outcome, of shape (outcomes, places)."""
        codes = self.place * np.uint16(_OUTCOMES) + outcomes[self.requests.measure_from :]
        rates: NDArray[np.float64] = (
            _tally(codes, len(self.weights) * _OUTCOMES).reshape(-1, _OUTCOMES).T / self.weights
        )
        return rates


@dataclass(frozen=True, slots=True)
class Departures:
    """What left the cache in the measured time, of which some came back and some was never hit; and the share of the
    cache, in bytes times requests, that objects held without any hit, and after their last one."""

    evictions: int
    for_good: int
    early: int
    unhit: int
    unhit_space: float
    idle_space: float
    refusals: int

    def __str__(self) -> str:
        told = (
            f"Of {self.evictions:,} evictions {_part(self.for_good, self.evictions)} were of objects never requested "
            f"again, and {_part(self.early, self.evictions)} came too early: the oracle still held the object at its "
            f"next request. Objects never hit between entry and eviction, {_part(self.unhit, self.evictions)} of the "
            f"evictions, held {self.unhit_space:.0%} of the cache (bytes times requests), and others held "
            f"{self.idle_space:.0%} after their last hit: kept too long."
        )
        return f"{told} It refused {self.refusals:,} objects." if self.refusals else told


@dataclass(frozen=True)
class CacheAccount(Account):
    """The account of a policy, and what left its cache."""

    departures: Departures = field(kw_only=True)

    @override
    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return the causes of misses, and what left too early or was kept too long."""
        return [*super().findings(*others), Statement(str(self.departures), 8.0)]

    @override
    def compare(self, other: Account) -> list[EvaluatorFinding]:
        """Return what this policy saves over another, and what left each one's cache."""
        assert isinstance(other, CacheAccount)
        said = [Statement(f"With {one.name}: {one.departures}", 8.0) for one in (self, other)]
        return [*super().compare(other), *said]


def oracle_for(sizes: NDArray[np.int64]) -> str:
    """Return the name of the oracle for objects of these sizes: Belady's where all are the same."""
    uniform = bool(len(sizes)) and bool((sizes == sizes[0]).all())
    return "belady" if uniform else "belady-size-sampled"


def _class_of(values: NDArray[np.integer], limits: Sequence[float]) -> NDArray[np.uint8]:
    """Return how many of the limits each value exceeds."""
    classes = np.zeros(len(values), np.uint8)
    for limit in limits:
        classes += values > limit
    return classes


def _up_to(limits: Sequence[float]) -> list[str]:
    return [*(f"up to {limit:,.0f}" for limit in limits), f"over {limits[-1]:,.0f}"]


def _tally(codes: NDArray[np.uint16], count: int) -> NDArray[np.int64]:
    """Return how often each code occurs; a part at a time, which takes less memory."""
    parts = (np.bincount(codes[at : at + _AT_ONCE], minlength=count) for at in range(0, len(codes), _AT_ONCE))
    return np.asarray(np.sum(list(parts), axis=0, dtype=np.int64))


def _part(count: float, of: float) -> str:
    return f"{count / max(of, 1):.0%}"
