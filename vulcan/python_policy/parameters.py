"""The numeric constants at the top of a program, which a tuner may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgramParameter:
    """A constant `NAME = number` at the top level.

    Lines count from 1; `start` and `end` delimit the number within its line.
    """

    name: str
    value: float
    whole: bool
    line: int
    start: int
    end: int


def parameters_of(tree: ast.Module) -> tuple[ProgramParameter, ...]:
    """Return the constants that are assigned only once, in source order.

    `tree` is as parsed, from a source in plain ASCII.
    """
    stores = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ] + [name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names]
    return tuple(parameter for parameter in _constants(tree) if stores.count(parameter.name) == 1)


def _constants(tree: ast.Module) -> Iterator[ProgramParameter]:
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if (number := _number(value)) is not None and value.end_lineno == value.lineno:
                whole = isinstance(number, int)
                yield ProgramParameter(
                    name, float(number), whole, value.lineno, value.col_offset, value.end_col_offset or 0
                )


def _number(value: ast.expr) -> int | float | None:
    match value:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number) if abs(number) < 2**53:
            return number
        case ast.UnaryOp(ast.USub(), operand) if (positive := _number(operand)) is not None:
            return -positive
        case _:
            return None


def with_values(source: str, parameters: tuple[ProgramParameter, ...], values: Mapping[str, float]) -> str:
    """Return the source with other numbers; integers are rounded, and stay at least 1 if they were."""
    lines = source.split("\n")
    for parameter in sorted(parameters, key=lambda p: (p.line, p.start), reverse=True):
        if (value := values.get(parameter.name, parameter.value)) != parameter.value:
            line = lines[parameter.line - 1]
            lines[parameter.line - 1] = line[: parameter.start] + _written(value, parameter) + line[parameter.end :]
    return "\n".join(lines)


def _written(value: float, parameter: ProgramParameter) -> str:
    if not parameter.whole:
        return repr(float(value))
    return str(max(round(value), 1) if parameter.value >= 1 else round(value))
