"""Small programs written to catch the prover out: few features, ranges with corners, every operation on every other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from vulcan.task import Feature, Global, Objective, Property, Task, Value

CORNERS = Task(
    name="corners",
    summary="Nothing in particular.",
    signature=Value(
        "answer",
        (
            Global(
                "s",
                "everything",
                (
                    Feature("i", "int", "units", -3.0, 3.0, "a few integers"),
                    Feature("n", "int", "units", 0.0, 4.0, "a few more"),
                    Feature("w", "int", "units", 1.0, 2.0**53, "all exact ones"),
                    Feature("g", "int", "units", -(2.0**60), 2.0**60, "beyond the exact ones"),
                    Feature("x", "float", "units", -2.0, 2.0, "around zero"),
                    Feature("y", "float", "units", 0.0, 1e300, "anything positive"),
                    Feature("z", "float", "units", 0.1, 7.5, "never zero"),
                    Feature("b", "bool", "truth", 0.0, 1.0, "yes or no"),
                ),
            ),
        ),
        "a number",
    ),
    evaluator="nowhere:Nothing",
    objectives=(Objective("only", "number", "the number", lambda metrics, references: metrics["number"]),),
    directory=Path(__file__).parent,
)

NAMES = tuple(name for name, _ in CORNERS.signature.features())
_LITERALS = ("0", "1", "2", "-1", "0.5", "0.1", "3", "1e16", "1e300", "-0.7", "1e-300", "9007199254740993", "1e20")
_UNARY = (
    "abs", "math.floor", "math.ceil", "round", "int", "bool", "-", "math.sqrt", "math.log", "math.exp", "math.log1p",
    "math.expm1", "math.tanh", "math.atan", "math.log2", "math.sin",
)  # fmt: skip
_COMPARE = ("<", "<=", ">", "==", "!=")


def expression(random: Random, depth: int, names: Sequence[str]) -> str:
    if depth == 0 or random.random() < 0.18:
        return random.choice(names) if random.random() < 0.72 else random.choice(_LITERALS)

    def part() -> str:
        return expression(random, depth - 1, names)

    kind = random.random()
    if kind < 0.5:
        return f"({part()} {random.choice(('+', '-', '*', '/', '+', '*', '/', '//', '%'))} {part()})"
    if kind < 0.62:
        return f"{random.choice(('min', 'max'))}({part()}, {part()})"
    if kind < 0.75:
        return f"({part()} if {part()} {random.choice(_COMPARE)} {part()} else {part()})"
    if kind < 0.88:
        return f"{random.choice(_UNARY)}({part()})"
    if kind < 0.95:
        return f"({part()} ** {random.choice(('2', '0.5', '3', '-1', '0.7', '-0.5', part()))})"
    return f"({part()} {random.choice(('and', 'or'))} {part()})"


def small_program(random: Random) -> tuple[str, tuple[str, ...]]:
    """A program, and the features it was allowed."""
    names = tuple(random.sample(NAMES, random.choice((1, 2, 2, 3))))
    lines = ["import math", "def answer(s):"]
    if random.random() < 0.35:
        inner = (*names, "t")
        lines.append(f"    t = {expression(random, 2, names)}")
        lines.append(f"    if {expression(random, 1, inner)} {random.choice(_COMPARE)} {expression(random, 1, inner)}:")
        lines.append(f"        t = {expression(random, 2, inner)}")
        lines.append(f"    return {expression(random, 2, inner)}")
    else:
        lines.append(f"    return {expression(random, random.choice((2, 3)), names)}")
    return "\n".join(lines) + "\n", names


def some_properties(random: Random, names: Sequence[str]) -> list[Property]:
    """One of each kind."""
    subject = random.choice(names)
    when = random.choice((None, None, f"{random.choice(names)} <= {random.choice(names)}", f"{subject} > 0.5"))
    low, high = random.choice((-1e300, -10.0, -2.0, 0.0)), random.choice((0.0, 1.0, 7.5, 50.0, 1e6, 1e300))
    claim = random.choice(
        ("result <= s.z", "result >= s.i", "result < s.w or s.b", "not result == s.n", "result <= max(s.y, s.n)")
    )
    return [
        Property("up", "nondecreasing", "", subject=subject, when=when),
        Property("down", "nonincreasing", "", subject=subject, when=when),
        Property("blind", "independent", "", subject=subject, when=when),
        Property("within", "bounded", "", low=low, high=high, when=when),
        Property("claim", "holds", "", claim=claim, when=when),
    ]
