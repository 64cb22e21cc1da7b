"""A compiled kernel calls all functions of a policy by their addresses, and tells it of events and occasions."""

from __future__ import annotations

from random import Random

import numpy as np
from anvil_two import TWO, TWO_LAYOUT, defining
from anvil_values import values_for

from vulcan.anvil import check
from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import njit


@njit
def _run(rate, steer, update, gust, globals_, record, statistics, now, speed):
    """Turns of which each has an event, every third one a gust too; the sums of what the two functions give."""
    rated = steered = 0.0
    for turn in range(12):
        globals_[now] = turn
        globals_[speed] = 2.0 * turn
        call_event(update, globals_, record, 0, statistics, 0, 1.0)
        if turn % 3 == 0:
            call_event(gust, globals_, record, 0, statistics, 0, 1.0)
        rated += call_score(rate, globals_, record, 0, statistics, 0, 1.0)
        steered += call_score(steer, globals_, record, 0, statistics, 0, 1.0)
    return rated, steered


def test_a_kernel_calls_every_function_of_one_policy() -> None:
    source = defining("now.ewma(0.5) + item.whole.avg()", steer="wind.speed.recent(2) + now.ewma(0.5)")
    policy = check(source, TWO)
    native, reference = policy.native(TWO_LAYOUT), policy.reference()
    globals_, statistics = native.new_globals(), native.new_statistics(1)
    record = np.zeros(12)
    place = {name: slot.index for name, slot in TWO_LAYOUT.features.items()}
    record[place["item.whole"]] = 5.0
    found = _run(
        native.scores["rate"], native.scores["steer"], native.update, native.occasions["gust"], globals_, record,
        statistics, place["now"], place["wind.speed"],
    )  # fmt: skip
    shown = values_for(TWO.interface, Random(1)) | {"item.id": 1.0, "item.whole": 5.0}
    rated = steered = 0.0
    for turn in range(12):
        now = shown | {"now": float(turn), "wind.speed": 2.0 * turn}
        reference.observe(1.0, now)
        if turn % 3 == 0:
            reference.observe_occasion("gust", now)
        rated += reference(now, 1.0)
        steered += reference.ask("steer", now, 1.0)
    assert found == (rated, steered)
    assert rated > 60.0 and steered > 60.0
