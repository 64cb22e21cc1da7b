"""State of policies: what declares and writes it, and that native code, the reference and plain Python agree on it."""

import ast
from dataclasses import replace
from random import Random

import pytest
from anvil_state import STATEFUL, STATEFUL_LAYOUT
from anvil_toy import FIXED, TOY
from anvil_twin import Twin
from anvil_values import values_for
from effort import examples
from policy_trees import accepted, random_program

from vulcan.anvil import Rejected, check
from vulcan.anvil import semantics as total
from vulcan.anvil.analysis.abstract_interpreter import proved_bounds, state_bounds
from vulcan.task import StateLimits

KEYS = (0.0, 1.0, float(2**32))
EVENTS = [event.function for event in STATEFUL.events]
SCORE = "def rate(now, item, world, past):\n    return {}\n"
TOUCH = "def on_touch(now, item, world, past):\n    {}\n"
TICK = "def on_tick(now, world):\n    {}\n"


def test_state_stays_within_its_bounds() -> None:
    written = Random(3)
    for number in range(examples(200)):
        if (policy := accepted(random_program(STATEFUL, written), STATEFUL)) is None:
            continue
        bounds = state_bounds(policy.program, STATEFUL.interface)
        random, reference = Random(number), policy.reference(number)
        for _ in range(8):
            values = values_for(STATEFUL.interface, random) | {"item.id": 1.0}
            reference.observe(1.0, values)
            reference.handle(random.choice(EVENTS), values, 1.0)
            for variable in policy.plan.variables:
                seen = (
                    [reference._cell(variable.name, 1.0)]
                    if variable.length is None
                    else [reference._element(variable.name, i) for i in range(variable.length)]
                )
                known = bounds[variable.name]
                assert all(known.low <= value <= known.high for value in seen), f"{variable.name}\n{policy.source}"
                assert not known.whole or all(value.is_integer() for value in seen)


PLAIN = """
WEIGHT = 0.5
class policy:
    total = 0.0
    best = WEIGHT
    counts = [0] * 8
class item:
    seen = 1
def least(i):
    return min(policy.counts[i % 8], policy.counts[(i + 3) % 8])
def on_touch(now, item, world, past):
    item.seen += 1
    policy.total = policy.total + item.seen * WEIGHT
    for i in range(3):
        if i == 2:
            return
        policy.counts[(int(now) + i) % 8] += i
    policy.best = 99
def on_tick(now, world):
    policy.best = max(policy.best, now / 7)
def rate(now, item, world, past):
    return policy.total + policy.best * item.seen + least(int(now))
"""


def test_the_same_module_runs_in_plain_python() -> None:
    names: dict[str, object] = {}
    exec(compile(ast.parse(PLAIN), "policy", "exec"), names)
    items = {key: names["item"]() for key in KEYS}  # type: ignore[operator]
    reference, random = check(PLAIN, STATEFUL).reference(), Random(4)
    for step in range(200):
        key, now = random.choice(KEYS), float(random.randrange(1000))
        values = FIXED | {"now": now, "item.id": key}
        if step % 3 == 0:
            names["on_tick"](now, None)  # type: ignore[operator]
            reference.handle("on_tick", values)
        else:
            names["on_touch"](now, items[key], None, None)  # type: ignore[operator]
            reference.handle("on_touch", values, key)
        assert reference(values, key) == names["rate"](now, items[key], None, None)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("index", "wrapped"),
    [
        ("5", 5), ("-3", 5), ("13", 5), ("5.9", 5), ("-2.1", 5), ("1e300 * 0 + 5", 5), ("2.0 ** 60", 0),
        ("-(2.0 ** 70)", 0),
    ],
)  # fmt: skip
def test_an_index_is_rounded_down_and_wrapped(index: str, wrapped: int) -> None:
    """Nothing is written beyond the array either."""
    source = f"class policy:\n    a = [0] * 8\n{TOUCH.format(f'policy.a[{index}] = 7')}"
    twin = Twin(check(source + SCORE.format(f"policy.a[{wrapped}] + policy.a[{index}]"), STATEFUL), STATEFUL_LAYOUT)
    values = FIXED | {"item.id": 0.0}
    twin.observe(0.0, values)
    twin.handle("on_touch", 0.0, values)
    assert twin.score(0.0, values) == 14
    twin.check_memory()


def test_a_control_is_given_to_the_evaluator() -> None:
    source = "class policy:\n    n = 0\n" + TICK.format("world.alarm = now + 5") + SCORE.format("1")
    assert check(source, STATEFUL).reference().handle("on_tick", FIXED | {"now": 3.0}) == {"world.alarm": 8.0}


def test_random_numbers_follow_from_the_seed_alone() -> None:
    source = "class policy:\n    u = 0\n" + TOUCH.format("policy.u = random()") + SCORE.format("policy.u")
    policy = check(source, STATEFUL)

    def drawn(seed: int, decisions: int) -> list[float]:
        reference, found = policy.reference(seed), []
        for _ in range(20):
            reference.handle("on_touch", FIXED, 0.0)
            found += [reference(FIXED, 0.0) for _ in range(decisions)]
        return found[::decisions]

    assert drawn(1, 1) == drawn(1, 3) != drawn(2, 1)
    assert all(0 <= u < 1 for u in drawn(7, 1))


def test_the_random_numbers_are_those_of_splitmix64() -> None:
    """The first numbers of the generator that starts at 1234567, by its authors' program."""
    word, found = 1234567, []
    for _ in range(3):
        found.append(total.mix(word))
        word = total.draw(word)[1]
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize(
    ("source", "rule", "place"),
    [
        ("class policy:\n    n = 1\n" + SCORE.format("policy.m"), "state", 4),
        ("class policy:\n    n = 1\n" + SCORE.format("policy.n[0]"), "state", 4),
        ("class policy:\n    a = [0] * 4\n" + SCORE.format("policy.a"), "state", 4),
        ("class policy:\n    a = [0, 1]\n" + SCORE.format("1"), "state", 2),
        ("class policy:\n    a = [0] * 0\n" + SCORE.format("1"), "state", 2),
        ("class other:\n    n = 1\n" + SCORE.format("1"), "state", 1),
        ("class policy(object):\n    n = 1\n" + SCORE.format("1"), "state", 1),
        ("class policy:\n    def f(self): return 1\n" + SCORE.format("1"), "state", 2),
        ("class policy:\n    n = 1\n    n = 2\n" + SCORE.format("1"), "shadowing", 3),
        ("class item:\n    huge = 1\n" + SCORE.format("1"), "shadowing", 2),
        ("class item:\n    a = [0] * 4\n" + SCORE.format("1"), "state", 2),
        ("class policy:\n    n = 1\n" + SCORE.replace("return {}", "policy.n = 2\n    return 1"), "state-write", 4),
        ("class policy:\n    n = 1\n" + TOUCH.format("return 1") + SCORE.format("1"), "return", 4),
        ("class policy:\n    n = 1\n" + TICK.format("policy.n = world.alarm") + SCORE.format("1"), "feature", 4),
        (TICK.format("world.alarm += 1") + SCORE.format("1"), "feature", 2),
        ("class item:\n    n = 1\n" + TICK.format("item.n = 1") + SCORE.format("1"), "name", 4),
        ("class item:\n    n = 1\ndef f():\n    return item.n\n" + SCORE.format("f()"), "name", 4),
        ("class policy:\n    n = 1\ndef on_tick(now):\n    policy.n = 1\n" + SCORE.format("1"), "arguments", 3),
        ("class policy:\n    n = 1\n" + TICK.format("policy = 1") + SCORE.format("1"), "shadowing", 4),
        (SCORE.format("random()"), "random", 2),
        ("def f():\n    return random()\n" + SCORE.format("f()"), "random", 2),
        (TOUCH.format("on_tick(1, 2)") + SCORE.format("1"), "statement", 2),
        (TOUCH.format("x = on_tick(1, 2)") + SCORE.format("1"), "function", 2),
        ("hits = 0\n" + TICK.format("global hits\n    hits += 1") + SCORE.format("1"), "statement", "`policy.hits`"),
        ("hits = 0\n" + TICK.format("hits = now") + SCORE.format("1"), "shadowing", "`hits` in `class policy:`"),
        (TICK.format("world.load = 1") + SCORE.format("1"), "state", "shown by the task and cannot be set"),
        (TOUCH.format("item.huge = 1") + SCORE.format("1"), "state", "in `class item:` or `class policy:`"),
        (TOUCH.replace("on_touch", "on_touched").format("pass") + SCORE.format("1"), "no-function", "mean 'on_touch'?"),
        (TOUCH.replace("on_touch", "on_start").format("pass") + SCORE.format("1"), "no-function", "'on_start'"),
        ("class state:\n    n = 1\n" + SCORE.format("1"), "state", "`class policy:` and `class item:`"),
    ],
)  # fmt: skip
def test_a_misuse_of_state_is_rejected_by_its_line_or_by_what_to_write(
    source: str, rule: str, place: int | str
) -> None:
    with pytest.raises(Rejected) as rejected:
        check(source, STATEFUL)
    found = rejected.value.violations
    if isinstance(place, int):
        assert [(v.rule, v.line) for v in found] == [(rule, place)], rejected.value
    else:
        assert found[0].rule == rule and place in f"{found[0].message} {found[0].hint}", rejected.value


def test_limits_of_the_task_bound_the_state() -> None:
    tight = replace(STATEFUL, state_limits=StateLimits(registers=1, elements=4, fields=0))
    for declared in (
        "class policy:\n    n = 1\n    m = 2\n",
        "class policy:\n    a = [0] * 5\n",
        "class item:\n    t = 1\n",
    ):
        with pytest.raises(Rejected, match="state-limit"):
            check(declared + SCORE.format("1"), tight)


def test_a_task_without_events_knows_no_state() -> None:
    for source in (
        "class policy:\n    n = 1\n" + SCORE.format("1"),
        SCORE.format("hash(now, 1)"),
        SCORE.format("random()"),
    ):
        with pytest.raises(Rejected):
            check(source, TOY)


def test_the_plan_says_what_state_costs() -> None:
    source = (
        "class policy:\n    n = 1\n    a = [0] * 100\nclass item:\n    t = 0\n"
        + TOUCH.format("item.t = random()\n    policy.a[item.id] = policy.n")
        + SCORE.format("item.t + policy.a[3]")
    )
    plan = check(source, STATEFUL).plan
    assert plan.bytes_per_entity == 8
    assert plan.bytes_of_system(STATEFUL.interface) == 8 * (1 + 100 + 1)
    assert plan.events == (("on_touch", 7),)


def test_what_handlers_do_is_analysed_once_for_all_that_ask() -> None:
    """The linter, both tiers of the compiler, and candidates with the same handlers."""
    before = proved_bounds.cache_info().misses
    handled = "SCALE = 2.0\nclass policy:\n    seen = 0\n" + TICK.format("policy.seen = min(policy.seen, 76) + 1")
    for result in ("policy.seen", "policy.seen + SCALE * item.whole"):
        policy = check(handled + SCORE.format(result), STATEFUL)
        assert policy.constant is None
        assert policy.native(STATEFUL_LAYOUT, hurried=True).score != policy.native(STATEFUL_LAYOUT).score
    assert proved_bounds.cache_info().misses == before + 1
