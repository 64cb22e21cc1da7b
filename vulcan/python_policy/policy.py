"""Checked programs with their numeric constants, and the parent's side of running one: messages out, decisions back.

The first message is marshalled: (code, class, record fields by hook, numbers to create the instance with, loop). The
`loop` is code of the evaluator, which calls the hooks: it defines the meaning of the messages after. The replies to all
of them are a byte OK and decisions as little-endian int64; or another byte and an error message.

A program that breaks out of its language can look ahead to the end of the message that is being served.
"""

from __future__ import annotations

import ast
import marshal
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from vulcan.closing import Closing
from vulcan.python_policy.runner import ERROR, MAX_TEXT, MEMORY, OK
from vulcan.task import Hook, Program, Record, Task


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


_MAX_SHOWN = 300
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
_ALL_IS_WELL = bytes([OK])


class ProgramHost(Protocol):
    """Protocol of a sandboxed process that runs one program: it replies once to each message, or ends."""

    def ask(self, message: bytes) -> bytes:
        """Send a message and wait for the reply. If the process ends, raises an exception that describes how."""

    def end(self) -> object:
        """Kill the process. May be called twice."""


class ProgramFailed(Exception):
    """A verdict on a program that raised an error, made an invalid decision or sent a malformed reply."""

    def __init__(self, status: Literal["failed", "memory", "crashed"], message: str) -> None:
        super().__init__(message)
        self.status: Literal["failed", "memory", "crashed"] = status
        self.message = message

    def __reduce__(self) -> tuple[type[ProgramFailed], tuple[str, str]]:
        return (ProgramFailed, (self.status, self.message))


@dataclass(slots=True)
class RunningProgram(Closing):
    """A program running in its process: a context manager that ends it on exit."""

    host: ProgramHost

    def tell(self, message: bytes) -> bytes:
        """Return the decisions on a message, as int64. Raises ProgramFailed, or what `ProgramHost.ask` raises."""
        reply = self.host.ask(message)
        if not reply.startswith(_ALL_IS_WELL) or len(reply) % 8 != 1:
            raise _failure(reply)
        return reply[1:]

    def close(self) -> None:
        """End the process. May be called twice."""
        self.host.end()


def _failure(reply: bytes) -> ProgramFailed:
    """Interpret a reply other than OK; the child may have written anything."""
    kind, text = reply[:1], reply[1:]
    if kind == bytes([MEMORY]) and not text:
        return ProgramFailed("memory", "it ran out of memory")
    if kind == bytes([ERROR]) and len(text) <= MAX_TEXT:
        said = "".join(c if c.isprintable() else "?" for c in text.decode("utf-8", errors="replace"))
        said = _ADDRESS.sub("0x...", said)  # it differs from run to run, and the message is recorded
        return ProgramFailed("failed", said[:_MAX_SHOWN])
    return ProgramFailed("crashed", "its process sent a malformed reply")


@dataclass(frozen=True)
class ProgramPolicy:
    """A checked, not yet run policy of a PROGRAM task; `code` is its marshalled translation.

    `hooks` are the names of the hooks that it defines. `size` counts the nodes of its syntax tree. The results of
    Anvil's static analysis, which free Python does not permit, are present and empty: a bound on `operations`,
    `warnings` and a `constant` result.
    """

    source: str
    task: Task
    code: bytes = field(repr=False)
    hooks: frozenset[str]
    fingerprint: str
    size: int
    tunable: tuple[ProgramParameter, ...]
    host: Callable[[], ProgramHost] | None = field(default=None, compare=False, repr=False)

    operations: None = None
    constant: None = None
    warnings: tuple[()] = ()

    @property
    def interface(self) -> Program:
        """The declaration of the class."""
        assert isinstance(self.task.signature, Program)
        return self.task.signature

    @property
    def parameters(self) -> dict[str, float]:
        """The tunable numeric constants at the top of the source, by name."""
        return {parameter.name: parameter.value for parameter in self.tunable}

    def source_with(self, values: Mapping[str, float]) -> str:
        """Return the source with other parameter values.

        Raises KeyError for an unknown name, ValueError for a value that is not a finite number.
        """
        if unknown := values.keys() - self.parameters.keys():
            raise KeyError(", ".join(sorted(unknown)))
        if endless := sorted(name for name, value in values.items() if not math.isfinite(value)):
            raise ValueError(f"parameter {', '.join(endless)}: not a finite number")
        return with_values(self.source, self.tunable, values)

    def hosted_by(self, open_host: Callable[[], ProgramHost]) -> ProgramPolicy:
        """Return the policy, to be run in the sandboxed processes that `host` opens."""
        return replace(self, host=open_host)

    def start(self, loop: bytes, *given: int) -> RunningProgram:
        """Start an instance of the class, created with these numbers, in a new process. Close it after use.

        The `loop` is marshalled code of a module with a class `Loop`, which is created with the hooks by name, the
        functions that make records of rows by hook, and the numbers. Its method `decisions` takes a message, and a
        function that raises for what is no whole number of 64 bits.

        Raises ProgramFailed if the instance cannot be created, and ValueError if the policy has no process to run in.
        """
        if self.host is None:
            raise ValueError("a program runs in the sandbox only, and this one was given no place there")
        declared = {hook.name: _fields(hook) for hook in self.interface.hooks}
        running = RunningProgram(self.host())
        try:
            running.tell(marshal.dumps((self.code, self.interface.function, declared, list(map(int, given)), loop)))
        except BaseException:
            running.close()
            raise
        return running


def _fields(hook: Hook) -> tuple[str, ...] | None:
    """Return the fields of the record that a hook takes; None if it takes anything else."""
    match hook.arguments:
        case (Record(features=features),):
            return tuple(feature.name for feature in features)
    return None
