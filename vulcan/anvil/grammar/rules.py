"""Reasons to reject a program, each with an example that breaks it and a hint; read as `grammar.RULES`."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil.grammar.examples import HEAD, Example, Frame, RejectedExample, body, framed, module, no, top
from vulcan.anvil.grammar.limits import LIMITS


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to reject a program, with an example that breaks it, an accepted alternative, and a hint."""

    name: str
    violates: RejectedExample
    instead: Example
    hint: str


def _rule(name: str, violates: str, instead: Example, hint: str, frame: Frame = "expression", shown: str = "") -> Rule:
    return Rule(name, no(violates, name, frame, shown), instead, hint)


def _limit(name: str, limit: str, hint: str) -> Rule:
    return Rule(name, LIMITS[limit].counterexample, LIMITS[limit].example, hint)


_CALLS_HELPER = f"def f(x):\n    return x + 1\n{HEAD}    return f(obj.size)\n"
_MODULE: Frame = "module"

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        _limit("too-long", "source", "write a shorter program: 16 KB of source at the most"),
        _limit("too-large", "nodes", "write a smaller program: 1,000 syntax nodes at the most"),
        _limit("too-deep", "nesting", "give parts of the expression names of their own"),
        _rule("syntax", "obj.size +", Example("obj.size + 1"), "write one complete Python module"),
        _rule(
            "no-function", "def other(x):\n    return x\n", module(framed("1", "expression")),
            "define the function that the task names", _MODULE,
        ),
        _rule(
            "arguments", "def score(a):\n    return 1\n", module(framed("now", "expression")),
            "give the function exactly the arguments that the task names", _MODULE,
        ),
        _rule(
            "top-level", "print(1)", top("LIMIT = 1"),
            "at the top level write only parameters (NAME = number), functions and `import math`", "top",
        ),
        _rule(
            "import", "import os", top("import math"), "only `import math` is there; use what the task offers", "top"
        ),
        _rule(
            "decorator", "@cache\ndef f(x):\n    return x", top("def f(x):\n    return x"), "write plain functions",
            "top",
        ),
        _rule(
            "default-argument", "def f(x=1):\n    return x", top("def f(x):\n    return x"),
            "write functions with plain positional arguments", "top",
        ),
        _rule(
            "annotation", "def f(x: list):\n    return 1", top("def f(x: float):\n    return 1"),
            "leave annotations out, or use int, float or bool", "top",
        ),
        _rule("parameter", "A = 2 * 3", top("A = 6"), "a parameter is one number: NAME = 0.5", "top"),
        _rule(
            "statement", "while obj.size > 1:\n    pass\nreturn 1", body("for i in range(8):\n    pass\nreturn 1"),
            "use assignments, if, `for i in range(8)`, break, continue, pass and return", "statements",
        ),
        _rule(
            "expression", "[obj.size, 1][0]", Example("obj.size if now else 1"),
            "use numbers, names, arithmetic, comparisons, and/or/not and `a if b else c`",
        ),
        _rule(
            "operator", "obj.size << 2", Example("obj.size * 4"),
            "use + - * / // % ** and the comparisons < <= > >= == !=",
        ),
        _rule("constant", "'text'", Example("1e9"), "use finite numbers, True and False"),
        _rule(
            "name", "size + 1", body("size = obj.size\nreturn size + 1"),
            "assign a name before using it; functions cannot see each other's names",
        ),
        _rule(
            "unassigned", "if now > 9:\n    x = 1\nreturn x", body("x = 0\nif now > 9:\n    x = 1\nreturn x"),
            "assign the name on every path before using it, say at the start", "statements",
        ),
        _rule(
            "shadowing", "obj = 1\nreturn 1", body("o = 1\nreturn o"), "choose another name: this one is taken",
            "statements",
        ),
        _rule(
            "ascii", "größe = 1\nreturn größe", body("groesse = 1\nreturn groesse"),
            "write names in plain ASCII letters, digits and underscores", "statements",
        ),
        _rule(
            "function", "sum(now, 1)", Example("now + 1"),
            "call only the functions of the language and your own helpers",
        ),
        _rule("call", "min(now)", Example("min(now, 1)"), "give the function the arguments it takes, by position"),
        _rule(
            "recursion", f"def f(x):\n    return f(x)\n{HEAD}    return f(1)\n", module(_CALLS_HELPER),
            "functions may not call themselves, directly or in a circle", _MODULE,
        ),
        _rule(
            "argument-use", f"def f(x):\n    return x + 1\n{HEAD}    return f(obj)\n", module(_CALLS_HELPER),
            "read a feature of it, such as a number to compute with", _MODULE,
        ),
        _rule("feature", "obj.colour", Example("obj.size"), "read only the features that the task declares"),
        _rule(
            "statistic", "obj.size.median()", Example("obj.size.window_percentile(0.5, 9)"),
            "use only the statistics that the task offers, on its features",
        ),
        _rule(
            "statistic-argument", "obj.size.ewma(now)", Example("obj.size.ewma(0.3)"),
            "write the statistic's argument as a number within its bounds",
        ),
        _rule(
            "history", "past.contains(3)", Example("past.contains(obj.id)"),
            "ask the history with the entity's key, and only what it answers",
        ),
        _rule(
            "loop-bounds", "for i in range(now):\n    pass\nreturn 1",
            body("for i in range(10):\n    if i >= now:\n        break\nreturn 1"),
            "write the bounds of range as integer literals, the step not 0", "statements",
        ),
        _limit("loop-depth", "loops", "nest loops at most 3 deep"),
        _rule(
            "loop-else", "for i in range(3):\n    pass\nelse:\n    pass\nreturn 1",
            body("for i in range(3):\n    pass\nreturn 1"), "write the else part after the loop", "statements",
        ),
        _rule(
            "return", "if now:\n    return 1", body("if now:\n    return 1\nreturn 0"),
            "end every path of a function with `return` and a number", "statements",
        ),
        _limit("operations", "operations", "use fewer or shorter loops, and call helpers less often"),
    )
}  # fmt: skip
