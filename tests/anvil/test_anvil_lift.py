"""Lifting the numbers out of a program changes nothing of what it computes, and what is lifted can be set."""

from dataclasses import replace

import pytest
from anvil_toy import TOY, returning
from anvil_twin import bits
from anvil_two import TWO
from anvil_values import runs
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_trees import accepted, programs

from vulcan.anvil import Policy, check
from vulcan.anvil.rewrite.lift_constants import adjustable, lift, lowered
from vulcan.anvil.unparse import emit_source
from vulcan.registry import find_task
from vulcan.task import Task

CACHE = find_task("cache_eviction").of_policy("sample", ())
CACHE = replace(CACHE, operations=TOY.operations, events=(), whole=None)
TASKS = pytest.mark.parametrize("task", [pytest.param(task, id=task.name) for task in (TOY, TWO, CACHE)])
GENERATED = settings(max_examples=examples(120))


def checked(source: str, task: Task) -> Policy:
    """The policy; a program that the generator wrote too large is not one to test with."""
    policy = accepted(source, task)
    assume(policy is not None)
    return policy


@TASKS
@GENERATED
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_lifted_program_computes_the_same_bits(task: Task, data: st.DataObject, seed: int) -> None:
    policy = checked(data.draw(programs(task)), task)
    lifted = lift(policy.program, task.interface)
    written = checked(emit_source(lifted, task.interface), task)
    assert written.fingerprint == policy.fingerprint
    of_all = [[*map(bits, runs(program, task, seed))] for program in (policy.program, lifted, written.program)]
    assert of_all[0] == of_all[1] == of_all[2]


@TASKS
@GENERATED
@given(data=st.data())
def test_what_is_lifted_can_be_put_back(task: Task, data: st.DataObject) -> None:
    program = checked(data.draw(programs(task)), task).program
    lifted = lift(program, task.interface)
    made = frozenset(dict(lifted.parameters)) - frozenset(dict(program.parameters))
    assert lowered(lifted, made) == program
    assert lift(lifted, task.interface) == lifted


@TASKS
@GENERATED
@given(data=st.data())
def test_values_of_knobs_are_values_of_parameters(task: Task, data: st.DataObject) -> None:
    lifted = lift(checked(data.draw(programs(task)), task).program, task.interface)
    numbers = adjustable(lifted)
    assert numbers.with_values([knob.value for knob in numbers.knobs]) == lifted
    drawn = [data.draw(st.floats(max(k.low, -1e9), min(k.high, 1e9))) for k in numbers.knobs]
    named = {knob.name: value for knob, value in zip(numbers.parameters, drawn, strict=False)}
    kept = [knob.value for _, _, knob in numbers.arguments]
    parameters = tuple((name, named.get(name, value)) for name, value in lifted.parameters)
    assert numbers.with_values([*drawn[: len(named)], *kept]) == replace(lifted, parameters=parameters)
    checked(emit_source(numbers.with_values(drawn), task.interface), task)  # bounds of statistics are kept


@pytest.mark.parametrize(
    ("expression", "lifted", "parameters"),
    [
        ("3 * now + 0.5", "WEIGHT * now + OFFSET", {"WEIGHT": 3.0, "OFFSET": 0.5}),
        ("2 * now - now / 2", "WEIGHT * now - now / SCALE", {"WEIGHT": 2.0, "SCALE": 2.0}),
        ("5 * now + 7 * now", "WEIGHT * now + WEIGHT_2 * now", {"WEIGHT": 5.0, "WEIGHT_2": 7.0}),
        ("item.whole > 1", "item.whole > THRESHOLD", {"THRESHOLD": 1.0}),
        ("0 < item.whole < 9", "0 < item.whole < THRESHOLD", {"THRESHOLD": 9.0}),
        ("now ** 2", "now ** EXPONENT", {"EXPONENT": 2.0}),
        ("1.5 ** now", "BASE ** now", {"BASE": 1.5}),
        ("min(now, 50, 0)", "min(now, LIMIT, 0)", {"LIMIT": 50.0}),
        ("now * -4", "now * -CONSTANT", {"CONSTANT": 4.0}),
        ("7", "CONSTANT", {"CONSTANT": 7.0}),
    ],
)
def test_magnitudes_become_parameters_named_after_what_they_do(
    expression: str, lifted: str, parameters: dict[str, float]
) -> None:
    program = lift(check(returning(expression), TOY).program, TOY.signature)
    assert dict(program.parameters) == parameters
    assert emit_source(program, TOY.signature).endswith(f"    return {lifted}\n")


@pytest.mark.parametrize(
    "expression",
    [
        "1 + now", "1 / now", "max(now, 1)", "0", "1", "now > 0", "item.whole ** 2", "item.signed ** 0.5", "now % 7",
        "now == 3", "item.flag >= 1", "now and 3", "not 3", "now + 1e-9", "max(now, 1e-9)", "now - 1e15",
        "math.pi * now", "world.whole.count(3, 9)", "item.whole.window_avg(4)",
    ],
)  # fmt: skip
def test_structure_stays(expression: str) -> None:
    program = check(returning(expression), TOY).program
    assert lift(program, TOY.signature) == program


def test_loop_bounds_stay_and_names_that_are_taken_are_left_alone() -> None:
    source = (
        "WEIGHT = 0.25\n\n\ndef WEIGHT_2(x):\n    return x * 3\n\n\n"
        "def rate(now, item, world, past):\n    WEIGHT_3 = 5 * WEIGHT\n    for i in range(3):\n"
        "        WEIGHT_3 += WEIGHT_2(i) * 6\n    return WEIGHT_3\n"
    )
    program = lift(check(source, TOY).program, TOY.signature)
    assert dict(program.parameters) == {"WEIGHT": 0.25, "WEIGHT_4": 3.0, "WEIGHT_5": 5.0, "WEIGHT_6": 6.0}
    assert "range(3)" in emit_source(program, TOY.signature)


def test_strides_and_limits_of_indices_stay_and_so_do_limits_at_the_bounds_of_the_result() -> None:
    source = """
class policy:
    seen = [0] * 16
def on_ack(state, window, flow):
    bin = min(math.floor(state.rtt_us / 250), 3)
    policy.seen[4 * bin + min(state.cause, 2)] += 5
def cwnd(state, window):
    return min(max(policy.seen[3 * 4] * 7, 2), 65535)
"""
    task = find_task("congestion_control")
    program = lift(check(source, task).program, task.signature)
    assert dict(program.parameters) == {"SCALE": 250.0, "OFFSET": 5.0, "WEIGHT": 7.0}


def test_shares_of_statistics_are_knobs_within_their_bounds_and_lengths_are_not() -> None:
    source = returning(
        "item.whole.ewma(0.25) + item.whole.ewma(0.25) + item.whole.window_percentile(0.5, 8)"
        " + world.tiny.percentile(0.9) + USED * item.whole.recent(3)",
        "USED = 2\nIDLE = 3\n",
    )
    numbers = adjustable(check(source, TOY).program)
    assert [(k.name, k.value, k.low, k.high) for k in numbers.knobs if k.is_bounded] == [
        ("item.whole.ewma(0.25) alpha", 0.25, 0.001, 0.999),
        ("item.whole.window_percentile(0.5, 8) p", 0.5, 0.0, 1.0),
        ("population item.tiny.percentile(0.9) p", 0.9, 0.0, 1.0),
    ]
    assert [k.name for k in numbers.knobs if not k.is_bounded] == ["USED"]
    changed = emit_source(numbers.with_values([4.0, 0.125, 0.75, 1.0]), TOY.signature)
    assert changed.startswith("USED = 4\nIDLE = 3\n")
    assert changed.endswith(
        "    return item.whole.ewma(0.125) + item.whole.ewma(0.125) + item.whole.window_percentile(0.75, 8)"
        " + world.tiny.percentile(1) + USED * item.whole.recent(3)\n"
    )
    with pytest.raises(ValueError, match="2 values for 4 knobs"):
        numbers.with_values([1.0, 2.0])
