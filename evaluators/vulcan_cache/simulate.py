"""Running a policy over a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy, ir
from vulcan.anvil.policy import effort
from vulcan.anvil.semantics import GOLDEN, mix
from vulcan.errors import UserError
from vulcan_cache import layout, queue_layout

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native

Counts = tuple[int, int, int, int]
"""Misses, missed bytes, bypassed requests and a hash of what left."""

FAST_COMPILE = 20e6
"""Operations of a run below which optimised compilation costs more than it saves (docs/performance.md)."""

RANKING_EVENTS = ("on_hit", "on_ghost_hit", "on_miss", "on_refuse", "on_evict", "on_insert")
QUEUE_EVENTS = (*RANKING_EVENTS, "on_move", "on_forget", "on_room")
"""Events of the mechanisms, in the order in which kernels take their handlers."""

_OBSERVED = ("enter", "update", "leave")
_PLACES = ("insert", "hit", "tail")


@dataclass(frozen=True, slots=True)
class CacheResult:
    """Counts over the measured requests. `bypassed` are misses of objects larger than the cache or not admitted.

    `decisions` is a hash of the sequence of all objects that were evicted or not admitted, 0 where it is not known.
    """

    requests: int
    bytes: int
    misses: int
    missed_bytes: int
    bypassed: int
    decisions: int = 0

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests if self.requests else 0.0

    @property
    def byte_miss_ratio(self) -> float:
        return self.missed_bytes / self.bytes if self.bytes else 0.0

    def metrics(self) -> dict[str, float]:
        """Return `miss_ratio` and `byte_miss_ratio` (shares of 1) with the counts behind them."""
        counts = ("requests", "bytes", "misses", "missed_bytes", "bypassed")
        return {
            "miss_ratio": self.miss_ratio,
            "byte_miss_ratio": self.byte_miss_ratio,
            **{name: float(getattr(self, name)) for name in counts},
        }


def simulate(
    policy: Policy,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    sample_size: int = 16,
    sample_seed: int = 1,
    measure_from: int = 0,
    object_count: int | None = None,
    times: NDArray[np.float64] | None = None,
    weight: int = 1,
    history: NDArray[np.uint32] | None = None,
) -> CacheResult:
    """Run a policy of `cache_eviction` over a trace, starting with an empty cache.

    `objects` and `sizes` have shape (requests,): dense ids in order of first appearance, and bytes. `capacity` is
    in bytes. Requests from `measure_from` on are counted. `sample_size` and `sample_seed` are for policies of the
    mechanism `sample`. For a spatial sample, `times` of shape (requests,) has the number of each request in the trace,
    `weight` is how many objects each stands for, and `capacity` that of the whole cache. `history`, zeros of shape
    (requests,), receives the outcome of each request and, without `times`, the departure of its object
    (`kernels.common`). Raises UserError for a `sample_size` that is out of range.
    """
    from vulcan.anvil.native.compile import aligned  # loads numba

    check_sample_size(sample_size)
    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    is_queued = policy.mechanism == "queues"
    operations = len(objects) * effort(policy.operations, policy.task)
    native = policy.native((queue_layout if is_queued else layout).LAYOUT, hurried=operations < FAST_COMPILE)
    records = aligned(count * 8)  # each in one cache line, whose memory is touched with the object's first request
    common = (
        objects,
        sizes,
        np.empty(0) if times is None else times,
        float(weight),
        native.new_globals(sample_seed),
        records,
        native.new_statistics(count),
        np.uint64(native.entity_slots),
        capacity,
        measure_from,
        np.empty(0, np.uint32) if history is None else history,
    )
    if is_queued:
        counts = _queued(policy, native, common, count)
    else:
        counts = _ranked(policy.mechanism, native, (*common, records.view(np.int64)), count, sample_size, sample_seed)
    misses, missed_bytes, bypassed, evicted = counts
    measured = sizes[measure_from:]
    return CacheResult(len(measured), int(measured.sum(dtype=np.int64)), misses, missed_bytes, bypassed, int(evicted))


def check_sample_size(count: int) -> None:
    """Raises UserError for a number of objects that cannot be drawn at an eviction."""
    if not 1 <= count <= layout.MAX_SAMPLED:
        raise UserError(f"sample size {count}: from 1 to {layout.MAX_SAMPLED} objects can be drawn at an eviction")


def generator_state(seed: int) -> int:
    """Return the initial state of the mechanism `sample`'s generator: splitmix64 of the seed, but never 0."""
    return mix(seed * GOLDEN) or GOLDEN


def _ranked(
    mechanism: str, native: Native, common: tuple[Any, ...], object_count: int, sample_size: int, sample_seed: int
) -> Counts:
    from vulcan_cache.kernels import ranking  # compiles the kernels, or loads them
    from vulcan_cache.kernels.heap import new_nodes

    kernel: Callable[..., Counts] = getattr(ranking, mechanism)
    timed = object_count if "recheck" in native.scores else 0
    return kernel(
        native.addresses("priority", "admit", "recheck", *_OBSERVED, *RANKING_EVENTS, "release"),
        *common,
        sample_size,
        np.uint64(generator_state(sample_seed)),
        new_nodes(object_count),
        np.zeros(object_count + 1, np.uint32),
        np.empty(sample_size, np.uint64),
        new_nodes(timed),
        np.full(timed, ranking.UNTIMED, np.uint32),
    )


def _queued(policy: Policy, native: Native, common: tuple[Any, ...], object_count: int) -> Counts:
    from vulcan_cache.kernels.queues import queues  # compiles the kernel, or loads it

    constants = {name: value for name in _PLACES if (value := _constant(policy, name)) is not None}
    called = ("" if name in constants else name for name in _PLACES)
    counts: Counts = queues(
        native.addresses("share", *called, "keep", *_OBSERVED, *QUEUE_EVENTS, "release"),
        *common,
        _is_steady(policy, "share"),
        np.uint64(_tails_read(policy)),
        _shows_at_hits(policy),
        _is_steady(policy, "insert"),
        np.array([constants.get(name, 0.0) for name in _PLACES]),
        np.zeros(queue_layout.QUEUES + 1),
        np.zeros(2 * (object_count + queue_layout.GHOST + queue_layout.GHOST_LISTS), np.uint32),
        np.zeros(object_count if "on_room" in native.events else 0, np.uint8),
    )
    return counts


def _tails_read(policy: Policy) -> int:
    """Return 1 if the policy reads a feature of `tails`, and the bit of each queue of whose record it reads one."""
    plan, found = policy.plan, 0
    for name in (*plan.features, *(statistic.feature for statistic in plan.statistics)):
        group, _, feature = name.partition(".")
        if group == "tails":
            found |= 1 if feature.startswith("id") else 1 | 1 << int(feature[-1])
    return found


def _shows_at_hits(policy: Policy) -> bool:
    """Check whether a hit's handler reads `tails`, or a statistic observes it at each event."""
    observed = [statistic.feature for statistic in policy.plan.statistics]
    handlers = [function for function in policy.program.handlers if function.name == "on_hit"]
    read = [e.feature for f in handlers for e in ir.expressions(f.body) if isinstance(e, ir.Read)]
    return any(name.startswith("tails.") for name in (*observed, *read))


def _constant(policy: Policy, name: str) -> float | None:
    """Return the number that a function always answers; None where it computes anything."""
    match next(entry.body for entry in policy.program.entries if entry.name == name):
        case (ir.Return(ir.Number(value)),):
            return value
    return None


def _is_steady(policy: Policy, name: str) -> bool:
    """Check whether a function reads nothing that changes but for another request, so that asking it again is idle."""
    read = [e for function in policy.program.alone(name).functions for e in ir.expressions(function.body)]
    changing = (ir.Statistic, ir.Occurrences, ir.Cell, ir.Element)
    features = {e.feature for e in read if isinstance(e, ir.Read) and not e.feature.startswith("obj.")}
    return features <= {"now", "queue", "cache.capacity"} and not any(isinstance(e, changing) for e in read)
