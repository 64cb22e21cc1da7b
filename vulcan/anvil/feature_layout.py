"""Memory layout of a compiled policy's features, shared by the compiler and the evaluators' kernels.

A compiled policy is a C function

    double score(double *globals, double *entity, double *statistics, double key)

`globals` holds the features of the whole system, followed by the state that the plan needs; `entity` is the record of
the current entity; `statistics` are that entity's slots of derived statistics, initialised as in
`Native.new_statistics`. If the plan has statistics there are also `enter`, `update` and `leave`, with the same
arguments and no result, to be called when an entity enters (its features set), is touched, and leaves; the address of
an unneeded one is 0. In a task without an entity, an event of the system is an `update`.

Each occasion at which features are observed (`Global.observed`) has such a function without a result at
`Native.occasions[name]`, to be called on the occasion once the features are set; it touches `globals` only.

A handler of one of the task's events (`Native.events[name]`) is such a function without a result too, to be called when
the event happens; it reads the layout's features, changes the policy's own state, and sets the layout's `controls`.
`Native.release` drops the fields of an entity of which nothing is remembered any more.

If a task declares several functions, each is such a C function, at `Native.scores[name]`; they share the same blocks,
and each event is reported once for all of them. The layout covers what any of them may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Slot:
    """A float64 at `index` of `globals` or `entity`; or the key itself."""

    base: Literal["globals", "entity", "key"]
    index: int = 0


@dataclass(frozen=True, slots=True)
class HistorySlots:
    """A history stored as sequence numbers: an entity is remembered while `left >= oldest`.

    `left` is the sequence number of its last departure, from 1, and 0 if it never left; `oldest` is the lowest number
    still remembered, at least 1. `count` and `left_at` are returned by the queries of those names; `now` is the time.
    """

    left: Slot
    oldest: Slot
    count: Slot
    left_at: Slot
    now: Slot


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots of features, histories and controls.

    The plan's state follows the evaluator's `global_slots` float64 of `globals`.
    """

    features: Mapping[str, Slot]
    global_slots: int
    histories: Mapping[str, HistorySlots] = field(default_factory=dict)
    controls: Mapping[str, Slot] = field(default_factory=dict)
