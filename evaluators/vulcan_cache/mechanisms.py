"""Registry of mechanisms: how a kernel uses a policy's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy, ir
from vulcan.anvil.feature_layout import Layout
from vulcan.anvil.policy import effort
from vulcan.anvil.semantics import GOLDEN, mix
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


@dataclass(frozen=True, slots=True)
class MechanismRun:
    """Policy and the requests that it runs on, as `vulcan_cache.simulate` takes them."""

    policy: Policy
    objects: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    times: NDArray[np.float64]
    weight: int
    object_count: int
    capacity: int
    measure_from: int
    sample_size: int
    sample_seed: int
    history: NDArray[np.uint32]


def generator_state(seed: int) -> int:
    """Return the initial state of the mechanism `sample`'s generator: splitmix64 of the seed, but never 0."""
    return mix(seed * GOLDEN) or GOLDEN


def _ranked(name: str, run: MechanismRun) -> Counts:
    from vulcan_cache.kernels import ranking  # compiles the kernels, or loads them
    from vulcan_cache.kernels.heap import new_nodes

    kernel: Callable[..., Counts] = getattr(ranking, name)
    native, common, records = _common(run, layout.LAYOUT)
    recheck = "recheck" in native.scores
    return kernel(
        native.addresses("priority", "admit", "recheck", *_OBSERVED, *RANKING_EVENTS, "release"),
        *common,
        records.view(np.int64),
        run.sample_size,
        np.uint64(generator_state(run.sample_seed)),
        new_nodes(run.object_count),
        np.zeros(run.object_count + 1, np.uint32),
        np.empty(run.sample_size, np.uint64),
        new_nodes(run.object_count if recheck else 0),
        np.full(run.object_count if recheck else 0, ranking.UNTIMED, np.uint32),
    )


def _queued(run: MechanismRun) -> Counts:
    from vulcan_cache.kernels.queues import queues  # compiles the kernel, or loads it

    native, common, _ = _common(run, queue_layout.LAYOUT)
    counts: Counts = queues(
        native.addresses("share", "insert", "hit", "tail", "keep", *_OBSERVED, *QUEUE_EVENTS, "release"),
        *common,
        _shares_are_fixed(run.policy),
        np.uint64(_tails_read(run.policy)),
        _shows_at_hits(run.policy),
        _moves_at_hits(run.policy),
        np.zeros(queue_layout.QUEUES + 1),
        np.zeros(2 * (run.object_count + queue_layout.GHOST + queue_layout.GHOST_LISTS), np.uint32),
        np.zeros(run.object_count if "on_room" in native.events else 0, np.uint8),
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


def _moves_at_hits(policy: Policy) -> bool:
    """Check whether `hit` is anything but the number 0."""
    return policy.program.alone("hit").entry.body != (ir.Return(ir.Number(0.0)),)


def _shares_are_fixed(policy: Policy) -> bool:
    """Check whether `share` reads nothing that changes while a trace runs, so that it need not be called repeatedly."""
    share = policy.program.alone("share")
    read = [e for function in share.functions for e in ir.expressions(function.body)]
    changing = (ir.Statistic, ir.Occurrences, ir.Cell, ir.Element)
    features = {e.feature for e in read if isinstance(e, ir.Read)}
    return features <= {"queue", "cache.capacity"} and not any(isinstance(e, changing) for e in read)


def _common(run: MechanismRun, where: Layout) -> tuple[Native, tuple[Any, ...], NDArray[np.float64]]:
    """Return the policy's machine code, what every kernel takes beside addresses, the records."""
    from vulcan.anvil.native.compile import aligned  # loads numba

    operations = len(run.objects) * effort(run.policy.operations, run.policy.task)
    native = run.policy.native(where, hurried=operations < FAST_COMPILE)
    records = aligned(run.object_count * 8)  # each in one cache line
    common = (
        run.objects,
        run.sizes,
        run.times,
        float(run.weight),
        native.new_globals(run.sample_seed),
        records,
        native.new_statistics(run.object_count),
        np.uint64(native.entity_slots),
        run.capacity,
        run.measure_from,
        run.history,
    )
    return native, common, records


MECHANISMS: Mapping[str, Callable[[MechanismRun], Counts]] = {
    "heap": partial(_ranked, "heap"),
    "sample": partial(_ranked, "sample"),
    "queues": _queued,
}
"""What runs each. Memory of objects is touched with their first request."""
