"""The offline generator with state: it invents, changes, crosses and removes handlers, and the checker accepts them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from breeding import arbitrary, proposed, rounds
from effort import slow
from offline_tasks import RANK_TASK, VALUE_TASK
from several_task import SEVERAL_TASK

from vulcan.anvil import Policy, check, ir
from vulcan.anvil.rewrite.dead_code import cells_read
from vulcan.generator import OfflineEvolve, breeder, proposer
from vulcan.models.base import Parent, Request
from vulcan.task import Global, StateLimits, Task, event


def with_events(task: Task) -> Task:
    """The task with two events that see what the decision sees, and one that sees less and has a control."""
    arguments = task.signature.arguments
    less = tuple(a for a in arguments if isinstance(a, Global))
    return replace(
        task,
        events=(
            event("on_come", arguments, "It has come."),
            event("on_leave", arguments, "It leaves."),
            event("on_tick", less, "Time has passed."),
        ),
        state_limits=StateLimits(registers=6, elements=5_000, fields=4),
    )


TASKS = {task.name: with_events(task) for task in (RANK_TASK, VALUE_TASK, SEVERAL_TASK)}
HEAD = "(clock, parcel, store, sent):\n"
LEARNT = f"""
STEP = 0.25
RATE = 0.5


def grown(x):
    return x + STEP


class policy:
    level = 1
    seen = [0] * 64


class parcel:
    mark = 3


def on_come{HEAD}    policy.level = grown(policy.level)
    if parcel.weight > 5:
        parcel.mark += 1
    u = random()
    policy.seen[hash(parcel.id, 0)] += u


def on_leave{HEAD}    if parcel.price > 3:
        return
    policy.level *= RATE


def urgency{HEAD}    return parcel.weight * policy.level / (1 + policy.seen[hash(parcel.id, 0)]) + parcel.mark
"""
PLAIN = f"def urgency{HEAD}    return (clock - parcel.arrived) * parcel.price / (1 + parcel.weight)\n"


def evolved(task: Task, *, state: bool, seed: int, count: int = 3, samples: int = 12) -> list[Policy]:
    shown = task if state else replace(task, events=())
    made = rounds(shown, arbitrary, seed=seed, count=count, samples=samples)
    return [policy for policies in made for policy in policies]


@pytest.mark.parametrize("name", ["toy_rank", "toy_value", slow("toy_several")])
def test_the_checker_accepts_what_it_writes_as_often_as_without_state(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts: Counter[bool] = Counter()

    def counted(source: str, task: Task) -> Policy:
        verdicts[False] += 1
        policy = check(source, task)
        verdicts[False] -= 1
        verdicts[True] += 1
        return policy

    monkeypatch.setattr(breeder, "check", counted)
    monkeypatch.setattr(proposer, "check", counted)
    task = TASKS[name]
    shares = []
    for state in (False, True):
        verdicts.clear()
        policies = evolved(task, state=state, seed=2)
        shares.append(verdicts[True] / verdicts.total())
        assert sum(bool(p.program.handlers) for p in policies) in (range(10, 37) if state else (0,))
        assert len({p.fingerprint for p in policies}) > 30
        assert not any(p.constant for p in policies)
    assert shares[1] >= shares[0] - 0.01 >= 0.98


def test_all_kinds_of_state_come_up_within_the_limits() -> None:
    kinds: Counter[str] = Counter()
    for policy in evolved(TASKS["toy_rank"], state=True, seed=4, count=4):
        for variable in policy.program.variables:
            kinds["array" if variable.length else "field" if variable.is_field else "register"] += 1
            kinds["tuned start"] += isinstance(variable.initial, ir.Parameter)
        kinds.update(handler.name for handler in policy.program.handlers)
    assert min(kinds[kind] for kind in ("register", "field", "array", "tuned start", "on_come", "on_leave")) > 2


def test_without_state_a_task_with_events_gets_what_it_got_without_them() -> None:
    ours = evolved(TASKS["toy_rank"], state=False, seed=3, count=2, samples=6)
    assert [p.source for p in ours] == [p.source for p in evolved(RANK_TASK, state=False, seed=3, count=2, samples=6)]


def asked(operator: str, proposal: int, *sources: str) -> Request:
    parents = tuple(Parent(i, source, 1.0 - i) for i, source in enumerate(sources))
    return Request(proposal, 0, (), parents, 1, operator=operator)


def test_a_crossover_brings_the_state_that_a_part_needs() -> None:
    task = TASKS["toy_rank"]
    generator = OfflineEvolve(task)
    taken: Counter[str] = Counter()
    for proposal in range(24):
        program = proposed(generator, task, asked("crossover", proposal, PLAIN, LEARNT)).program
        names = {variable.name for variable in program.variables}
        if "policy.level" in names:
            assert {h.name for h in program.handlers} >= {"on_come", "on_leave"}
            assert [helper.name for helper in program.helpers] == ["grown"]
            taken["level"] += 1
        if "policy.seen" in names:
            assert program.draws
            taken["seen"] += 1
        taken["one of two"] += len(names & {"policy.level", "policy.seen"}) == 1
    assert min(taken["level"], taken["seen"], taken["one of two"]) > 0


def test_what_no_decision_reads_any_more_is_left_out() -> None:
    task = TASKS["toy_rank"]
    generator = OfflineEvolve(task)
    sizes: Counter[int] = Counter()
    for proposal in range(24):
        program = proposed(generator, task, asked("mutate", proposal, LEARNT)).program
        read = cells_read(program, (*program.entries, *program.handlers))
        assert read == {variable.name for variable in program.variables}
        sizes[len(program.variables)] += 1
    assert sum(sizes[n] for n in (0, 1, 2)) > 0 and sum(sizes[n] for n in sizes if n > 3) > 0


def test_in_a_task_of_several_functions_the_others_keep_their_state() -> None:
    task = TASKS["toy_several"]
    source = LEARNT + "\n\ndef send(clock, store):\n    return min(max(policy.level + store.load, 0), 10)\n"
    generator = OfflineEvolve(task)
    before = check(source, task)
    kept = 0
    for proposal in range(8):
        policy = proposed(generator, task, asked("mutate", proposal, source))
        same = [policy.program.of(n).entry == before.program.of(n).entry for n in ("send", "urgency")]
        assert same.count(True) == 1
        assert any(variable.name == "policy.level" for variable in policy.program.variables)
        kept += same[0]
    assert 1 <= kept <= 7
