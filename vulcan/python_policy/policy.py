"""A checked program, and how it is run.

The parent's side of a program that runs: calls go out in batches, and the result of the last one comes back.

Rows of a batch are numbers: which hook, and what it is called with. Only the last call of a batch may ask for a
decision, so that when a program decides nothing that comes afterwards has been told it. Messages to the child:

* the first: marshalled (code, class, [(hook, groups, returns)...], numbers to make the instance with, loop)
* then batches of calls, each a row of `WIDTH` little-endian int64, the hook's number in front

and replies: a byte, OK, and decisions as int64; or another byte, and a text that says what went wrong.

With a `loop`, which is code of the evaluator's, a batch is what that makes of it and has any number of decisions: a
process is asked far less often, and a program that breaks out of its language could see as far ahead as a batch
reaches.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Literal, Protocol, Self

from vulcan.python_policy.parameters import ProgramParameter, with_values
from vulcan.python_policy.runner import ERROR, MAX_TEXT, MEMORY, OK
from vulcan.task import Program, Record, Task

_MAX_SHOWN = 300
_ALL_IS_WELL = bytes([OK])


class ProgramHost(Protocol):
    """A process of the sandbox that runs one program: it replies once to each message, or is ended."""

    def ask(self, message: bytes) -> bytes:
        """Send a message and wait for the reply. Raises what says how the process ended, where it does."""

    def end(self) -> object:
        """Kill it. May be called twice."""


class ProgramFailed(Exception):
    """A program raised an error, decided what cannot be, or answered nonsense: a verdict on it, no fault of Vulcan."""

    def __init__(self, status: Literal["failed", "memory", "crashed"], message: str) -> None:
        super().__init__(message)
        self.status: Literal["failed", "memory", "crashed"] = status
        self.message = message

    def __reduce__(self) -> tuple[type[ProgramFailed], tuple[str, str]]:
        return (ProgramFailed, (self.status, self.message))


def groups_of(interface: Program, hook: str) -> list[tuple[str, ...] | None]:
    """Of each argument of the hook the names of its fields; None for a plain number."""
    return [
        tuple(feature.name for feature in argument.features) if isinstance(argument, Record) else None
        for argument in interface.hook(hook).arguments
    ]


@dataclass(slots=True)
class RunningProgram:
    """A program in its process. A context manager, which ends it."""

    place: ProgramHost
    hooks: Collection[str]
    interface: Program

    @classmethod
    def begin(
        cls,
        place: ProgramHost,
        code: bytes,
        interface: Program,
        hooks: Collection[str],
        given: Sequence[int],
        loop: bytes | None = None,
    ) -> RunningProgram:
        """Raises ProgramFailed where the module or its class cannot be made."""
        declared = [(hook.name, groups_of(interface, hook.name), hook.returns) for hook in interface.hooks]
        running = cls(place, hooks, interface)
        first = marshal.dumps((code, interface.function, declared, [int(number) for number in given], loop))
        try:
            running.tell(first)
        except BaseException:
            running.close()
            raise
        return running

    def tell(self, batch: bytes) -> bytes:
        """Make the calls of a batch. The decisions, as int64: the result of the last call, or with a loop any number.

        Raises ProgramFailed, or what `ProgramHost.ask` raises.
        """
        reply = self.place.ask(batch)
        if not reply.startswith(_ALL_IS_WELL) or len(reply) % 8 != 1:
            raise _failure(reply)
        return reply[1:]

    def close(self) -> None:
        """End the process. May be called twice."""
        self.place.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _failure(reply: bytes) -> ProgramFailed:
    """What a reply that is no answer says; the child may have written anything."""
    kind, text = reply[:1], reply[1:]
    if kind == bytes([MEMORY]) and not text:
        return ProgramFailed("memory", "it ran out of memory")
    if kind == bytes([ERROR]) and len(text) <= MAX_TEXT:
        said = "".join(c if c.isprintable() else "?" for c in text.decode("utf-8", errors="replace"))
        return ProgramFailed("failed", said[:_MAX_SHOWN])
    return ProgramFailed("crashed", "its process sent a malformed reply")


@dataclass(frozen=True)
class ProgramPolicy:
    """A checked policy of a task whose interface is PROGRAM. It has never run: `code` is its translation, marshalled.

    `hooks` are the names of those that it defines. `size` counts the nodes of its syntax tree. What Anvil can say of a
    policy and nobody can of free Python is here too, and empty: a bound of `operations`, `warnings`, a `constant`
    result.
    """

    source: str
    task: Task
    code: bytes = field(repr=False)
    hooks: frozenset[str]
    fingerprint: str
    size: int
    tunable: tuple[ProgramParameter, ...]
    place: Callable[[], ProgramHost] | None = field(default=None, compare=False, repr=False)

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
        """The numeric constants at the top of the source, which a tuner may change."""
        return {parameter.name: parameter.value for parameter in self.tunable}

    def source_with(self, values: Mapping[str, float]) -> str:
        """The source with other parameters.

        Raises KeyError for a name it has not, ValueError for a value that is not a finite number.
        """
        if unknown := values.keys() - self.parameters.keys():
            raise KeyError(", ".join(sorted(unknown)))
        if endless := sorted(name for name, value in values.items() if not math.isfinite(value)):
            raise ValueError(f"parameter {', '.join(endless)}: not a finite number")
        return with_values(self.source, self.tunable, values)

    def within(self, place: Callable[[], ProgramHost]) -> ProgramPolicy:
        """The same, to be run where `place` opens a new process of the sandbox."""
        return replace(self, place=place)

    def start(self, *given: int, loop: bytes | None = None) -> RunningProgram:
        """An instance of the class, made with these numbers, in a process of its own. To be closed after use.

        With a `loop` batches are served by that: marshalled code of a module that has a
        class `Loop`, made with the hooks by name, what makes records of rows by hook, and the numbers.

        Raises ProgramFailed where it cannot be made, and ValueError where there is no place to run it.
        """
        if self.place is None:
            raise ValueError("a program runs in the sandbox only, and this one was given no place there")
        return RunningProgram.begin(self.place(), self.code, self.interface, self.hooks, given, loop)
