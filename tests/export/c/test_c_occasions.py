"""What is observed on an occasion only is so in exported C too."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from compiled import Integers, provenance
from sender_states import sender_state

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed_header import fixed_header
from vulcan.registry import find_task
from vulcan.task import Global

TASK = find_task("congestion_control")
STATE, WINDOW = TASK.signature.arguments
assert isinstance(WINDOW, Global)
ON_OCCASION = replace(
    TASK, signature=replace(TASK.signature, arguments=(STATE, replace(WINDOW, observed="round_trip")))
)
SOURCE = """
def cwnd(state, window):
    oldest = window.delivered_packets.recent(3) + window.lost_packets.window_percentile(0.5, 4)
    return oldest + state.acked_packets.recent(2) + window.ecn_packets.max() + state.lost_packets.window_avg(4)
"""


def test_statistics_observe_on_their_occasion() -> None:
    policy = check(SOURCE, ON_OCCASION)
    integers, reference, random = Integers(policy), policy.reference(), Random(5)
    assert "policy_observe_round_trip(" in double_header(policy, provenance())
    for step in range(200):
        values = sender_state(ON_OCCASION.signature, random)
        if step % 5 == 3:
            integers.observe(values, "round_trip")
            reference.observe_occasion("round_trip", values)
        integers.observe(values)
        reference.observe(None, values)
        assert abs(integers.score(values) - reference(values)) <= 2.0**-16


def test_integers_hold_one_function() -> None:
    other = replace(TASK.signature, function="rate")
    source = "def cwnd(state, window):\n    return 2\ndef rate(state, window):\n    return 3\n"
    with pytest.raises(UserError, match=r"has several functions \(cwnd, rate\): a C header in integers holds one"):
        fixed_header(check(source, replace(TASK, others=(other,))), provenance())
