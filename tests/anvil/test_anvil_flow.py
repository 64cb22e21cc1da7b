"""The analysis behind the warnings is sound: bounds hold, and what has no influence has none, whatever the program."""

from random import Random

from anvil_toy import HEAD, TOY, returning
from anvil_values import value_of, values_for
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_trees import accepted, programs

from vulcan.anvil import Policy, check, ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.analysis.facts import AnalysisResult

DECLARED = dict(TOY.signature.features())


def result_of(policy: Policy) -> AnalysisResult:
    return follow(policy.program, TOY.signature)


def holds(policy: Policy, random: Random) -> None:
    """Run it on random inputs, then again with all that the result does not depend on set to something else."""
    findings = result_of(policy)
    known = findings.results[policy.program.entry.name]
    read = {e.feature for e in known.depends if isinstance(e, ir.Read)}
    asked = {f"{e.history}.{e.query}" for e in known.depends if isinstance(e, ir.Query)}
    observed = {e.feature for e in known.depends if isinstance(e, ir.Statistic)}
    for _ in range(4):
        a, b = policy.reference(), policy.reference()
        for _ in range(3):
            seen = values_for(TOY.signature, random)
            a.observe(1.0, seen)
            b.observe(1.0, changed(seen, observed, random))
        shown = values_for(TOY.signature, random)
        result = a(shown, 1.0)
        assert known.bounds.low <= result <= known.bounds.high, f"{result!r} outside {known.bounds} by\n{policy.source}"
        assert result.is_integer() or not known.bounds.whole
        assert result != 0.0 or known.may_be_zero
        other = b(changed(shown, read | asked, random), 1.0)
        assert other == result, (
            f"{result!r} became {other!r} though only {read | asked | observed} matter in\n{policy.source}"
        )


def changed(values: dict[str, float], kept: set[str], random: Random) -> dict[str, float]:
    """Other values for every feature but those that are kept, and other answers of the history."""
    others = values_for(TOY.signature, random)
    made = {name: values[name] if name in kept else value_of(DECLARED[name], random) for name in DECLARED}
    return made | {name: values[name] if name in kept else others[name] for name in values if name not in DECLARED}


@settings(max_examples=examples(600))
@given(source=programs(TOY), seed=st.integers(0, 2**32))
def test_bounds_and_dependence_hold_for_generated_programs(source, seed):
    policy = accepted(source, TOY)
    assume(policy is not None)
    holds(policy, Random(seed))


def test_the_walk_ends_however_conditions_are_nested():
    nested = "now"
    for i in range(30):
        nested = f"((({nested}) > {i}) and item.whole) < {i}"
        if len(nested) > 700:
            break
    chain = "".join(
        f"def f{i}(x):\n    return f{i - 1}(x + {i}) + f{i - 1}(x * 2) if x > {i} else f{i - 1}(x)\n"
        for i in range(1, 7)
    )
    loops = (
        "".join(f"{'    ' * (d + 1)}for i{d} in range(10):\n" for d in range(3))
        + " " * 16
        + "s = s * 0.5 + (1 if s > 3 else i2)\n"
    )
    for source in (
        returning(nested),
        f"def f0(x):\n    return x\n{chain}{returning('f6(now)')}",
        f"{HEAD}    s = now\n{loops}    return s\n",
    ):
        holds(check(source, TOY), Random(1))
