"""The offline generator on a task of several functions: it works on one and keeps the others as they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from breeding import proposed, request, rounds
from several_task import OTHER, PARENT, SEVERAL_TASK

from vulcan.anvil import Policy, check, ir
from vulcan.anvil.unparse import emit_source
from vulcan.generator import OfflineEvolve
from vulcan.generator.proposer import join, part_of
from vulcan.models.base import Parent
from vulcan.registry import find_task
from vulcan.task import Feature, Scalar, Value

NAMES = ("urgency", "send")
PARENTS = (Parent(3, PARENT, 2.0), Parent(5, OTHER, 1.0))


def prints(policy: Policy) -> dict[str, str]:
    """A fingerprint of each function alone."""
    made = {}
    for name in NAMES:
        alone = SEVERAL_TASK.alone(name)
        made[name] = check(emit_source(part_of(policy.program, name), alone.signature), alone).fingerprint
    return made


PARENT_PRINTS = prints(check(PARENT, SEVERAL_TASK))
OTHER_PRINTS = prints(check(OTHER, SEVERAL_TASK))


@pytest.mark.parametrize("operator", ["", "mutate", "crossover"])
def test_one_function_is_changed_and_the_others_are_kept(operator: str) -> None:
    generator = OfflineEvolve(SEVERAL_TASK)
    parents = PARENTS[:1] if operator == "mutate" else PARENTS
    changed: Counter[str] = Counter()
    for proposal in range(40):
        made = prints(proposed(generator, SEVERAL_TASK, request(proposal, parents, operator=operator)))
        new = [name for name in NAMES if made[name] != PARENT_PRINTS[name]]
        assert len(new) == 1, f"proposal {proposal} changed {new}"
        changed[new[0]] += 1
    assert min(changed[name] for name in NAMES) > 8


def test_a_crossover_takes_whole_functions_too() -> None:
    generator = OfflineEvolve(SEVERAL_TASK)
    made = [prints(proposed(generator, SEVERAL_TASK, request(n, PARENTS, operator="crossover"))) for n in range(60)]
    for name in NAMES:
        assert any(each[name] == OTHER_PRINTS[name] for each in made)


def test_a_new_program_has_every_function_anew() -> None:
    generator = OfflineEvolve(SEVERAL_TASK)
    for parents in ((), PARENTS):
        for proposal in range(10):
            made = prints(proposed(generator, SEVERAL_TASK, request(proposal, parents, operator="fresh")))
            assert all(made[name] not in (PARENT_PRINTS[name], OTHER_PRINTS[name]) for name in NAMES)


def test_every_reply_is_a_policy_that_differs_from_its_parents() -> None:
    made = rounds(SEVERAL_TASK, lambda policy: len(policy.source), seed=3, count=6, samples=10)
    found = [policy for batch in made for policy in batch]
    assert len({policy.fingerprint for policy in found}) > 50
    assert all({f.name for f in policy.program.entries} == set(NAMES) for policy in found)
    assert not any(policy.constant for policy in found)


def test_a_function_that_is_shown_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="declares nothing that a policy could read"):
        OfflineEvolve(replace(SEVERAL_TASK, others=(Value("send", (), "it"),), properties=()))
    level = Scalar(Feature("level", "float", "metres", 0.0, 1.0, "the water"))
    OfflineEvolve(replace(SEVERAL_TASK, others=(Value("send", (level,), "it"),), properties=()))


# Taking apart and putting together


def parts(source: str) -> dict[str, ir.Module]:
    return {name: part_of(check(source, SEVERAL_TASK).program, name) for name in NAMES}


def test_what_two_parts_call_alike_and_is_not_gets_other_names() -> None:
    """`part`, `SHARE` are other things in the two; `full` is a local here and could be a helper there."""
    helper = OTHER.replace("part(", "full(").replace("full = parcel.weight", "x_2 = parcel.weight")
    helper = helper.replace("full(full)", "full(x_2)")
    for first, second in ((PARENT, OTHER), (OTHER, PARENT), (PARENT, helper), (helper, PARENT)):
        chosen = [parts(first)["send"], parts(second)["urgency"]]
        whole = join(chosen, ["send", "urgency"], SEVERAL_TASK.interface, "")
        made = prints(check(emit_source(whole, SEVERAL_TASK.interface), SEVERAL_TASK))
        assert made["send"] == prints(check(first, SEVERAL_TASK))["send"]
        assert made["urgency"] == prints(check(second, SEVERAL_TASK))["urgency"]


def test_a_part_has_no_helper_that_reads_the_state_of_another() -> None:
    source = (
        'MECHANISM = "sample"\n\n\nclass policy:\n    ours = 0.5\n    theirs = 0\n\n\n'
        "def scaled(x):\n    return policy.ours * x\n\n\n"
        "def on_hit(now, obj, cache, ghost):\n    policy.ours = scaled(1)\n    policy.theirs += 1\n\n\n"
        "def priority(now, obj, cache, ghost):\n    return policy.ours * obj.last_access\n\n\n"
        "def admit(now, obj, cache, victim, ghost):\n    return policy.theirs > 3\n"
    )
    policy = check(source, find_task("cache_eviction"))
    for name, helpers in (("priority", ["scaled"]), ("admit", [])):
        alone = policy.task.alone(name)
        part = check(emit_source(part_of(policy.program, name), alone.whole_interface), alone)
        assert [helper.name for helper in part.program.helpers] == helpers
