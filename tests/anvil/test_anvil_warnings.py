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
    "zero-divisor": [
        returning("«1 / item.whole"), returning("«now // item.flag"), returning("«now % (item.positive - 1)"),
        "A = 0\n" + returning("«now / A + item.whole"), "def f(x):\n    return «1 / x\n" + returning("f(item.positive) + f(item.signed)"),
        HEAD + "    x = now\n    for i in range(3):\n        x += «1 / i\n    return x\n", returning("2 + «1 / item.whole.avg()"),
        returning("«1 / world.positive.percentile(0.5)"), HEAD + "    x = now\n    «x /= item.whole\n    return x\n",
        HEAD + "    if item.whole > 0:\n        x = 1\n    else:\n        x = «1 / item.whole\n    return x + now\n",
        returning("item.whole > 0 or «1 / item.whole > 3"), returning("«1 / past.count(item.id)"),
    ],
    "outside-domain": [
        returning("«math.log(now)"), returning("«math.sqrt(item.signed)"), returning("«math.log1p(item.below)"),
        returning("«item.signed ** 0.5"), returning("«item.flag ** -1"), returning("«math.pow(item.whole, item.signed)"),
        returning("«math.log2(item.tiny)"), returning("now + «math.log10(item.whole)"),
    ],
    "constant-condition": [
        HEAD + "    «if item.positive > 0:\n        return 1\n    return now\n", returning("«1 if item.below > 0 else now"),
        returning("now * («item.whole <= 1000)"), returning("«now if item.flag and world.load > 2 else 1"),
        returning("now if item.flag or («world.load > 2) else 1"),
        HEAD + "    «if 0:\n        return 1\n    return now\n", returning("«now if now >= now else 2"),
        HEAD + "    if item.whole > 5:\n        x = «2 if item.whole > 3 else now\n    else:\n        x = 1\n    return x + now\n",
        HEAD + "    x = 3\n    «if x == 3:\n        return now\n    return 1\n",
        "def f(x):\n    return «1 if x > 0 else 2\n" + returning("f(item.positive) + f(item.fixed) + now"),
    ],
    "unreachable": [
        HEAD + "    if now:\n        return 1\n    else:\n        return 2\n    «x = now\n    return x\n", HEAD + "    return now\n    «return 1\n",
        HEAD + "    x = now\n    for i in range(3):\n        break\n        «x += 1\n    return x\n",
        HEAD + "    x = now\n    «for i in range(0):\n        x += 1\n    return x\n",
        HEAD + "    if item.positive > 0:\n        return now\n    «return 1\n",
    ],
    "no-influence": [
        HEAD + "    x = «item.whole\n    x = now\n    return x\n", HEAD + "    if «item.whole > 3:\n        pass\n    return now\n",
        returning("«item.whole * 0 + now"), HEAD + "    x = «item.signed.ewma(0.5)\n    x = 1\n    return x + now\n",
        HEAD + "    x = «past.count(item.id)\n    x = 1\n    return x + now\n", HEAD + "    x = «world.id.contains(3, 9)\n    x = 1\n    return x + now\n",
        "def f(x, y):\n    return x + 0 * y\n" + returning("f(now, «item.whole)"),
        HEAD + "    x = 1\n    for i in range(3):\n        if «item.whole > i:\n            continue\n    return now + x\n".replace("            continue\n", "            pass\n"),
        returning("now if item.positive > 0 else «item.whole"),
    ],
    "unused-name": [
        "«A = 1\n" + returning("now"), HEAD + "    «x = 1\n    return now\n", "«def f(x):\n    return x\n" + returning("now"),
        "def f(x, «y):\n    return x\n" + returning("f(now, 1)"), HEAD + "    «x = 0\n    x += 1\n    return now\n",
        "def f(x):\n    return x\n«def g(x):\n    return f(x)\n" + returning("f(now)"),
    ],
    "unused-state": [
        "class policy:\n    «n = 1\n" + returning("now + policy.n"),
        "class policy:\n    «n: float = 1\n" + TOUCH + "policy.n = now\n" + returning("now"),
        "class policy:\n    «a = [0] * 4\n" + TOUCH + "policy.a[3] = 1\n" + returning("now"),
        "class item:\n    «tag = 1\n" + returning("item.tag + now"),
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
    "a literal divisor": returning("now / 2"),
    "a divisor that cannot be 0": returning("now / item.positive + 1 / item.below"),
    "a divisor kept away from 0": returning("now / max(1, item.whole) + now / (abs(item.whole) + 1)"),
    "a divisor tested first": HEAD + "    if item.whole != 0:\n        return now / item.whole\n    return 1\n",
    "a divisor tested by and": returning("item.whole > 0 and now / item.whole > 3"),
    "a divisor tested by or": returning("item.whole == 0 or now / item.whole > 3"),
    "a divisor tested in a choice": returning("now / item.whole if item.whole else 1"),
    "a divisor excluded by a return": HEAD + "    if not item.whole:\n        return 1\n    return now / item.whole\n",
    "a difference tested as a comparison": returning("1 / (item.whole - item.below) if item.whole > item.below else now"),
    "a local tested": HEAD + "    x = item.whole * 2\n    if x > 0:\n        return now / x\n    return 1\n",
    "a test that has a name": HEAD + "    known = item.whole > 0\n    if known:\n        return now / item.whole\n    return 1\n",
    "a chain of comparisons": returning("now / item.whole if 0 < item.whole < 9 else 1"),
    "a divisor counted from 1": HEAD + "    x = now\n    for i in range(1, 9):\n        x += 1 / i\n    return x\n",
    "a divisor counted from 0, plus 1": HEAD + "    x = now\n    for i in range(9):\n        x += 1 / (i + 1)\n    return x\n",
    "a divisor that shrinks for some turns": HEAD + "    x = 1\n    for i in range(12):\n        x *= 0.5\n    return now / x\n",
    "a divisor given to a helper": "def f(x, y):\n    return x / y\n" + returning("f(now, item.positive)"),
    "a logarithm from 1 on": returning("math.log(1 + now) + math.log(item.positive)"),
    "a logarithm tested first": returning("math.log(now) if now > 0 else 1"),
    "a square root of a square": returning("math.sqrt(item.whole ** 2 + item.signed * item.signed) + now"),
    "a power of something positive": returning("item.positive ** -0.5 + item.whole ** 2"),
    "a condition on a parameter": "A = 5\n" + HEAD + "    if A > 3:\n        return now\n    return item.whole\n",
    "a condition in a helper that is not always so": "def f(x):\n    return 1 if x > 3 else 2\n" + returning("f(now) + f(5)"),
    "a condition of a loop's counter": HEAD + "    x = 0\n    for i in range(4):\n        if i == 2:\n            x += now\n    return x\n",
    "a feature that only decides": HEAD + "    x = 1\n    if item.whole > 3:\n        x = 2\n    return x + now\n",
    "a feature that only ends a loop": HEAD + "    x = now\n    for i in range(9):\n        if i > item.whole:\n            break\n        x += 1\n    return x\n",
    "a feature that skips a turn": HEAD + "    x = now\n    for i in range(9):\n        if i > item.whole:\n            continue\n        x += 1\n    return x\n",
    "a feature that returns early": HEAD + "    for i in range(9):\n        if i > item.whole:\n            return 1\n    return 2\n",
    "a loop's counter": HEAD + "    x = now\n    for i in range(9):\n        x += 1\n    return x\n",
    "a name that says it is not used": HEAD + "    _x = 1\n    return now\n",
    "state that a handler counts in": "class policy:\n    n = 0\n" + TOUCH + "policy.n += 1\n" + returning("now + policy.n"),
    "a divisor that the handlers keep above 0": "class policy:\n    n = 1\n" + TOUCH + "policy.n = max(1, now)\n" + returning("now / policy.n"),
    "a docstring behind the end": HEAD + "    return now\n    'nothing more'\n",
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
    many = HEAD + "    x = 0\n" + "".join(f"    x += now / (item.whole - {i})\n" for i in range(40)) + "    return x\n"
    warnings = check(many, STATEFUL).warnings
    assert len(warnings) == 20
    assert [w.line for w in warnings] == sorted(w.line for w in warnings)
    assert pickle.loads(pickle.dumps(warnings)) == warnings
