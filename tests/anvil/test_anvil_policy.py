"""What a policy says of itself: fingerprint, parameters, plan; and that compiling it is repeatable."""

# ruff: noqa: E501 (short programs are shown on one line each)

import pickle

import pytest
from anvil_toy import HEAD, TOY, returning

from vulcan.anvil import Rejected, check

BASE = (
    "A = 0.5\n\n\ndef weigh(x, y):\n    return x * A + y\n\n\n"
    + HEAD
    + "    total = 0\n    for i in range(3):\n        if i > 1:\n            total += weigh(item.whole, i)\n    return total - 2\n"
)

SAME = {
    "a docstring": '"""A policy."""\n' + BASE,
    "remarks": BASE.replace("    total = 0\n", "    # nothing yet\n    total = 0  # zero\n"),
    "blank lines": BASE.replace("\n", "\n\n"),
    "white space": BASE.replace("total - 2", "(total  -  2)"),
    "indentation": BASE.replace("    ", "\t"),
    "a local renamed": BASE.replace("total", "sum_of_all"),
    "a loop's counter renamed": BASE.replace("for i in", "for step in")
    .replace("if i >", "if step >")
    .replace(", i)", ", step)"),
    "a helper renamed": BASE.replace("weigh", "combine"),
    "a helper's arguments renamed": BASE.replace("weigh(x, y)", "weigh(a, b)").replace("x * A + y", "a * A + b"),
    "a parameter renamed": BASE.replace("A", "SHARE"),
    "a parameter written as its number": BASE.replace("A = 0.5\n", "").replace("* A", "* 0.5"),
    "another spelling of a number": BASE.replace("0.5", "5e-1").replace("total = 0", "total = 0.0"),
    "augmented assignment written out": BASE.replace(
        "total += weigh(item.whole, i)", "total = total + weigh(item.whole, i)"
    ),
    "an annotation": BASE.replace("total = 0", "total: float = 0"),
    "pass and a text": BASE.replace("    total = 0\n", "    'a text'\n    pass\n    total = 0\n"),
    "an unused helper and parameter": "B = 3\ndef unused(x):\n    return x\n" + BASE,
    "what follows a return": BASE + "    return 7\n",
}

OTHER = {
    "a constant": BASE.replace("- 2", "- 3"),
    "a parameter's value": BASE.replace("A = 0.5", "A = 0.25"),
    "an operator": BASE.replace("- 2", "+ 2"),
    "a comparison": BASE.replace("i > 1", "i >= 1"),
    "a feature": BASE.replace("item.whole", "item.signed"),
    "the order of operands": BASE.replace("x * A + y", "y + x * A"),
    "a loop's bounds": BASE.replace("range(3)", "range(4)"),
    "another local": BASE.replace("return total - 2", "return i - 2").replace(
        "    total = 0\n", "    total = 0\n    i = 0\n"
    ),
    "a statement more": BASE.replace("    return total", "    total = total + 1\n    return total"),
}


@pytest.mark.parametrize("change", SAME)
def test_a_fingerprint_does_not_see(change):
    assert SAME[change] != BASE
    assert check(SAME[change], TOY).fingerprint == check(BASE, TOY).fingerprint


@pytest.mark.parametrize("change", OTHER)
def test_a_fingerprint_sees(change):
    assert OTHER[change] != BASE
    assert check(OTHER[change], TOY).fingerprint != check(BASE, TOY).fingerprint


def test_a_fingerprint_is_the_same_in_every_process():
    assert check(returning("item.whole + 1"), TOY).fingerprint[:16] == "335433ebe2c89ee9"


def test_operations_count_loops_by_their_trips_and_helpers_where_they_are_called():
    assert check(returning("1"), TOY).plan.operations == 1
    assert check(returning("item.whole + 1"), TOY).plan.operations == 3
    loop = HEAD + "    s = 0\n    for i in range(10):\n        s += 2\n    return s\n"
    assert check(loop, TOY).plan.operations == 1 + 10 * (1 + 2) + 1
    helper = "def f(x):\n    return x + 1\n" + returning("f(1) + f(2)")
    assert check(helper, TOY).plan.operations == 1 + 1 + 2 * (1 + 2)


def test_a_rejection_passes_between_processes():
    with pytest.raises(Rejected) as caught:
        check("", TOY)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.violations == caught.value.violations
    assert str(copy) == str(caught.value)
