"""Programs made to be too large, too deep or too slow end in a verdict; the largest that are accepted still compile."""

# ruff: noqa: E501 (short programs are shown on one line each)

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from anvil_toy import HEAD, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from effort import slow

from vulcan.anvil import Rejected, check

VALUES = values_for(TOY.signature, Random(3)) | {"item.id": 1.0}


def chain(levels: int, body: str) -> str:
    """Helpers f0, f1, ... of which each calls the one before; the entry calls the last."""
    helpers = "".join(f"def f{i}(x):\n{body.format(f=f'f{i - 1}', i=i)}\n" for i in range(1, levels))
    return f"def f0(x):\n    return x * 3 + 1\n{helpers}{returning(f'f{levels - 1}(1)')}"


REJECTED = {
    "a megabyte": (returning("1+" * 500_000 + "1"), "too-long"),
    "a million digits": (returning("9" * 1_000_000), "too-long"),
    "digits beyond Python's limit": (returning("9" * 15_000), "syntax"),
    "hexadecimal digits": (returning("0x" + "f" * 15_000), "constant"),
    "20,000 parentheses": (returning("(" * 20_000 + "1" + ")" * 20_000), "too-long"),
    "7,000 parentheses": (returning("(" * 7_000 + "1" + ")" * 7_000), "syntax"),
    "unary minus": (returning("-" * 15_000 + "1"), "too-deep"),
    "unary not": (returning("not " * 3_900 + "1"), "too-deep"),
    "a long sum": (returning("1+" * 7_000 + "1"), "too-deep"),
    "attributes": (returning("now" + ".a" * 7_000), "too-deep"),
    "subscripts": (returning("now" + "[0]" * 5_000), "too-deep"),
    "calls": (returning("now" + "()" * 7_000), "too-deep"),
    "powers": (returning("1" + "**2" * 5_000), "too-deep"),
    "choices": (returning("1 if 1 else " * 1_200 + "1"), "too-deep"),
    "lambdas": (returning("lambda:" * 2_000 + "1"), "too-deep"),
    "an elif chain": (HEAD + "    if now:\n        pass\n" + "    elif now:\n        pass\n" * 600 + "    return 1\n", "too-deep"),
    "100,000 statements": (HEAD + "    x = 1\n" * 100_000 + "    return x\n", "too-long"),
    "alternatives": (returning("1 or " * 3_000 + "1"), "too-large"),
    "200,000 alternatives": (returning("1 or " * 200_000 + "1"), "too-long"),
    "alternatives within one another": (returning("(1 and " * 1_500 + "1" + ")" * 1_500), "too-deep"),
    "a comparison": (returning("1<" * 7_000 + "1"), "too-large"),
    "a comparison of 100,000": (returning("1<" * 100_000 + "1"), "too-long"),
    "functions": ("def f():return 1\n" * 900 + returning("1"), "too-large"),
    "50,000 functions": ("def f(): return 1\n" * 50_000 + returning("1"), "too-long"),
    "parameters": ("A=1\n" * 3_000 + returning("A"), "too-large"),
    "assignments within one another": (returning("(x:=" * 150 + "1" + ")" * 150), "too-deep"),
    "statements": (HEAD + "    x=1\n" * 1_500 + "    return 1\n", "too-large"),
    "indentation": ("\n".join(" " * i + "if 1:" for i in range(150)) + " pass", "syntax"),
    "names assigned at once": ("a=" * 7_000 + "1", "too-large"),
    "decorators": ("@" * 15_000, "syntax"),
    "f-strings": (returning("f'{" * 200), "syntax"),
    "a NUL byte": (returning("1\0"), "syntax"),
    "half a surrogate pair": (returning("'\ud800'"), "syntax"),
    "half a surrogate pair in a name": ("\udfff", "syntax"),
    "nothing": ("", "no-function"),
    "white space": (" \n\t\n", "no-function"),
    "a byte order mark": ("\ufeff", "syntax"),
    "a backslash": ("\\", "syntax"),
    "calls that double": (chain(40, "    return {f}(x) + {f}(x + 1)"), "operations"),
    "calls that repeat loops": (
        chain(25, "    for i in range(-2000000000, 2000000000):\n        x = {f}(x)\n    return x"), "operations",
    ),
    "a long chain of helpers": (chain(120, "    return {f}(x)"), "too-deep"),
    "a circle of helpers": (chain(60, "    return {f}(x)").replace("return x * 3 + 1", "return f59(x)"), "recursion"),
}  # fmt: skip


LARGE = {
    "both branches call": chain(30, "    if x > {i}:\n        y = {f}(x)\n    else:\n        y = {f}(x + 1)\n    return y"),
    "calls that double up to the limit": chain(10, "    return {f}(x) + {f}(x + 1)"),
    "a chain of helpers": chain(45, "    return {f}(x) + 1"),
    "powers and remainders": HEAD
    + "    x = 1\n" + "    x = x ** item.signed // item.whole % x\n" * 68 + "    return x\n",
    "mathematics": HEAD + "    x = now\n" + "    x = math.exp(math.log(x)) + math.sin(x)\n" * 70 + "    return x\n",
    "statistics": HEAD + "    x = 0\n"
    + "".join(f"    x += item.huge.ewma(0.{i:03d})\n    x += world.huge.percentile(0.{i:03d})\n" for i in range(1, 70)) + "    return x\n",
    "choices": returning(" + ".join(f"(item.whole * {i} if item.positive > {i} else {i})" for i in range(70))),
    "branches": HEAD + "    x = 1\n    if now:\n        x = 2\n"
    + "".join(f"    elif item.whole > {i}:\n        x = {i}\n" for i in range(85)) + "    return x\n",
    "loops": HEAD + "    s = 0\n" + "".join(
        f"    for i in range(9):\n        for j in range(9):\n            for k in range({n}):\n                s += i * j / k\n" for n in range(1, 9)
    ) + "    return s\n",
    "a deep expression in helpers": "def f0(x):\n    return x\ndef f1(x):\n    return " + "-" * 90 + "f0(x)\n"
    + HEAD + "    return " + "-" * 90 + "f1(now)\n",
    "unary minus": returning("-" * 96 + "now"),
}  # fmt: skip


LARGE_FOR_WARNINGS = {
    **LARGE,
    "conditions within one another": returning(
        "".join(f"(1 if item.whole > {i} and " for i in range(30)) + "1" + " else 2)" * 30
    ),
    "comparisons within one another": returning("(" * 80 + "now" + " < item.whole)" * 80),
    "conditions of helpers": chain(9, "    return {f}(x + {i}) + {f}(x * 2) if x > {i} else {f}(x - {i})"),
}

BOTH = """
import sys
from anvil_toy import TOY
from test_anvil_bombs import LARGE_FOR_WARNINGS, REJECTED
from vulcan.anvil import Rejected, check
from vulcan.anvil.diagnostics import explain

large = ((name, (source, None)) for name, source in LARGE_FOR_WARNINGS.items())
for name, (source, rule) in [*large, *REJECTED.items()]:
    try:
        findings = check(source, TOY).warnings
        assert rule is None, name
    except Rejected as rejected:
        findings = rejected.violations
        assert rule in {None, *(v.rule for v in findings)}, (name, findings)
    assert all(len(str(v)) < 600 for v in findings), name
    assert len(explain(source, findings)) < 10_000, name
"""


def in_a_process_of_its_own(code, *arguments):
    """What the code prints; it ends after a time that only an endless walk would take."""
    paths = os.pathsep.join((str(Path(__file__).parent), *filter(None, sys.path)))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_bomb_is_rejected_by_its_rule_and_explained_as_every_large_program_is():
    in_a_process_of_its_own(BOTH)


@pytest.mark.parametrize("name", LARGE)
def test_the_largest_programs_accepted_compile_in_bounded_time(name):
    policy = check(LARGE[name], TOY)
    twin = Twin(policy, TOY_LAYOUT)
    twin.observe(1.0, VALUES)
    twin.score(1.0, VALUES)


def test_code_does_not_grow_with_the_ways_through_helpers():
    policy = check(LARGE["both branches call"], TOY)
    assert policy.plan.operations < 300
    assert policy.plan.inlined_size > 2**30


def test_the_bound_on_operations_names_the_loop_that_takes_most():
    source = (
        HEAD
        + "    x = 0\n    for i in range(10):\n        x += i\n    for k in range(100):\n        for j in range(999):\n"
        "            x += j\n    return x\n"
    )
    with pytest.raises(Rejected) as caught:
        check(source, TOY)
    (violation,) = caught.value.violations
    assert (violation.line, violation.column) == (5, 5)
    assert "the loop over 'k'" in violation.message
    assert "299,8" in violation.message


MEASURE = """
import gc, resource, sys
from anvil_toy import TOY, TOY_LAYOUT, returning
from vulcan.anvil import check

def resident():
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()

policy = check(returning("math.exp(item.signed) + item.huge.ewma(0.5) * world.whole.percentile(0.5)"), TOY)
for _ in range(130):
    policy.native(TOY_LAYOUT)
before, times = resident(), int(sys.argv[1])
for _ in range(times):
    policy.native(TOY_LAYOUT)
print((resident() - before) / times)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("times", [320, slow(2_000)])
def test_compiling_again_and_again_keeps_no_memory(times):
    """In a process of its own: one that has freed much would hide what is kept."""
    assert (
        float(in_a_process_of_its_own(MEASURE, str(times))) < 3_000
    )  # bytes a compilation: measured 300 to 900, and 19,000 without renewal


def test_code_stays_valid_while_it_is_held_however_much_is_compiled_after_it():
    twins = [Twin(check(returning(f"item.whole * {i} + math.exp(item.flag)"), TOY), TOY_LAYOUT) for i in range(150)]
    results = [twin.score(1.0, VALUES) for twin in twins]
    assert len(set(results)) == 150
