"""Of arbitrary Python the checker accepts only what the grammar table allows, and raises nothing but its own error."""

# ruff: noqa: E501 (short programs and lists are shown on one line each)

import ast
import warnings
from collections import Counter
from random import Random

import pytest
from anvil_allowed import why_not
from anvil_arbitrary import Arbitrary, arbitrary_sources, grammar_of, kinds_of
from anvil_programs import random_program
from anvil_toy import HEAD, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from effort import examples, slow
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vulcan.anvil import Rejected, check
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.grammar import grammar

VALUES = values_for(TOY.signature, Random(1)) | {"item.id": 1.0}
SETTINGS = {
    "deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck), "database": None
}  # fmt: skip


def verdict(source: str, run: bool = False) -> str:
    """The rule that rejects it, or "accepted"; what is accepted holds only what the table allows, and can be run."""
    try:
        policy = check(source, TOY)
    except Rejected as rejected:
        for violation in rejected.violations:
            assert violation.rule in grammar.RULES
            assert violation.hint
            assert violation.line >= 1 <= violation.column
        assert len(explain(source, rejected.violations)) < 20_000
        return rejected.violations[0].rule
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `1 is 1`, which Python doubts
        tree = ast.parse(source)
    assert why_not(tree, TOY.signature) == "", source
    assert policy.warnings is not None
    if run:
        twin = Twin(policy, TOY_LAYOUT)
        twin.observe(1.0, VALUES)
        twin.score(1.0, VALUES)
    return "accepted"


@settings(max_examples=examples(1_000), **SETTINGS)
@given(arbitrary_sources(TOY.signature))
def test_arbitrary_trees(source):
    verdict(source, run=True)


@pytest.mark.parametrize("programs", [200, slow(20_000)])
def test_many_arbitrary_trees(programs):
    """Some are accepted, and many rules reject the others."""
    random = Random(programs)
    verdicts: Counter[str] = Counter()
    for _ in range(programs):
        outcome = verdict(Arbitrary(TOY.signature, random.randrange).source())
        verdicts[outcome] += 1
    assert verdicts["accepted"] > programs * 0.02
    assert verdicts["syntax"] < programs * 0.5
    assert len(verdicts) > 15


def test_the_generator_knows_every_kind_of_node_that_python_has():
    seen: set[str] = set()
    pending = ["stmt", "expr"]
    while pending:
        for kind in kinds_of(pending.pop()):
            if kind.__name__ not in seen:
                seen.add(kind.__name__)
                pending += [of for of, _, _ in grammar_of(kind) if hasattr(ast, of)]
    known = {
        "NamedExpr",
        "JoinedStr",
        "Await",
        "Match",
        "MatchMapping",
        "AsyncFor",
        "Starred",
        "TryStar",
        "Yield",
        "ClassDef",
    }
    assert known <= seen
    assert len(seen) > 90


@settings(max_examples=examples(300), **SETTINGS)
@given(st.binary(max_size=60), st.sampled_from(("utf-8", "latin-1", "utf-16")))
def test_arbitrary_bytes(data, encoding):
    text = data.decode(encoding, errors="surrogateescape" if encoding == "utf-8" else "replace")
    for source in (text, returning(text), f"{HEAD}    x = {text}\n    return x\n"):
        verdict(source, run=True)


WRITTEN = {
    "an assignment within an expression": (returning("(x := 1) + x"), "expression"),
    "a match": (f"{HEAD}    match now:\n        case 1:\n            return 1\n    return 2\n", "statement"),
    "an async function": ("async def f(x):\n    return x\n" + returning("1"), "top-level"),
    "an awaited value": ("async def f(x):\n    return await x\n" + returning("1"), "top-level"),
    "an f-string": (returning("f'{now:>{item.size}}'"), "expression"),
    "a decorator with arguments": ("@f(1)\ndef g(x):\n    return x\n" + returning("g(1)"), "decorator"),
    "a class": ("class A(int):\n    x = 1\n" + returning("1"), "top-level"),
    "a star": (returning("max(*[1, 2])"), "call"),
    "a dictionary": (returning("{1: 2}[1]"), "expression"),
    "a set": (returning("{now}"), "expression"),
    "a slice": (returning("now[1:2]"), "expression"),
    "a generator": (returning("max(i for i in range(3))"), "call"),
    "a lambda": (returning("(lambda x: x)(1)"), "function"),
    "a global name": (f"A = 1\n{HEAD}    global A\n    A = 2\n    return A\n", "statement"),
    "a deletion": (f"{HEAD}    x = 1\n    del x\n    return 1\n", "statement"),
    "an exception": (f"{HEAD}    try:\n        return 1\n    except* ValueError:\n        pass\n    return 2\n", "statement"),
    "a name in other letters": (f"{HEAD}    𝐱 = 1\n    return 𝐱\n", "ascii"),  # which Python reads as x
    "a dunder": (returning("now.__class__.__subclasses__()"), "statistic"),
    "a feature in a helper": ("def f(x):\n    return x + item.whole\n" + returning("f(1)"), "name"),
    "a statistic in a helper": ("def f(x):\n    return x + item.whole.avg()\n" + returning("f(1)"), "name"),
    "a history in a helper": ("def f(x):\n    return past.count(item.id)\n" + returning("f(1)"), "name"),
    "a keyword": (returning("min(now, 1, default=2)"), "call"),
    "the function itself": (returning("rate"), "name"),
    "a shifted number": (returning("1 << 10**9"), "operator"),
    "a power of constants": (returning("9 ** 9 ** 9 ** 9"), None),
    "a product of texts": (returning("'a' * 10**9"), "constant"),
    "a bound that is computed": (f"{HEAD}    for i in range(2 ** 40):\n        pass\n    return 1\n", "loop-bounds"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_python_has_and_the_language_has_not(name):
    source, rule = WRITTEN[name]
    assert verdict(source, run=True) == (rule or "accepted")


@pytest.mark.parametrize("programs", [120, slow(20_000)])
def test_programs_with_one_node_exchanged(programs):
    """Valid programs in which one expression or statement is another, arbitrary one."""
    random = Random(programs)
    accepted = 0
    for number in range(programs):
        tree = ast.parse(random_program(TOY.signature, random))
        other = Arbitrary(TOY.signature, random.randrange)
        _Exchange(random.randrange(sum(1 for _ in ast.walk(tree))), other).visit(tree)
        try:
            source = ast.unparse(ast.fix_missing_locations(tree))
        except (ValueError, AttributeError, TypeError, IndexError):  # no text says this tree
            continue
        accepted += verdict(source, run=number % 10 == 0) == "accepted"
    assert accepted > programs * 0.05


class _Exchange(ast.NodeTransformer):
    """Puts something arbitrary for the expression or statement that comes next once so many nodes were visited."""

    def __init__(self, after: int, other: Arbitrary) -> None:
        self.after = after
        self.other = other
        self.done = False

    def visit(self, node: ast.AST) -> ast.AST:
        self.after -= 1
        if self.after <= 0 and not self.done and isinstance(node, ast.expr | ast.stmt):
            self.done = True
            return self.other.node("expr" if isinstance(node, ast.expr) else "stmt", 3)
        return self.generic_visit(node)
