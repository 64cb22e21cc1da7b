"""What the offline generator answers: the same to the same request, honest about what it is, always a valid policy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from breeding import arbitrary, proposed, request, rounds
from effort import examples, few, slow
from offline_tasks import RANK_TASK, TOY_TASKS, VALUE_TASK

from vulcan.anvil import check
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Parent, Proposer
from vulcan.models.reply_parser import extract_source
from vulcan.task import Task

LOOPING = '''
"""Adds up."""

STEP = 0.25


def grown(x, rate):
    """x after one step."""
    return x * (1 + rate)


def window(loss, link):
    x = link.window
    for i in range(20):
        if x > link.rate * link.rtt:
            break
        x = grown(x, STEP)
    if loss:
        return link.window / 2
    return x
'''

REPLIES = """
import sys
sys.path.insert(0, sys.argv[1])
from breeding import arbitrary, rounds
from offline_tasks import RANK_TASK
for policies in rounds(RANK_TASK, arbitrary, seed=3, count=3, samples=12):
    print("".join(policy.source for policy in policies))
"""


@pytest.mark.parametrize("task", TOY_TASKS)
def test_it_is_a_proposer_and_says_what_it_is(task: Task) -> None:
    generator = OfflineEvolve(task)
    assert isinstance(generator, Proposer)
    assert generator.name == "offline/evolve"
    reply = generator.propose(request(0))
    assert (reply.model, reply.finish, reply.dollars) == ("offline/evolve", "stop", 0.0)
    assert reply.tokens_in is None and reply.tokens_out is None
    assert reply.seconds > 0.0
    description, _, rest = reply.text.partition("\n\n")
    assert description.startswith("The offline generator (offline/evolve, not a language model) ")
    assert rest.startswith("```python\n") and rest.endswith("```\n")
    assert "not a language model" in extract_source(reply, task.signature.function)


def test_the_same_request_gets_the_same_text_in_another_process() -> None:
    def run(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", REPLIES, str(Path(__file__).parent)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    here = "".join(
        "".join(policy.source for policy in policies) + "\n"
        for policies in rounds(RANK_TASK, arbitrary, seed=3, count=3, samples=12)
    )
    assert run("1") == run("2") == here


@pytest.mark.parametrize("task", TOY_TASKS)
def test_many_seeds_without_parents_give_valid_policies(task: Task) -> None:
    generator = OfflineEvolve(task)
    prints = {proposed(generator, task, request(0, seed=seed)).fingerprint for seed in range(examples(1000))}
    assert len(prints) >= 0.9 * examples(1000)


@pytest.mark.parametrize("task", TOY_TASKS)
@pytest.mark.parametrize("seeds", [1, slow(10)])
def test_many_proposals_with_parents_are_valid_and_unlike_their_parents(task: Task, seeds: int) -> None:
    generator = OfflineEvolve(task)
    for seed in range(seeds):
        found: list[Parent] = []
        for number in range(40 if seeds == 1 else 100):
            parents = tuple(found[-2:])
            policy = proposed(generator, task, request(number, parents, seed=seed))
            assert policy.fingerprint not in {check(parent.source, task).fingerprint for parent in parents}
            assert policy.plan.features or policy.plan.statistics or policy.plan.queries
            found.append(Parent(number, policy.source, arbitrary(policy)))


@pytest.mark.parametrize("task", few(TOY_TASKS, 1))
def test_at_most_one_policy_in_ten_of_a_round_repeats_another(task: Task) -> None:
    made = [r for seed in range(examples(12) // 4) for r in rounds(task, arbitrary, seed=seed, count=4, samples=20)]
    repeated = sum(len(policies) - len({p.fingerprint for p in policies}) for policies in made)
    assert repeated <= 0.1 * sum(map(len, made))


def test_programs_stay_small_through_fifty_generations() -> None:
    last = rounds(RANK_TASK, arbitrary, seed=5, count=50, samples=4)[-1]
    assert max(policy.plan.operations for policy in last) <= 120


def test_a_parent_with_a_loop_is_edited_where_it_stands() -> None:
    generator = OfflineEvolve(VALUE_TASK)
    parents = (Parent(0, LOOPING, 1.0),)
    policies = [proposed(generator, VALUE_TASK, request(i, parents)) for i in range(60)]
    kept = [policy for policy in policies if "for i in range(20):" in policy.source]
    assert len(kept) >= 40
    assert all("def grown(x, rate):" in policy.source and "STEP = " in policy.source for policy in kept)
    assert len({policy.fingerprint for policy in kept}) >= 20


def test_a_parent_that_is_no_policy_is_passed_over_with_a_word_once(caplog: pytest.LogCaptureFixture) -> None:
    generator = OfflineEvolve(RANK_TASK)
    for number in range(3):
        assert proposed(generator, RANK_TASK, request(number, (Parent(7, "while True: pass", 1.0),))).fingerprint
    assert caplog.text.count("candidate 7 cannot be a parent") == 1
