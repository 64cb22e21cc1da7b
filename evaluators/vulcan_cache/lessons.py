"""What the future of training data teaches: how soon an object returns, by what a policy knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable
from vulcan.lessons import Lesson, lesson_of_returns, stay_that_fills
from vulcan_cache.spec import Requests

MAX_REQUESTS = 400_000
"""Most requests, the latest, whose future is looked at."""

MAX_SITUATIONS = 50_000
MEMORIES = (2.0, 8.0)
"""Turnovers of the cache after which an object is forgotten: as the ghost list does, and later."""

REACHES = (3.0, 30.0)
"""Turnovers of the cache within which a return counts, for priorities that are kept."""


@dataclass(frozen=True, slots=True)
class Returns:
    """Requests with their futures: `forward` and `left` are requests until the object's next one, and until the end.

    `turnover` is how many requests an object would stay if the cache held each for the same time.
    """

    sizes: NDArray[np.float64]
    before: NDArray[np.int64]
    forward: NDArray[np.float64]
    left: NDArray[np.float64]
    turnover: float

    @classmethod
    def of(cls, requests: Requests, capacity: int) -> Returns:
        """Return the last requests of those before the measured range ends; what follows it is not looked at."""
        first = max(0, len(requests.objects) - MAX_REQUESTS)
        following = requests.following[first:] - first
        at = np.arange(len(following))
        returns = (following >= 0) & (following < len(following))
        before = np.full(len(following), -1)
        before[following[returns]] = at[returns]
        left = (len(following) - at).astype(float)
        forward = np.where(returns, following - at, np.inf)
        sizes = requests.sizes[first:].astype(float)
        stays = np.minimum(forward, left)
        turnover = stay_that_fills(capacity * len(at), sizes, stays, 1.0, float(max(2, len(at))))
        return cls(sizes, before, forward, left, turnover)

    def remembered(self, span: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return for each request the gap to the one before, 0 where that is forgotten, and the requests so far."""
        gaps = np.where(self.before >= 0, np.arange(len(self.before)) - self.before, 0.0)
        gaps[gaps > span] = 0.0
        counts = np.ones(len(gaps))
        for at in np.flatnonzero(gaps):
            counts[at] = counts[self.before[at]] + 1
        return gaps, counts


_STATE = """
class obj:
    requested = 0
    gap = 0  # between its last two requests, 0 where there was one
    seen = 1  # requests, while it is remembered


def on_hit(now, obj, cache, ghost):
    obj.gap = now - obj.requested
    obj.requested = now
    obj.seen += 1


def on_ghost_hit(now, obj, cache, ghost):
    obj.gap = now - obj.requested
    obj.seen += 1


def on_miss(now, obj, cache, ghost):
    obj.requested = now

"""
_KEPT = f"""\
MECHANISM = "heap"
{_STATE}
def worth(gap, seen, size):
    return 1


def priority(now, obj, cache, ghost):
    return cache.evicted_priority + worth(obj.gap, obj.seen, obj.size) / obj.size
"""
_ADMITTED = f"""{_KEPT}

def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or cache.evicted_priority + worth(obj.gap, obj.seen, obj.size) / obj.size >= victim.priority
"""
_SAMPLED = f"""\
MECHANISM = "sample"
{_STATE}
def worth(idle, gap, phase, seen, size):
    return 1


def ratio(a, b):
    return max(a, b) / min(a, b) if b > 1 else 1


def priority(now, obj, cache, ghost):
    idle = now - obj.last_access
    return worth(idle, obj.gap, ratio(1 + idle, 1 + obj.gap), obj.seen, obj.size) / obj.size
"""


def lessons_of(requests: Requests, capacity: int, *, by_bytes: bool) -> Iterator[Lesson]:
    """Yield lessons for priorities that are kept, and for those that see how long an object has been idle.

    The gain is a hit, or with `by_bytes` its bytes; the cost is how long a byte is held for it.
    """
    found = Returns.of(requests, capacity)
    program = _KEPT if np.ptp(found.sizes) == 0 else _ADMITTED
    rng = np.random.default_rng(1)
    chosen = np.arange(len(found.sizes))
    if len(chosen) > MAX_SITUATIONS:
        chosen = np.sort(rng.choice(chosen, MAX_SITUATIONS, replace=False))
    idle = np.floor(np.exp(rng.uniform(0.0, np.log1p(2 * found.turnover), len(chosen)))) - 1
    forward, left = found.forward[chosen], found.left[chosen]
    worth = found.sizes[chosen] if by_bytes else 1.0
    for memory in MEMORIES:
        gaps, counts = found.remembered(memory * found.turnover)
        known = [column[chosen] for column in (gaps, counts, found.sizes)]
        for reach in REACHES:
            name = f"returns within {reach:g} turnovers of the cache, remembered for {memory:g}"
            yield lesson_of_returns(name, program, known, forward, left, reach * found.turnover, worth)
    phase = np.where(known[0] > 0, np.exp(np.abs(np.log1p(idle) - np.log1p(known[0]))), 1.0)
    columns = [idle, known[0], phase, *known[1:]]
    name = "returns of idle objects"
    yield lesson_of_returns(name, _SAMPLED, columns, forward - idle, left - idle, found.turnover, worth)


_CLASSES = 4
_WEIGHT = 8.5


def hazards(requests: Requests, capacity: int) -> list[EvaluatorFinding]:
    """Return the chance that an object returns before the cache turns over, by what is known of it, in two phases."""
    found = Returns.of(requests, capacity)
    at = np.arange(len(found.sizes))
    gaps, counts = found.remembered(MEMORIES[1] * found.turnover)
    rng = np.random.default_rng(1)
    idle = np.floor(np.exp(rng.uniform(0.0, np.log1p(2 * found.turnover), len(at)))) - 1
    known = (("requests so far", counts, 0.0 * idle), ("gap", gaps, 0.0 * idle),
             ("size", found.sizes, 0.0 * idle), ("idle", idle, idle))  # fmt: skip
    rows: list[tuple[str | float, ...]] = []
    for name, values, since in known:
        told = (found.left > since + found.turnover) & (found.forward > since)
        returns = found.forward <= since + found.turnover
        edges = np.unique(np.quantile(values[told], [0.25, 0.5, 0.75, 1.0])) if told.any() else np.empty(0)
        classes = np.searchsorted(edges, values)
        for n, edge in enumerate(edges if len(edges) > 1 else ()):
            phases = [told & (classes == n) & (at * 2 // len(at) == half) for half in (0, 1)]
            if all(phase.any() for phase in phases):
                chances = (round(100 * float(returns[phase].mean()), 1) for phase in phases)
                rows.append((name, f"up to {edge:,.0f}", *chances))
    title = f"Chance of return within a turnover of the cache ({found.turnover:,.0f} requests)"
    columns = ("known", "class", "first half %", "second half %")
    return [SmallTable(title, columns, tuple(rows[: 4 * _CLASSES]), _WEIGHT)] if rows else []
