"""What an accepted policy is warned of, where, and what it is not warned of."""

# ruff: noqa: E501 (short programs are shown on one line each)

import pickle

import pytest
from anvil_state import STATEFUL
from anvil_toy import HEAD, returning

from vulcan.anvil import check
from vulcan.anvil.grammar import grammar
from vulcan.registry import find_task

TOUCH = "def on_touch(now, item, world, past):\n    "


def warned(source: str, task=STATEFUL) -> list[tuple[str, int, int]]:
    return [(w.rule, w.line, w.column) for w in check(source, task).warnings]


# `«` stands before the place that the one warning of that name is at; it is no part of the program.
WARNED = {
    "constant-condition": [
        HEAD + "    «if item.positive > 0:\n        return 1\n    return now\n", returning("«1 if item.below > 0 else now"),
        returning("now * («item.whole <= 1000)"), returning("«now if item.flag and world.load > 2 else 1"),
        returning("now if item.flag or («world.load > 2) else 1"),
        HEAD + "    «if 0:\n        return 1\n    return now\n", returning("«now if now >= now else 2"),
        HEAD + "    if item.whole > 5:\n        x = «2 if item.whole > 3 else now\n    else:\n        x = 1\n    return x + now\n",
        HEAD + "    x = 3\n    «if x == 3:\n        return now\n    return 1\n",
        "def f(x):\n    return «1 if x > 0 else 2\n" + returning("f(item.positive) + f(item.fixed) + now"),
    ],
    "no-influence": [
        HEAD + "    x = «item.whole\n    x = now\n    return x\n", HEAD + "    if «item.whole > 3:\n        pass\n    return now\n",
        returning("«item.whole * 0 + now"), HEAD + "    x = «item.signed.ewma(0.5)\n    x = 1\n    return x + now\n",
        HEAD + "    x = «past.count(item.id)\n    x = 1\n    return x + now\n", HEAD + "    x = «world.id.contains(3, 9)\n    x = 1\n    return x + now\n",
        "def f(x, y):\n    return x + 0 * y\n" + returning("f(now, «item.whole)"),
        HEAD + "    x = 1\n    for i in range(3):\n        if «item.whole > i:\n            continue\n    return now + x\n".replace("            continue\n", "            pass\n"),
        returning("now if item.positive > 0 else «item.whole"),
    ],
    "constant-result": [
        "«" + returning("1"), "«" + returning("0 * now"), "A = 0\n«" + returning("A * now"), "«" + returning("min(item.positive, 1)"),
        "«" + HEAD + "    for i in range(3):\n        if i == 2:\n            return i\n    return 2\n",
        "«" + HEAD + "    if now > 3:\n        return 7\n    return 7\n", "A = 2\n«" + returning("math.sin(A)"),
    ],
}  # fmt: skip
CASES = [
    pytest.param(name, source, id=f"{name}-{number}")
    for name, all_ in WARNED.items()
    for number, source in enumerate(all_)
]


def test_every_warning_is_tested():
    assert set(WARNED) == set(grammar.WARNINGS)


@pytest.mark.parametrize(("name", "marked"), CASES)
def test_a_warning_stands_at_the_right_place(name, marked):
    before, _, after = marked.partition("«")
    place = (name, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    assert [found for found in warned(before + after) if found[0] == name] == [place]


SILENT = {
    "a parameter that state starts with": "A = 1\nclass policy:\n    n = A\n" + TOUCH + "policy.n += 1\n" + returning("policy.n"),
    "a control that is set, and no decision": "def on_tick(now, world):\n    world.alarm = now\n" + returning("0"),
    "a condition on a parameter": "A = 5\n" + HEAD + "    if A > 3:\n        return now\n    return item.whole\n",
    "a condition in a helper that is not always so": "def f(x):\n    return 1 if x > 3 else 2\n" + returning("f(now) + f(5)"),
    "a condition of a loop's counter": HEAD + "    x = 0\n    for i in range(4):\n        if i == 2:\n            x += now\n    return x\n",
    "a feature that only decides": HEAD + "    x = 1\n    if item.whole > 3:\n        x = 2\n    return x + now\n",
    "a feature that only ends a loop": HEAD + "    x = now\n    for i in range(9):\n        if i > item.whole:\n            break\n        x += 1\n    return x\n",
    "a feature that skips a turn": HEAD + "    x = now\n    for i in range(9):\n        if i > item.whole:\n            continue\n        x += 1\n    return x\n",
    "a feature that returns early": HEAD + "    for i in range(9):\n        if i > item.whole:\n            return 1\n    return 2\n",
    "state that a handler counts in": "class policy:\n    n = 0\n" + TOUCH + "policy.n += 1\n" + returning("now + policy.n"),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_of_this_there_is_no_warning(name):
    assert warned(SILENT[name]) == []


def test_the_policies_shipped_with_cache_eviction_are_warned_of_nothing():
    """But that a queue of FIFO's or CLOCK's decides the same for every object."""
    task = find_task("cache_eviction")
    for source in task.seed_policies().values():
        policy = check(source, task)
        rules = {warning.rule for warning in policy.warnings}
        assert rules <= ({"constant-result"} if policy.mechanism == "queues" else set())
        assert policy.mechanism == "queues" or policy.constant is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (returning("1"), "it is always 1"),
        ("A = 2\n" + returning("A"), "it depends on nothing that the function is shown"),
        ("A = 0\n" + returning("A * now"), "it is always 0 with the parameters as they are"),
        (returning("item.positive > 0"), "it is always 1"),
        (HEAD + "    x = 0.1\n    for i in range(20):\n        x = math.sin(x) + i\n    return x\n", "it depends on nothing that the function is shown"),
        (returning("past.contains(item.id)"), None),
        (returning("item.whole.avg()"), None),
        ("A = 2\n" + returning("A * now"), None),
    ],
)  # fmt: skip
def test_a_policy_says_why_its_result_is_always_the_same(source, reason):
    policy = check(source, STATEFUL)
    assert policy.constant == reason
    assert ("constant-result" in {w.rule for w in policy.warnings}) == (reason is not None)


def test_warnings_are_few_and_pass_between_processes():
    many = HEAD + "    x = now\n" + "".join(f"    x += item.positive > -{i}\n" for i in range(40)) + "    return x\n"
    warnings = check(many, STATEFUL).warnings
    assert len(warnings) == 20
    assert [w.line for w in warnings] == sorted(w.line for w in warnings)
    assert pickle.loads(pickle.dumps(warnings)) == warnings
