"""Where a compiled policy finds its features in memory: agreed between the compiler and an evaluator's kernels.

A compiled policy is a C function

    double score(double *globals, double *entity, double *statistics, double key)

`globals` holds the features of the whole system and, behind them, the state that the plan needs; `entity` is the
record of the entity at hand; `statistics` are that entity's slots of derived statistics, which begin as
`Native.new_statistics` gives them. Where the plan has statistics there are also `enter`, `update` and `leave`, without
a result and with the same arguments, to be called when an entity enters (its features set), is touched, and leaves;
the address of one that nothing needs is 0. Where a task has no entity, an event of the system is an `update`.

For each occasion at which features are observed (`Global.observed`) there is such a function without a result at
`Native.occasions[name]`, to be called when it has come and the features are set; it touches `globals` only.

Where a task declares several functions, each is such a C function, at `Native.scores[name]`; they take the same blocks,
and events are told once for all of them. The layout places what any of them may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Slot:
    """The float64 at `index` of `globals` or `entity`; or the key itself."""

    base: Literal["globals", "entity", "key"]
    index: int = 0


@dataclass(frozen=True, slots=True)
class HistorySlots:
    """A history kept as sequence numbers: an entity is remembered while `left >= oldest`.

    `left` is the sequence number of its last leaving, from 1, and 0 if it never left; `oldest` the lowest number
    still remembered, at least 1. `count` and `left_at` are what the queries of those names repeat; `now` is the time.
    """

    left: Slot
    oldest: Slot
    count: Slot
    left_at: Slot
    now: Slot


@dataclass(frozen=True, slots=True)
class Layout:
    """`global_slots` float64 of `globals` are the evaluator's; what the plan needs comes behind them."""

    features: Mapping[str, Slot]
    global_slots: int
    histories: Mapping[str, HistorySlots] = field(default_factory=dict)
