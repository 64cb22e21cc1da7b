"""The grammar table of the policy language: accepted constructs with their meanings, rules, limits and warnings.

The parser, checker, interpreter, compiler, exporters, the prompt's language section and the docs read it. Constructs
that are not in this table are rejected. Every entry has an example that runs and one that is rejected, and a test runs
them all; `vulcan.anvil.grammar.examples` turns fragments into programs. Statistics, limits and rules are in their own
files and are imported here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from vulcan.anvil import semantics as total
from vulcan.anvil.grammar.examples import Example, RejectedExample, body, module, no, top
from vulcan.anvil.grammar.limits import (
    LIMITS,
    MAX_CALL_DEPTH,
    MAX_KEPT_OF_ENTITY,
    MAX_KEPT_OF_SYSTEM,
    MAX_LOOP_DEPTH,
    MAX_SOURCE_BYTES,
    MAX_TREE_DEPTH,
    MAX_TREE_NODES,
    Limit,
)
from vulcan.anvil.grammar.tables import RULES, STATISTICS, Rule, Scope, StatisticArgument, StatisticKind

WARNINGS: dict[str, str] = {
    "constant-condition": "compare with a number inside the range, or leave the condition out",
    "no-influence": "use it in the result, or do not read it",
    "constant-result": "let the result depend on what the function is shown",
}
"""The hint of each warning about an accepted program."""


__all__ = [
    "LIMITS", "MAX_CALL_DEPTH", "MAX_KEPT_OF_ENTITY", "MAX_KEPT_OF_SYSTEM", "MAX_LOOP_DEPTH", "MAX_SOURCE_BYTES",
    "MAX_TREE_DEPTH", "MAX_TREE_NODES", "RULES", "STATISTICS", "Limit", "Rule", "Scope", "StatisticArgument",
    "StatisticKind",
]  # fmt: skip
"""Names of the other files of the table."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on numbers. `arguments` is (minimum, maximum); the maximum is None if unlimited."""

    name: str
    syntax: str
    arguments: tuple[int, int | None]
    evaluate: Callable[..., float]
    meaning: str
    example: Example
    counterexample: RejectedExample


def _operation(
    name: str, syntax: str, count: int, evaluate: Callable[..., float], meaning: str, example: tuple[str, float],
    rejected: tuple[str, str], most: int | None = 0,
) -> Operation:  # fmt: skip
    """Make an operation of `count` numbers, or of at least `count` if `most` is None."""
    arguments = (count, count if most == 0 else most)
    return Operation(name, syntax, arguments, evaluate, meaning, Example(*example), no(*rejected))


# fmt: off
BINARY: dict[type[ast.operator], Operation] = {
    ast.Add: _operation("add", "a + b", 2, total.add, "sum; saturates", ("7 + 2", 9.0), ("obj + 2", "argument-use")),
    ast.Sub: _operation("subtract", "a - b", 2, total.subtract, "difference; saturates",
                        ("7 - 2", 5.0), ("7 - past", "argument-use")),
    ast.Mult: _operation("multiply", "a * b", 2, total.multiply, "product; saturates",
                         ("1e300 * 1e300", total.MAX), ("'-' * 20", "constant")),
    ast.Div: _operation("divide", "a / b", 2, total.divide, "quotient; 0 where b is 0",
                        ("7 / 2 + 7 / 0", 3.5), ("7 / None", "constant")),
    ast.FloorDiv: _operation("floor_divide", "a // b", 2, total.floor_divide, "floor of the quotient; 0 where b is 0",
                             ("-7 // 2", -4.0), ("7 // [2]", "expression")),
    ast.Mod: _operation("modulo", "a % b", 2, total.modulo, "remainder with the sign of b; 0 where b is 0",
                        ("-7 % 4", 1.0), ("'%d' % 7", "constant")),
    ast.Pow: _operation("power", "a ** b", 2, total.power,
                        "power; saturates; 0 for 0 to a negative power or a negative to a fraction",
                        ("2 ** 0.5 ** 2 + 0 ** -1", 2.0**0.25), ("2 ** pool", "argument-use")),
}

UNARY: dict[type[ast.unaryop], Operation] = {
    ast.USub: _operation("negate", "-a", 1, total.negate, "negative", ("-obj.drift", 2.5), ("-obj", "argument-use")),
    ast.UAdd: _operation("plus", "+a", 1, total.plus, "a itself", ("+obj.drift", -2.5), ("+'7'", "constant")),
    ast.Not: _operation("not", "not a", 1, total.invert, "1 where a is 0, else 0",
                        ("not obj.drift", 0.0), ("not past", "argument-use")),
}

BOOLEAN: dict[type[ast.boolop], Operation] = {
    ast.And: _operation("and", "a and b", 2, total.both, "a where a is 0, else b",
                        ("obj.size and obj.drift", -2.5), ("obj and obj.drift", "argument-use"), most=None),
    ast.Or: _operation("or", "a or b", 2, total.either, "a where a is not 0, else b",
                       ("0 or obj.drift or 1", -2.5), ("obj.drift or 'none'", "constant"), most=None),
}


@dataclass(frozen=True, slots=True)
class ComparisonOperator:
    """A comparison: 1 where it holds, else 0."""

    symbol: str
    example: Example
    counterexample: RejectedExample


COMPARISON_ENTRIES: dict[type[ast.cmpop], ComparisonOperator] = {
    ast.Lt: ComparisonOperator("<", Example("2 < 2", 0.0), no("obj < 2", "argument-use")),
    ast.LtE: ComparisonOperator("<=", Example("1 <= 2 <= 2", 1.0), no("1 <= '2'", "constant")),
    ast.Gt: ComparisonOperator(">", Example("obj.size > 3", 1.0), no("obj.size > None", "constant")),
    ast.GtE: ComparisonOperator(">=", Example("obj.size >= 5", 0.0), no("obj.size >= [5]", "expression")),
    ast.Eq: ComparisonOperator("==", Example("obj.size == 4.0", 1.0), no("obj.size is 4", "operator")),
    ast.NotEq: ComparisonOperator("!=", Example("obj.size != 4", 0.0), no("obj.size not in (4, 5)", "operator")),
}
COMPARISONS: dict[type[ast.cmpop], str] = {kind: entry.symbol for kind, entry in COMPARISON_ENTRIES.items()}

FUNCTIONS: dict[str, Operation] = {
    "min": _operation("min", "min(a, b, ...)", 2, total.minimum, "smallest; the first of equals",
                      ("min(7, 2, 5)", 2.0), ("min(7)", "call"), most=None),
    "max": _operation("max", "max(a, b, ...)", 2, total.maximum, "largest; the first of equals",
                      ("max(7, 2)", 7.0), ("max(7, 2, key=abs)", "call"), most=None),
    "abs": _operation("abs", "abs(a)", 1, abs, "absolute value", ("abs(-7)", 7.0), ("abs(obj)", "argument-use")),
    "round": _operation("round", "round(a)", 1, total.round_half_even, "nearest integer; halves to the even one",
                        ("round(2.5)", 2.0), ("round(2.567, 2)", "call")),
    "int": _operation("trunc", "int(a)", 1, total.truncate, "a without its fraction",
                      ("int(-2.5)", -2.0), ("int('2')", "constant")),
    "float": _operation("plus", "float(a)", 1, total.plus, "a itself",
                        ("float(7)", 7.0), ("float('inf')", "constant")),
    "bool": _operation("truth", "bool(a)", 1, total.truth, "1 where a is not 0, else 0",
                       ("bool(-7)", 1.0), ("bool()", "call")),
    "math.sqrt": _operation("sqrt", "math.sqrt(a)", 1, total.sqrt, "square root; 0 where a is negative",
                            ("math.sqrt(9) + math.sqrt(-9)", 3.0), ("sqrt(9)", "function")),
    "math.exp": _operation("exp", "math.exp(a)", 1, total.exp, "e to the a; saturates",
                           ("math.exp(1000)", total.MAX), ("math.exp()", "call")),
    "math.expm1": _operation("expm1", "math.expm1(a)", 1, total.expm1, "e to the a, less 1; saturates",
                             ("math.expm1(0)", 0.0), ("math.expm1(0, 0)", "call")),
    "math.log": _operation("log", "math.log(a)", 1, total.log, "natural logarithm; 0 where a <= 0",
                           ("math.log(1) + math.log(0)", 0.0), ("math.log(8, 2)", "call")),
    "math.log1p": _operation("log1p", "math.log1p(a)", 1, total.log1p, "log(1 + a); 0 where a <= -1",
                             ("math.log1p(-5)", 0.0), ("math.log1p(x=1)", "call")),
    "math.log2": _operation("log2", "math.log2(a)", 1, total.log2, "logarithm to base 2; 0 where a <= 0",
                            ("math.log2(8)", 3.0), ("math.log2(*now)", "call")),
    "math.log10": _operation("log10", "math.log10(a)", 1, total.log10, "logarithm to base 10; 0 where a <= 0",
                             ("math.log10(1000)", 3.0), ("math.log10", "function")),
    "math.pow": _operation("power", "math.pow(a, b)", 2, total.power, "the same as a ** b",
                           ("math.pow(2, 10)", 1024.0), ("pow(2, 10)", "function")),
    "math.floor": _operation("floor", "math.floor(a)", 1, total.floor, "largest integer not above a",
                             ("math.floor(-2.5)", -3.0), ("math.floor('2')", "constant")),
    "math.ceil": _operation("ceil", "math.ceil(a)", 1, total.ceil, "smallest integer not below a",
                            ("math.ceil(2.1)", 3.0), ("math.ceil(pool)", "argument-use")),
    "math.trunc": _operation("trunc", "math.trunc(a)", 1, total.truncate, "a without its fraction",
                             ("math.trunc(-2.5)", -2.0), ("math.trunc(2, 5)", "call")),
    "math.fabs": _operation("abs", "math.fabs(a)", 1, abs, "absolute value",
                            ("math.fabs(-7)", 7.0), ("math.fabs()", "call")),
    "math.tanh": _operation("tanh", "math.tanh(a)", 1, math.tanh, "hyperbolic tangent",
                            ("math.tanh(99)", 1.0), ("math.sinh(99)", "function")),
    "math.atan": _operation("atan", "math.atan(a)", 1, math.atan, "arc tangent",
                            ("math.atan(1) * 4", math.pi), ("math.atan2(1, 1)", "function")),
    "math.sin": _operation("sin", "math.sin(a)", 1, math.sin, "sine", ("math.sin(0)", 0.0), ("math.sin()", "call")),
    "math.cos": _operation("cos", "math.cos(a)", 1, math.cos, "cosine", ("math.cos(0)", 1.0), ("cos(0)", "function")),
}


RANDOM = "random"
"""Name of the function that draws the run's next random number."""

STATE_FUNCTIONS: dict[str, Operation] = {
    "hash": _operation(
        "hash", "hash(a, k)", 2, total.hash,
        "a whole number from 0 to 2^53 - 1 that is a hash of a; another one for each k",
        ("hash(obj.id, 1) % 16", total.hash(1.0, 1.0) % 16.0), ("hash(obj, 1)", "argument-use"),
    ),
}
"""Functions that only tasks with events offer."""

STATE_MODULE, STATE_IMPORTS = "vulcan.anvil", (RANDOM, *STATE_FUNCTIONS)
"""Where CPython finds these functions, for a policy that is to run as it stands."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: float
    example: Example
    counterexample: RejectedExample


CONSTANT_ENTRIES: dict[str, Constant] = {
    "math.pi": Constant(math.pi, Example("math.pi", math.pi), no("math.tau", "function")),
    "math.e": Constant(math.e, Example("math.e", math.e), no("math.inf", "function")),
}
# fmt: on
CONSTANTS: dict[str, float] = {name: entry.value for name, entry in CONSTANT_ENTRIES.items()}

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for table in (BINARY, UNARY, BOOLEAN, FUNCTIONS, STATE_FUNCTIONS)
    for operation in table.values()
}


@dataclass(frozen=True, slots=True)
class Construct:
    """A query of a history about the current entity, or a kind of statement.

    The meaning of a query is formatted with `count_of` and `age_unit`.
    """

    meaning: str
    example: Example
    counterexample: RejectedExample


# fmt: off
HISTORY_QUERIES: dict[str, Construct] = {
    "contains": Construct("1 where the entity is among those that left most recently, else 0",
                             Example("past.contains(obj.id)", 1.0), no("obj.id in past", "operator")),
    "count": Construct("the {count_of} it had when it left; 0 where it is not remembered",
                          Example("past.count(obj.id)", 12.0), no("past.count(7)", "history")),
    "age": Construct("{age_unit} since it left; 0 where it is not remembered",
                        Example("past.age(obj.id)", 30.0), no("past.age(obj.size)", "history")),
}


STATEMENTS: dict[str, Construct] = {
    "x = a": Construct(
        "assign a local name (also `x: float = a` and `x += a`)",
        body("x = 2\ny: float = x\ny *= 4\nreturn y", 8.0),
        no("x, y = 1, 2\nreturn x", "statement", "statements"),
    ),
    "if a: ... elif b: ... else: ...": Construct(
        "branch on a number not being 0",
        body("if obj.drift > 0:\n    x = 1\nelif obj.drift:\n    x = 2\nelse:\n    x = 3\nreturn x", 2.0),
        no("if obj.drift > 0:\n    x = 1\nreturn x", "unassigned", "statements"),
    ),
    "for i in range(8): ...": Construct(
        "repeat a fixed number of times; the bounds are integer literals",
        body("s = 0\nfor i in range(1, 9, 2):\n    s += i\nreturn s", 16.0),
        no("s = 0\nfor i in range(obj.size):\n    s += i\nreturn s", "loop-bounds", "statements"),
    ),
    "break, continue, pass": Construct(
        "as in Python",
        body("s = 0\nfor i in range(9):\n    if i == 5:\n        break\n    if i % 2:\n        continue\n    s += i\n"
             "    pass\nreturn s", 6.0),
        no("break\nreturn 1", "statement", "statements"),
    ),
    "return a": Construct(
        "every path through a function ends in one",
        body("for i in range(5):\n    if i == 3:\n        return i\nreturn 9", 3.0),
        no("if obj.drift:\n    return 1", "return", "statements"),
    ),
    "def helper(x, y): ...": Construct(
        "a function of numbers, at the top level; no recursion",
        module("def half(x):\n    return x / 2\ndef score(now, obj, pool, past):\n    return half(obj.size)\n", 2.0),
        no("def half(x):\n    return half(x) / 2", "recursion", "top"),
    ),
    "NAME = 0.5": Construct(
        "a parameter: a numeric constant at the top level, which a tuner may change",
        module("WEIGHT = -0.5\ndef score(now, obj, pool, past):\n    return WEIGHT * obj.size\n", -2.0),
        no("WEIGHT = 2 * 3", "parameter", "top"),
    ),
    "import math": Construct(
        "may stand at the top and may be left out: `math` is always there",
        top("import math", 3.0),
        no("import os", "import", "top"),
    ),
    "\"text\"": Construct(
        "a docstring, or a text by itself, has no effect; nor have remarks",
        body("\"\"\"The larger, the better.\"\"\"\nreturn obj.size  # in units", 4.0),
        no("return \"obj.size\"", "constant", "statements"),
    ),
    "a if b else c": Construct(
        "a where b is not 0, else c",
        Example("obj.size if obj.drift < 0 else now", 4.0),
        no("obj.size if obj else now", "argument-use"),
    ),
    "2, 0.5, 1e-3, True, False": Construct(
        "numbers, all of them float64",
        Example("0x10 + 1_000 + 5e-1 + True", 1017.5),
        no("1e999", "constant"),
    ),
    "argument.feature, argument": Construct(
        "read a declared feature, in the function that the task names",
        Example("obj.size + now", 104.0),
        no("obj.weight", "feature"),
    ),
}
# fmt: on

BUILT_IN_NAMES = frozenset({"math", "range", "__debug__", *(name for name in FUNCTIONS if "." not in name)})
