"""The grammar table of the policy language: accepted constructs with their meanings, rules, limits and warnings.

The parser, checker, interpreter, compiler, exporters, the prompt's language section and the docs read it. Constructs
that are not in this table are rejected. Statistics, limits and rules are in their own files and are imported here.
Every entry has an example that runs and one that is rejected, which the language's page shows and a test runs
(`docs/generators/anvil_entries.py`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from vulcan.anvil import semantics as total
from vulcan.anvil.grammar.limits import (
    MAX_CALL_DEPTH,
    MAX_KEPT_OF_ENTITY,
    MAX_KEPT_OF_SYSTEM,
    MAX_LOOP_DEPTH,
    MAX_SOURCE_BYTES,
    MAX_TREE_DEPTH,
    MAX_TREE_NODES,
)
from vulcan.anvil.grammar.tables import RULES, STATISTICS, Rule, Scope, StatisticArgument, StatisticKind

WARNINGS: dict[str, str] = {
    "constant-condition": "compare with a number inside the range, or leave the condition out",
    "no-influence": "use it in the result, or do not read it",
    "constant-result": "let the result depend on what the function is shown",
}
"""The hint of each warning about an accepted program."""


__all__ = [
    "MAX_CALL_DEPTH", "MAX_KEPT_OF_ENTITY", "MAX_KEPT_OF_SYSTEM", "MAX_LOOP_DEPTH", "MAX_SOURCE_BYTES",
    "MAX_TREE_DEPTH", "MAX_TREE_NODES", "RULES", "STATISTICS", "Rule", "Scope", "StatisticArgument",
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


BINARY: dict[type[ast.operator], Operation] = {
    ast.Add: Operation("add", "a + b", (2, 2), total.add, "sum; saturates"),
    ast.Sub: Operation("subtract", "a - b", (2, 2), total.subtract, "difference; saturates"),
    ast.Mult: Operation("multiply", "a * b", (2, 2), total.multiply, "product; saturates"),
    ast.Div: Operation("divide", "a / b", (2, 2), total.divide, "quotient; 0 where b is 0"),
    ast.FloorDiv: Operation(
        "floor_divide", "a // b", (2, 2), total.floor_divide, "floor of the quotient; 0 where b is 0"
    ),
    ast.Mod: Operation("modulo", "a % b", (2, 2), total.modulo, "remainder with the sign of b; 0 where b is 0"),
    ast.Pow: Operation(
        "power",
        "a ** b",
        (2, 2),
        total.power,
        "power; saturates; 0 for 0 to a negative power or a negative to a fraction",
    ),
}

UNARY: dict[type[ast.unaryop], Operation] = {
    ast.USub: Operation("negate", "-a", (1, 1), total.negate, "negative"),
    ast.UAdd: Operation("plus", "+a", (1, 1), total.plus, "a itself"),
    ast.Not: Operation("not", "not a", (1, 1), total.invert, "1 where a is 0, else 0"),
}

BOOLEAN: dict[type[ast.boolop], Operation] = {
    ast.And: Operation("and", "a and b", (2, None), total.both, "a where a is 0, else b"),
    ast.Or: Operation("or", "a or b", (2, None), total.either, "a where a is not 0, else b"),
}


COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
FUNCTIONS: dict[str, Operation] = {
    "min": Operation("min", "min(a, b, ...)", (2, None), total.minimum, "smallest; the first of equals"),
    "max": Operation("max", "max(a, b, ...)", (2, None), total.maximum, "largest; the first of equals"),
    "abs": Operation("abs", "abs(a)", (1, 1), abs, "absolute value"),
    "round": Operation("round", "round(a)", (1, 1), total.round_half_even, "nearest integer; halves to the even one"),
    "int": Operation("trunc", "int(a)", (1, 1), total.truncate, "a without its fraction"),
    "float": Operation("plus", "float(a)", (1, 1), total.plus, "a itself"),
    "bool": Operation("truth", "bool(a)", (1, 1), total.truth, "1 where a is not 0, else 0"),
    "math.sqrt": Operation("sqrt", "math.sqrt(a)", (1, 1), total.sqrt, "square root; 0 where a is negative"),
    "math.exp": Operation("exp", "math.exp(a)", (1, 1), total.exp, "e to the a; saturates"),
    "math.expm1": Operation("expm1", "math.expm1(a)", (1, 1), total.expm1, "e to the a, less 1; saturates"),
    "math.log": Operation("log", "math.log(a)", (1, 1), total.log, "natural logarithm; 0 where a <= 0"),
    "math.log1p": Operation("log1p", "math.log1p(a)", (1, 1), total.log1p, "log(1 + a); 0 where a <= -1"),
    "math.log2": Operation("log2", "math.log2(a)", (1, 1), total.log2, "logarithm to base 2; 0 where a <= 0"),
    "math.log10": Operation("log10", "math.log10(a)", (1, 1), total.log10, "logarithm to base 10; 0 where a <= 0"),
    "math.pow": Operation("power", "math.pow(a, b)", (2, 2), total.power, "the same as a ** b"),
    "math.floor": Operation("floor", "math.floor(a)", (1, 1), total.floor, "largest integer not above a"),
    "math.ceil": Operation("ceil", "math.ceil(a)", (1, 1), total.ceil, "smallest integer not below a"),
    "math.trunc": Operation("trunc", "math.trunc(a)", (1, 1), total.truncate, "a without its fraction"),
    "math.fabs": Operation("abs", "math.fabs(a)", (1, 1), abs, "absolute value"),
    "math.tanh": Operation("tanh", "math.tanh(a)", (1, 1), math.tanh, "hyperbolic tangent"),
    "math.atan": Operation("atan", "math.atan(a)", (1, 1), math.atan, "arc tangent"),
    "math.sin": Operation("sin", "math.sin(a)", (1, 1), math.sin, "sine"),
    "math.cos": Operation("cos", "math.cos(a)", (1, 1), math.cos, "cosine"),
}


RANDOM = "random"
"""Name of the function that draws the run's next random number."""

STATE_FUNCTIONS: dict[str, Operation] = {
    "hash": Operation(
        "hash",
        "hash(a, k)",
        (2, 2),
        total.hash,
        "a whole number from 0 to 2^53 - 1 that is a hash of a; another one for each k",
    ),
}
"""Functions that only tasks with events offer."""

STATE_MODULE, STATE_IMPORTS = "vulcan.anvil", (RANDOM, *STATE_FUNCTIONS)
"""Where CPython finds these functions, for a policy that is to run as it stands."""


CONSTANTS: dict[str, float] = {
    "math.pi": math.pi,
    "math.e": math.e,
}
OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for table in (BINARY, UNARY, BOOLEAN, FUNCTIONS, STATE_FUNCTIONS)
    for operation in table.values()
}


HISTORY_QUERIES: dict[str, str] = {
    "contains": "1 where the entity is among those that left most recently, else 0",
    "count": "the {count_of} it had when it left; 0 where it is not remembered",
    "age": "{age_unit} since it left; 0 where it is not remembered",
}
"""The meaning of each query of a history about the current entity, to be formatted with `count_of` and `age_unit`."""


STATEMENTS: dict[str, str] = {
    "x = a": "assign a local name (also `x: float = a` and `x += a`)",
    "if a: ... elif b: ... else: ...": "branch on a number not being 0",
    "for i in range(8): ...": "repeat a fixed number of times; the bounds are integer literals",
    "break, continue, pass": "as in Python",
    "return a": "every path through a function ends in one",
    "def helper(x, y): ...": "a function of numbers, at the top level; no recursion",
    "NAME = 0.5": "a parameter: a numeric constant at the top level, which a tuner may change",
    "import math": "may stand at the top and may be left out: `math` is always there",
    '"text"': "a docstring, or a text by itself, has no effect; nor have remarks",
    "a if b else c": "a where b is not 0, else c",
    "2, 0.5, 1e-3, True, False": "numbers, all of them float64",
    "argument.feature, argument": "read a declared feature, in the function that the task names",
}
"""The meaning of each kind of statement, or part of one, by its notation."""

BUILT_IN_NAMES = frozenset({"math", "range", "__debug__", *(name for name in FUNCTIONS if "." not in name)})
