"""Checked programs, and the parent's side of running one: batches of calls out, decisions back.

A batch has a row of numbers per call: the hook and its arguments. Only the last call of a batch may ask for a decision,
so that a program knows nothing of what comes after the decision it makes. Messages to the child:

* first: marshalled (code, class, [(hook, groups, returns)...], numbers to create the instance with, loop)
* then batches of calls, each a row of `WIDTH` little-endian int64, the hook's number first

Replies: a byte OK and decisions as int64; or another byte and an error message.

With a `loop`, which is code of the evaluator, the loop defines the meaning of a batch, which may have any number of
decisions. The process is asked far less often, but a program that breaks out of its language could look ahead to the
end of the batch.
"""

from __future__ import annotations

import marshal
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from vulcan.closing import Closing
from vulcan.python_policy.parameters import ProgramParameter, with_values
from vulcan.python_policy.runner import ERROR, MAX_TEXT, MEMORY, OK
from vulcan.task import Program, Record, Task

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


def groups_of(interface: Program, hook: str) -> list[tuple[str, ...] | None]:
    """Return the field names of each argument of the hook; None for a plain number."""
    return [
        tuple(feature.name for feature in argument.features) if isinstance(argument, Record) else None
        for argument in interface.hook(hook).arguments
    ]


@dataclass(slots=True)
class RunningProgram(Closing):
    """A program running in its process: a context manager that ends it on exit."""

    host: ProgramHost
    hooks: Collection[str]
    interface: Program

    @classmethod
    def begin(
        cls,
        host: ProgramHost,
        code: bytes,
        interface: Program,
        hooks: Collection[str],
        given: Sequence[int],
        loop: bytes | None = None,
    ) -> RunningProgram:
        """Start the program. Raises ProgramFailed if the module does not run or its class cannot be instantiated."""
        declared = [(hook.name, groups_of(interface, hook.name), hook.returns) for hook in interface.hooks]
        running = cls(host, hooks, interface)
        first = marshal.dumps((code, interface.function, declared, [int(number) for number in given], loop))
        try:
            running.tell(first)
        except BaseException:
            running.close()
            raise
        return running

    def tell(self, batch: bytes) -> bytes:
        """Make the calls of a batch. Return decisions as int64: that of the last call, or with a loop any number.

        Raises ProgramFailed, or what `ProgramHost.ask` raises.
        """
        reply = self.host.ask(batch)
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

    def start(self, *given: int, loop: bytes | None = None) -> RunningProgram:
        """Start an instance of the class, created with these numbers, in a new process. Close it after use.

        A `loop` serves the batches: marshalled code of a module with a class `Loop`, which is created with the hooks by
        name, the functions that make records of rows by hook, and the numbers.

        Raises ProgramFailed if the instance cannot be created, and ValueError if the policy has no process to run in.
        """
        if self.host is None:
            raise ValueError("a program runs in the sandbox only, and this one was given no place there")
        return RunningProgram.begin(self.host(), self.code, self.interface, self.hooks, given, loop)
