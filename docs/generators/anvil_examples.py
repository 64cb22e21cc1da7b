"""Anvil's limits, and examples of these, of rules and of warnings, for the language page and the tests."""

from __future__ import annotations

from anvil_fragments import HEAD, Example, RejectedExample, body, framed, module, no, stateful, top

from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.limits import (
    MAX_CALL_DEPTH,
    MAX_ELEMENTS,
    MAX_LOOP_DEPTH,
    MAX_OPERATIONS,
    MAX_SOURCE_BYTES,
    MAX_TREE_NODES,
)


def _padded(size: int) -> str:
    program = f"{HEAD}    return 1\n# "
    return program + "-" * (size - len(program) - 1) + "\n"


def _nodes(count: int) -> str:
    """Return a body with `count` nodes: the module and the head have 7, `return -1` 3, each assignment 3."""
    return "\n".join(["x = 1"] * ((count - 10) // 3) + ["return -1"])


def _helpers(levels: int) -> str:
    """Return a program whose deepest call is nested `levels` deep: 92 in the first helper, 3 around the two calls."""
    inner = f"def inner(x):\n    return {'-' * 90}x\n"
    return f"{inner}def outer(x):\n    return {'-' * (levels - 95)}inner(x)\n{HEAD}    return outer(1)\n"


def _loops(depth: int) -> str:
    heads = (f"{'    ' * level}for i{level} in range(2):" for level in range(depth))
    return "\n".join([*heads, "    " * depth + "pass", "return 1"])


def _operations(turns: int) -> str:
    return f"x = 0\nfor i in range({turns}):\n    x += i\nreturn x"


MOST: dict[str, tuple[int, str]] = {
    "source": (grammar.MAX_SOURCE_BYTES, "bytes of source (16 KB)"),
    "nodes": (grammar.MAX_TREE_NODES, "syntax nodes: names, numbers, operators' expressions, statements"),
    "nesting": (grammar.MAX_TREE_DEPTH, "levels of syntax nodes within one another"),
    "calls": (
        grammar.MAX_CALL_DEPTH,
        "levels within one another with the helpers counted where they are called",
    ),
    "loops": (grammar.MAX_LOOP_DEPTH, "loops within one another"),
    "operations": (MAX_OPERATIONS, "operations a call, unless the task sets another limit"),
    "kept of an entity": (grammar.MAX_KEPT_OF_ENTITY, "observations that a statistic of an entity looks back on"),
    "kept of the system": (grammar.MAX_KEPT_OF_SYSTEM, "observations that a statistic of the system looks back on"),
}
"""By limit, the most that there may be, and of what."""

LIMITS: dict[str, tuple[Example, RejectedExample]] = {
    "source": (
        module(_padded(MAX_SOURCE_BYTES), shown="16,384 bytes"),
        no(_padded(MAX_SOURCE_BYTES + 1), "too-long", "module", "16,385 bytes"),
    ),
    "nodes": (
        body(_nodes(MAX_TREE_NODES), shown="330 times `x = 1`, then `return -1`"),
        no(_nodes(MAX_TREE_NODES + 3), "too-large", "statements", "331 times `x = 1`, then `return -1`"),
    ),
    "nesting": (
        Example("-" * 96 + "1", 1.0, shown="`return` and 96 times `-`, then `1`"),
        no("-" * 97 + "1", "too-deep", shown="`return` and 97 times `-`, then `1`"),
    ),
    "calls": (
        module(_helpers(MAX_CALL_DEPTH), shown="a helper 55 signs deep that calls one 90 signs deep"),
        no(_helpers(MAX_CALL_DEPTH + 1), "too-deep", "module", "one 56 signs deep that calls one 90 signs deep"),
    ),
    "loops": (
        body(_loops(MAX_LOOP_DEPTH), shown="3 loops in one another"),
        no(_loops(MAX_LOOP_DEPTH + 1), "loop-depth", "statements", "4 loops in one another"),
    ),
    "operations": (body(_operations(3_332), 5_549_446.0), no(_operations(3_333), "operations", "statements")),
    "kept of an entity": (Example("obj.size.recent(64)", 0.0), no("obj.size.recent(65)", "statistic-argument")),
    "kept of the system": (Example("now.recent(4096)", 0.0), no("now.recent(4097)", "statistic-argument")),
}
"""By limit, a program that is as large as allowed, and one that exceeds it."""

_CALLS_HELPER = f"def f(x):\n    return x + 1\n{HEAD}    return f(obj.size)\n"

RULES: dict[str, tuple[RejectedExample, Example]] = {
    "too-long": (LIMITS["source"][1], LIMITS["source"][0]),
    "too-large": (LIMITS["nodes"][1], LIMITS["nodes"][0]),
    "too-deep": (LIMITS["nesting"][1], LIMITS["nesting"][0]),
    "syntax": (no("obj.size +", "syntax"), Example("obj.size + 1")),
    "no-function": (no("def other(x):\n    return x\n", "no-function", "module"), module(framed("1", "expression"))),
    "arguments": (no("def score(a):\n    return 1\n", "arguments", "module"), module(framed("now", "expression"))),
    "top-level": (no("print(1)", "top-level", "top"), top("LIMIT = 1")),
    "import": (no("import os", "import", "top"), top("import math")),
    "decorator": (no("@cache\ndef f(x):\n    return x", "decorator", "top"), top("def f(x):\n    return x")),
    "default-argument": (no("def f(x=1):\n    return x", "default-argument", "top"), top("def f(x):\n    return x")),
    "annotation": (no("def f(x: list):\n    return 1", "annotation", "top"), top("def f(x: float):\n    return 1")),
    "parameter": (no("A = 2 * 3", "parameter", "top"), top("A = 6")),
    "statement": (
        no("while obj.size > 1:\n    pass\nreturn 1", "statement", "statements"),
        body("for i in range(8):\n    pass\nreturn 1"),
    ),
    "expression": (no("[obj.size, 1][0]", "expression"), Example("obj.size if now else 1")),
    "operator": (no("obj.size << 2", "operator"), Example("obj.size * 4")),
    "constant": (no("'text'", "constant"), Example("1e9")),
    "name": (no("size + 1", "name"), body("size = obj.size\nreturn size + 1")),
    "unassigned": (
        no("if now > 9:\n    x = 1\nreturn x", "unassigned", "statements"),
        body("x = 0\nif now > 9:\n    x = 1\nreturn x"),
    ),
    "shadowing": (no("obj = 1\nreturn 1", "shadowing", "statements"), body("o = 1\nreturn o")),
    "ascii": (no("größe = 1\nreturn größe", "ascii", "statements"), body("groesse = 1\nreturn groesse")),
    "function": (no("sum(now, 1)", "function"), Example("now + 1")),
    "call": (no("min(now)", "call"), Example("min(now, 1)")),
    "recursion": (
        no(f"def f(x):\n    return f(x)\n{HEAD}    return f(1)\n", "recursion", "module"),
        module(_CALLS_HELPER),
    ),
    "argument-use": (
        no(f"def f(x):\n    return x + 1\n{HEAD}    return f(obj)\n", "argument-use", "module"),
        module(_CALLS_HELPER),
    ),
    "feature": (no("obj.colour", "feature"), Example("obj.size")),
    "statistic": (no("obj.size.median()", "statistic"), Example("obj.size.window_percentile(0.5, 9)")),
    "statistic-argument": (no("obj.size.ewma(now)", "statistic-argument"), Example("obj.size.ewma(0.3)")),
    "history": (no("past.contains(3)", "history"), Example("past.contains(obj.id)")),
    "loop-bounds": (
        no("for i in range(now):\n    pass\nreturn 1", "loop-bounds", "statements"),
        body("for i in range(10):\n    if i >= now:\n        break\nreturn 1"),
    ),
    "loop-depth": (LIMITS["loops"][1], LIMITS["loops"][0]),
    "loop-else": (
        no("for i in range(3):\n    pass\nelse:\n    pass\nreturn 1", "loop-else", "statements"),
        body("for i in range(3):\n    pass\nreturn 1"),
    ),
    "return": (no("if now:\n    return 1", "return", "statements"), body("if now:\n    return 1\nreturn 0")),
    "operations": (LIMITS["operations"][1], LIMITS["operations"][0]),
    "state": (no("class policy:\n    best = 2 * 3", "state", "top"), stateful("policy.best", 6.0, "best = 6")),
    "state-write": (
        no(f"class policy:\n    best = 6\n{HEAD}    policy.best = 7\n    return 1\n", "state-write", "module"),
        stateful("policy.best", 7.0, "best = 6", "policy.best = 7"),
    ),
    "random": (no("random()", "random"), stateful("policy.u < 1", 1.0, "u = 0", "policy.u = random()")),
    "state-limit": (
        no(f"class policy:\n    a = [0] * {MAX_ELEMENTS + 1}", "state-limit", "top"),
        stateful("policy.a[5]", 0.0, f"a = [0] * {MAX_ELEMENTS}"),
    ),
}
"""By rule, a program that breaks it, and what to write instead."""

WARNINGS: dict[str, tuple[str, Example, Example]] = {
    "constant-condition": (
        "a condition has the same outcome for every value within the declared ranges",
        Example("2 if obj.size > 0 else 1"),
        Example("2 if obj.size > 8 else 1"),
    ),
    "no-influence": (
        "a feature or statistic is read, but the result is the same whatever it is",
        body("x = obj.size\nx = obj.count\nreturn x"),
        body("x = obj.size\nx += obj.count\nreturn x"),
    ),
    "constant-result": (
        "the result is the same for every input",
        Example("min(0, obj.size)"),
        Example("min(8, obj.size)"),
    ),
}
"""By warning, its meaning, a program that is warned of, and what to write instead."""
