"""What a policy chooses for itself among a task's settings: a line of its module, checked, kept, and part of it."""

from __future__ import annotations

import pytest

from vulcan.anvil import Rejected, check
from vulcan.anvil.unparse import emit_source
from vulcan.generator.proposer import join, part_of
from vulcan.registry import find_task

TASK = find_task("congestion_control")
PLAIN = "def cwnd(state, window):\n    return state.cwnd_packets\n"
OWN = f'SLOW_START = "policy"\n\n\n{PLAIN}'


def test_the_choice_of_a_policy_wins_over_the_setting() -> None:
    given = {"called": "ack", "slow_start": "mechanism"}
    assert check(OWN, TASK).settings(given) == {"called": "ack", "slow_start": "policy"}
    assert check(PLAIN, TASK).settings(given) == given


def test_a_choice_distinguishes_policies_and_survives_rewriting() -> None:
    policy = check(OWN, TASK)
    assert policy.fingerprint != check(PLAIN, TASK).fingerprint
    assert check(emit_source(policy.program, TASK.interface), TASK).fingerprint == policy.fingerprint
    part = part_of(policy.program, "cwnd")
    joined = join([part], ["cwnd"], TASK.interface, "", chosen=policy.program.chosen)
    assert joined.chosen == policy.program.chosen
    assert policy.parameters == {}


@pytest.mark.parametrize(
    "line", ['SLOW_START = "police"', "SLOW_START = 1", 'SLOW_START = "policy"\nSLOW_START = "policy"']
)
def test_no_other_choice_is_accepted(line: str) -> None:
    with pytest.raises(Rejected, match="SLOW_START"):
        check(f"{line}\n{PLAIN}", TASK)


def test_a_task_without_choices_takes_no_text() -> None:
    with pytest.raises(Rejected, match="not one number"):
        check('SLOW_START = "policy"\ndef score(now, obj, cache):\n    return 1\n', find_task("cache_eviction"))
