"""The one table of the policy language: what is accepted, what each thing means, and why the rest is not.

The parser, checker, interpreter, compiler, exporters, the prompt's language section and the docs read it. What
is not in this table is rejected.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from vulcan.anvil import semantics as total

LARGEST_SOURCE = 16 * 1024
LARGEST_TREE = 1_000
DEEPEST_TREE = 100
DEEPEST_LOOPS = 3
DEEPEST_CALLS = 150
"""Levels of statements, expressions and helper calls within one another, helpers counted where they are called."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that turns numbers into a number. `arguments` is (fewest, most); most is None for any number."""

    name: str
    syntax: str
    arguments: tuple[int, int | None]
    evaluate: Callable[..., float]
    meaning: str


def _operation(name: str, syntax: str, count: int, evaluate: Callable[..., float], meaning: str) -> Operation:
    return Operation(name, syntax, (count, count), evaluate, meaning)


BINARY: dict[type[ast.operator], Operation] = {
    ast.Add: _operation("add", "a + b", 2, total.add, "sum; saturates"),
    ast.Sub: _operation("subtract", "a - b", 2, total.subtract, "difference; saturates"),
    ast.Mult: _operation("multiply", "a * b", 2, total.multiply, "product; saturates"),
    ast.Div: _operation("divide", "a / b", 2, total.divide, "quotient; 0 where b is 0"),
    ast.FloorDiv: _operation("floor_divide", "a // b", 2, total.floor_divide, "floor of the quotient; 0 where b is 0"),
    ast.Mod: _operation("modulo", "a % b", 2, total.modulo, "remainder with the sign of b; 0 where b is 0"),
    ast.Pow: _operation(
        "power",
        "a ** b",
        2,
        total.power,
        "power; saturates; 0 for 0 to a negative power or a negative to a fraction",
    ),
}

UNARY: dict[type[ast.unaryop], Operation] = {
    ast.USub: _operation("negate", "-a", 1, total.negate, "negative"),
    ast.UAdd: _operation("plus", "+a", 1, total.plus, "a itself"),
    ast.Not: _operation("not", "not a", 1, total.invert, "1 where a is 0, else 0"),
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
    "abs": _operation("abs", "abs(a)", 1, abs, "absolute value"),
    "round": _operation("round", "round(a)", 1, total.round_half_even, "nearest integer; halves to the even one"),
    "int": _operation("trunc", "int(a)", 1, total.truncate, "a without its fraction"),
    "float": _operation("plus", "float(a)", 1, total.plus, "a itself"),
    "bool": _operation("truth", "bool(a)", 1, total.truth, "1 where a is not 0, else 0"),
    "math.sqrt": _operation("sqrt", "math.sqrt(a)", 1, total.sqrt, "square root; 0 where a is negative"),
    "math.exp": _operation("exp", "math.exp(a)", 1, total.exp, "e to the a; saturates"),
    "math.expm1": _operation("expm1", "math.expm1(a)", 1, total.expm1, "e to the a, less 1; saturates"),
    "math.log": _operation("log", "math.log(a)", 1, total.log, "natural logarithm; 0 where a <= 0"),
    "math.log1p": _operation("log1p", "math.log1p(a)", 1, total.log1p, "log(1 + a); 0 where a <= -1"),
    "math.log2": _operation("log2", "math.log2(a)", 1, total.log2, "logarithm to base 2; 0 where a <= 0"),
    "math.log10": _operation("log10", "math.log10(a)", 1, total.log10, "logarithm to base 10; 0 where a <= 0"),
    "math.pow": _operation("power", "math.pow(a, b)", 2, total.power, "the same as a ** b"),
    "math.floor": _operation("floor", "math.floor(a)", 1, total.floor, "largest integer not above a"),
    "math.ceil": _operation("ceil", "math.ceil(a)", 1, total.ceil, "smallest integer not below a"),
    "math.trunc": _operation("trunc", "math.trunc(a)", 1, total.truncate, "a without its fraction"),
    "math.fabs": _operation("abs", "math.fabs(a)", 1, abs, "absolute value"),
    "math.tanh": _operation("tanh", "math.tanh(a)", 1, math.tanh, "hyperbolic tangent"),
    "math.atan": _operation("atan", "math.atan(a)", 1, math.atan, "arc tangent"),
    "math.sin": _operation("sin", "math.sin(a)", 1, math.sin, "sine"),
    "math.cos": _operation("cos", "math.cos(a)", 1, math.cos, "cosine"),
}

CONSTANTS: dict[str, float] = {"math.pi": math.pi, "math.e": math.e}

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for table in (BINARY, UNARY, BOOLEAN, FUNCTIONS) for operation in table.values()
}


@dataclass(frozen=True, slots=True)
class StatisticKind:
    """A derived statistic: a call on a feature, with literal arguments.

    `scope` says of what: `entity`, each entity's own observations of the feature; `population`, the latest
    observation of every live entity. `argument` is the one argument's name, with its inclusive bounds.
    """

    name: str
    scope: str
    argument: str
    low: float
    high: float
    syntax: str
    meaning: str


STATISTICS: dict[str, StatisticKind] = {
    "ewma": StatisticKind(
        "ewma",
        "entity",
        "alpha",
        0.001,
        1.0,
        "{entity}.{feature}.ewma(alpha)",
        "exponentially weighted moving average of the feature over the entity's observations: the first one "
        "starts it, each later one x moves it by alpha * (x - average)",
    ),
    "percentile": StatisticKind(
        "percentile",
        "population",
        "p",
        0.0,
        1.0,
        "{population}.{feature}.percentile(p)",
        "the feature's value that a share p of all live entities does not exceed (nearest rank), rounded "
        "towards zero to the feature's resolution",
    ),
}

HISTORY_QUERIES: dict[str, str] = {
    "contains": "1 where the entity is among those that left most recently, else 0",
    "count": "the {count_of} it had when it left; 0 where it is not remembered",
    "age": "{age_unit} since it left; 0 where it is not remembered",
}

STATEMENTS: dict[str, str] = {
    "x = a": "assign a local name (also `x: float = a` and `x += a`)",
    "if a: ... elif b: ... else: ...": "branch on a number not being 0",
    "for i in range(8): ...": "repeat a fixed number of times; the bounds are integer literals",
    "break, continue, pass": "as in Python",
    "return a": "every path through a function ends in one",
    "def helper(x, y): ...": "a function of numbers, at the top level; no recursion",
    "NAME = 0.5": "a parameter: a numeric constant at the top level, which a tuner may change",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to reject a program: an example of what breaks it, and what to write instead."""

    name: str
    example: str
    hint: str


def _rules(*rules: Rule) -> dict[str, Rule]:
    return {rule.name: rule for rule in rules}


RULES: dict[str, Rule] = _rules(
    Rule("too-long", "a source of more than 16 KB", "write a shorter program: 16 KB of source at the most"),
    Rule("too-large", "more than 1,000 syntax nodes", "write a smaller program: 1,000 syntax nodes at the most"),
    Rule("too-deep", "an expression nested 100 deep", "give parts of the expression names of their own"),
    Rule("syntax", "def priority(:", "write one complete Python module"),
    Rule("no-function", "def other(x): ...", "define the function that the task names"),
    Rule("arguments", "def priority(a): ...", "give the function exactly the arguments that the task names"),
    Rule(
        "top-level",
        "print(1)",
        "at the top level write only parameters (NAME = number), functions and `import math`",
    ),
    Rule("import", "import os", "only `import math` is there; use what the task offers"),
    Rule("decorator", "@cache", "write plain functions"),
    Rule("default-argument", "def f(x=1): ...", "write functions with plain positional arguments"),
    Rule("annotation", "def f(x: list): ...", "leave annotations out, or use int, float or bool"),
    Rule("parameter", "A = 2 * B", "a parameter is one number: NAME = 0.5"),
    Rule(
        "statement",
        "while True: ...",
        "use assignments, if, `for i in range(8)`, break, continue, pass and return",
    ),
    Rule(
        "expression",
        "[1, 2][0]",
        "use numbers, names, arithmetic, comparisons, and/or/not and `a if b else c`",
    ),
    Rule("operator", "a << b", "use + - * / // % ** and the comparisons < <= > >= == !="),
    Rule("constant", "'text'", "use finite numbers, True and False"),
    Rule("name", "unknown_name", "assign a name before using it; functions cannot see each other's names"),
    Rule(
        "unassigned",
        "if c: x = 1\nreturn x",
        "assign the name on every path before using it, say at the start",
    ),
    Rule("shadowing", "obj = 1", "choose another name: this one is taken"),
    Rule("ascii", "taille_éléments = 1", "write names in plain ASCII letters, digits and underscores"),
    Rule("function", "print(1)", "call only the functions of the language and your own helpers"),
    Rule("call", "min(1)", "give the function the arguments it takes, by position"),
    Rule("recursion", "def f(x): return f(x)", "functions may not call themselves, directly or in a circle"),
    Rule("argument-use", "helper(obj)", "read a feature of it, such as a number to compute with"),
    Rule("feature", "obj.colour", "read only the features that the task declares"),
    Rule("statistic", "obj.size.median()", "use only the statistics that the task offers, on its features"),
    Rule(
        "statistic-argument",
        "obj.count.ewma(x)",
        "write the statistic's argument as a number within its bounds",
    ),
    Rule("history", "ghost.contains(3)", "ask the history with the entity's key, and only what it answers"),
    Rule(
        "loop-bounds",
        "for i in range(n): ...",
        "write the bounds of range as integer literals, the step not 0",
    ),
    Rule("loop-depth", "four nested loops", "nest loops at most 3 deep"),
    Rule("loop-else", "for ...: ... else: ...", "write the else part after the loop"),
    Rule("return", "return", "end every path of a function with `return` and a number"),
    Rule("operations", "a loop of 4000 in a loop of 4000", "use fewer or shorter loops, and call helpers less often"),
)

BUILT_IN_NAMES = frozenset({"math", "range", "__debug__", *(name for name in FUNCTIONS if "." not in name)})
