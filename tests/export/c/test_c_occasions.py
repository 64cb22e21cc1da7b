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

TASK = find_task("congestion_control")
SOURCE = """
def cwnd(state, window):
    oldest = window.delivered_packets.recent(3) + window.lost_packets.window_percentile(0.5, 4)
    tenths = state.interval_lost_packets.window_percentile(1, 5) + state.interval_delivered_packets.recent(2)
    oldest = oldest + tenths - state.interval_us.avg() / 4096
    return oldest + state.acked_packets.recent(2) + window.ecn_packets.max() + state.lost_packets.window_avg(4)
"""


def test_statistics_observe_on_their_occasion() -> None:
    policy = check(SOURCE, TASK)
    integers, reference, random = Integers(policy), policy.reference(), Random(5)
    for occasion in ("round_trip", "interval"):
        assert f"policy_observe_{occasion}(" in double_header(policy, provenance())
    for step in range(200):
        values = sender_state(TASK.signature, random)
        for occasion, every in (("round_trip", 5), ("interval", 7)):
            if step % every == 3:
                integers.observe(values, occasion)
                reference.observe_occasion(occasion, values)
        integers.observe(values)
        reference.observe(None, values)
        assert abs(integers.score(values) - reference(values)) <= 2.0**-16


def test_integers_hold_one_function() -> None:
    other = replace(TASK.signature, function="rate")
    source = "def cwnd(state, window):\n    return 2\ndef rate(state, window):\n    return 3\n"
    with pytest.raises(UserError, match=r"has several functions \(cwnd, rate\): a C header in integers holds one"):
        fixed_header(check(source, replace(TASK, others=(other,))), provenance())
