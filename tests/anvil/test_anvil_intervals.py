"""Interval analysis is sound: no value that a program can compute lies outside the bounds it was given."""

# ruff: noqa: E501 (short programs are shown on one line each)

import itertools
from random import Random

import pytest
from anvil_toy import TOY, TOY_LAYOUT, returning
from anvil_values import values_for
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_trees import accepted, programs

from vulcan.anvil import Policy, check
from vulcan.anvil.analysis import intervals
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.grammar import grammar
from vulcan.anvil.native.codegen import Writer
from vulcan.anvil.native.llvm_builder import Context

QUICK = settings(max_examples=examples(250))


def context_of(policy: Policy) -> Context:
    return Context(policy.program, policy.plan, TOY.signature, TOY_LAYOUT, "policy")


def bounds_of_result(policy: Policy) -> Interval:
    """The bounds of what the program returns, all its statements followed."""
    context = context_of(policy)
    for function in policy.program.functions:
        writer = Writer(context, function)
        writer.function()
    assert writer.returned is not None
    return writer.returned


def inside(value: float, bounds: Interval) -> bool:
    return bounds.low <= value <= bounds.high and (value.is_integer() or not bounds.whole)


@QUICK
@given(source=programs(TOY), seed=st.integers(0, 2**32))
def test_a_program_s_result_lies_within_its_bounds(source, seed):
    policy = accepted(source, TOY)
    assume(policy is not None)
    bounds = bounds_of_result(policy)
    random = Random(seed)
    reference = policy.reference()
    for _ in range(12):
        values = values_for(TOY.signature, random)
        reference.observe(1.0, values)
        result = reference(values, 1.0)
        assert inside(result, bounds), f"{result!r} outside {bounds} for {values} by\n{source}"


ENDS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 7.0, 1e-320, -1e-300, 1e300, -1e300, 1e16, 2.5, 745.0, 1e154, 2.0**53,
        intervals.MAX, -intervals.MAX)  # fmt: skip


@st.composite
def operand(draw: st.DrawFn) -> tuple[Interval, list[float]]:
    """An interval, and values within it: its ends and what lies between."""
    end = st.one_of(st.sampled_from(ENDS), st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False))
    low, high = sorted((draw(end) + 0.0, draw(end) + 0.0))  # of -0.0 it makes 0.0
    whole = draw(st.booleans()) and abs(low) <= 2**53 and abs(high) <= 2**53
    if whole:
        low, high = round(low) + 0.0, round(high) + 0.0
    inner = draw(st.lists(st.floats(low, high), max_size=3))
    values = [low, high, *(x for x in (0.0, 1.0, -1.0) if low <= x <= high), *inner]
    return Interval(low, high, whole), [x for x in values if not whole or x.is_integer()]


@pytest.mark.parametrize("name", sorted(intervals.OPERATION_BOUNDS))
def test_bounds_of_each_operation_hold_for_all_values_within_its_operands(name):
    operation = grammar.OPERATIONS[name]
    least, _ = operation.arguments

    @settings(max_examples=examples(150))
    @given(st.lists(operand(), min_size=least, max_size=least))
    def hold(operands):
        bounds = intervals.OPERATION_BOUNDS[name](*(interval for interval, _ in operands))
        assert abs(bounds.low) <= intervals.MAX
        assert abs(bounds.high) <= intervals.MAX
        for values in itertools.product(*(values for _, values in operands)):
            result = operation.evaluate(*values)
            assert inside(result, bounds), f"{name}{values} = {result!r} is outside {bounds}"

    hold()


def test_every_operation_of_the_table_has_bounds():
    assert set(intervals.OPERATION_BOUNDS) == set(grammar.OPERATIONS)


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("item.signed", -5.5, 7.25),
        ("item.flag + 1", 1.0, 2.0),
        ("item.whole * item.whole", -1e6, 1e6),
        ("1 / item.positive", 2.0**-40, 1.0),
        ("abs(item.below)", 1.0, 1000.0),
        ("item.whole % 10", 0.0, 9.0),
        ("item.signed > 0", 0.0, 1.0),
        ("min(item.signed, item.flag)", -5.5, 1.0),
    ],
)
def test_bounds_are_as_tight_as_the_ranges_allow(expression, low, high):
    bounds = bounds_of_result(check(returning(expression), TOY))
    assert (bounds.low, bounds.high) == (low, high)
