"""Limits on a program's size, depth and work, each with a program at the limit and one beyond it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vulcan.anvil.grammar.examples import HEAD, Example, RejectedExample, body, module, no
from vulcan.task import StateLimits, Task

MAX_SOURCE_BYTES = 16 * 1024
MAX_TREE_NODES = 1_000
MAX_TREE_DEPTH = 100
MAX_LOOP_DEPTH = 3
MAX_CALL_DEPTH = 150
"""Nesting levels of statements, expressions and helper calls, helpers counted at each call."""
MAX_OPERATIONS = next(int(field.default) for field in fields(Task) if field.name == "operations")  # type: ignore[arg-type]
"""Operations per call, unless the task sets another limit."""
MAX_KEPT_OF_ENTITY = 64
MAX_KEPT_OF_SYSTEM = 4096
"""Observations that one statistic may look back on, of an entity and of the whole system."""
MAX_REGISTERS, MAX_ELEMENTS, MAX_FIELDS = (getattr(StateLimits(), field.name) for field in fields(StateLimits))
"""State of a policy, unless the task sets lower limits; elements are those of all arrays together."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on programs; `example` is as large as allowed, `counterexample` exceeds it."""

    name: str
    most: int
    meaning: str
    example: Example
    counterexample: RejectedExample


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


LIMITS: dict[str, Limit] = {
    limit.name: limit
    for limit in (
        Limit(
            "source", MAX_SOURCE_BYTES, "bytes of source (16 KB)",
            module(_padded(MAX_SOURCE_BYTES), shown="16,384 bytes"),
            no(_padded(MAX_SOURCE_BYTES + 1), "too-long", "module", "16,385 bytes"),
        ),
        Limit(
            "nodes", MAX_TREE_NODES, "syntax nodes: names, numbers, operators' expressions, statements",
            body(_nodes(MAX_TREE_NODES), shown="330 times `x = 1`, then `return -1`"),
            no(_nodes(MAX_TREE_NODES + 3), "too-large", "statements", "331 times `x = 1`, then `return -1`"),
        ),
        Limit(
            "nesting", MAX_TREE_DEPTH, "levels of syntax nodes within one another",
            Example("-" * 96 + "1", 1.0, shown="`return` and 96 times `-`, then `1`"),
            no("-" * 97 + "1", "too-deep", shown="`return` and 97 times `-`, then `1`"),
        ),
        Limit(
            "calls", MAX_CALL_DEPTH, "levels within one another with the helpers counted where they are called",
            module(_helpers(MAX_CALL_DEPTH), shown="a helper 55 signs deep that calls one 90 signs deep"),
            no(_helpers(MAX_CALL_DEPTH + 1), "too-deep", "module", "one 56 signs deep that calls one 90 signs deep"),
        ),
        Limit(
            "loops", MAX_LOOP_DEPTH, "loops within one another",
            body(_loops(MAX_LOOP_DEPTH), shown="3 loops in one another"),
            no(_loops(MAX_LOOP_DEPTH + 1), "loop-depth", "statements", "4 loops in one another"),
        ),
        Limit(
            "operations", MAX_OPERATIONS, "operations a call, unless the task sets another limit",
            body(_operations(3_332), 5_549_446.0),
            no(_operations(3_333), "operations", "statements"),
        ),
        Limit(
            "kept of an entity", MAX_KEPT_OF_ENTITY, "observations that a statistic of an entity looks back on",
            Example("obj.size.recent(64)", 0.0), no("obj.size.recent(65)", "statistic-argument"),
        ),
        Limit(
            "kept of the system", MAX_KEPT_OF_SYSTEM, "observations that a statistic of the system looks back on",
            Example("now.recent(4096)", 0.0), no("now.recent(4097)", "statistic-argument"),
        ),
    )
}  # fmt: skip
