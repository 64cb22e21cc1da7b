"""Tuning, simplifying and reading replies of a task of two functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anvil_toy import FIXED, NOW, TOY, WORLD

from vulcan.anvil import check
from vulcan.anvil.rewrite.traversal import program_size
from vulcan.models.base import Reply
from vulcan.models.reply_parser import extract_source
from vulcan.searches.reply import parse_reply
from vulcan.searches.simplify import simplify
from vulcan.searches.tuning import tune
from vulcan.task import Value

TASK = replace(TOY, name="toy_leave", others=(Value("leave", (NOW, WORLD), "whether all leave", 0.0, 1.0),))
SHOWN = FIXED | {"now": 9.0, "item.positive": 40.0, "world.drift": 12.0, "world.members": 4.0}

SOURCE = '''
"""What both do."""

WEIGHT = 3
IDLE = 8


def shared(x):
    return x * WEIGHT


def rate(now, item, world, past):
    """The size, mostly."""
    nothing = now * 0
    return shared(item.positive) + nothing


def leave(now, world):
    waste = world.drift + 17
    if world.members > 10000000000:
        return waste
    return shared(world.members) * 0.5
'''


def near(sources: Sequence[str]) -> list[float | None]:
    """How near the two functions come to 200 and 10 in one situation."""
    made = []
    for source in sources:
        reference = check(source, TASK).reference()
        made.append(-abs(reference(SHOWN, 1.0) - 200.0) - abs(reference.ask("leave", SHOWN) - 10.0))
    return made


def test_numbers_of_both_functions_are_tuned_together() -> None:
    """`WEIGHT` is in both; only with the 0.5 of `leave` lifted can both goals be met."""
    tuned = tune(SOURCE, TASK, near, evaluations=300, seed=1).best
    assert tuned is not None
    (before,), (after,) = near([SOURCE]), near([tuned.source])
    assert before == -84.0 and after > -5.0
    weight = check(tuned.source, TASK).parameters["WEIGHT"]
    assert abs(weight - 5.0) < 0.2


def test_each_function_is_made_simpler_and_none_is_lost() -> None:
    (score,) = near([SOURCE])
    made = simplify(SOURCE, TASK, score, near, evaluations=400, tolerance=1e-9)
    policy = check(made[-1], TASK)
    assert [f.name for f in policy.program.entries] == ["leave", "rate"]
    assert program_size(policy.program) < program_size(check(SOURCE, TASK).program) / 2
    (reached,) = near([made[-1]])
    assert reached is not None and score is not None and reached >= score
    assert "nothing" not in made[-1] and "waste" not in made[-1] and "IDLE" not in made[-1]
    assert "What both do." not in made[-1] and '"""The size, mostly."""' in made[-1]


def reply(text: str) -> Reply:
    return Reply(text, "m", "stop", None, None, None, 0.0)


HALF = "def rate(now, item, world, past):\n    return item.positive\n"
WHOLE = HALF + "\n\ndef leave(now, world):\n    return now < 9\n"


def test_of_several_code_blocks_the_one_with_every_function_counts() -> None:
    text = f"```python\n{WHOLE}```\nwhere the first one is\n```python\n{HALF}```\n"
    assert extract_source(reply(text), "rate", others=["leave"]) == WHOLE
    assert extract_source(reply(text), "rate") == HALF
    assert parse_reply(reply(text), TASK).policy is not None


def test_a_reply_without_one_of_the_functions_is_told_which() -> None:
    reading = parse_reply(reply(f"```python\n{HALF}```\n"), TASK)
    assert reading.policy is None and reading.rules == ("no-function",)
    assert "no function `def leave(now, world)`" in reading.feedback
    nothing = parse_reply(reply("```python\nx = 1\n```\n```python\ny = 1\n```\n"), TASK)
    assert "def rate(...) and def leave(...)" in nothing.feedback


def test_a_diff_may_change_one_of_the_functions() -> None:
    change = "```diff\n<<<<<<< SEARCH\n    return now < 9\n=======\n    return now < 7\n>>>>>>> REPLACE\n```\n"
    reading = parse_reply(reply(change), TASK, WHOLE)
    assert reading.policy is not None and reading.source == WHOLE.replace("< 9", "< 7")


def test_a_policy_that_decides_nothing_in_any_function_is_not_scored() -> None:
    constant = WHOLE.replace("item.positive", "1").replace("now < 9", "2")
    assert parse_reply(reply(f"```python\n{constant}```"), TASK).rules == ("constant-result",)
    assert parse_reply(reply(f"```python\n{WHOLE.replace('item.positive', '1')}```"), TASK).policy is not None
