"""The runner of a program in the child, which calls hooks on the parent's request.

The process is locked down before this runs, and has imported nothing of Vulcan but this module and `allowed`. A program
that breaks out of its language may change anything here, so the parent trusts none of it, and checks each decision
against its own state. The messages are documented in `vulcan.python_policy.policy`.
"""

from __future__ import annotations

import gc
import marshal
import struct
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType, TracebackType
from typing import Any, Protocol, Self

from vulcan.python_policy.allowed import namespace

OK, ERROR, MEMORY = range(3)
MAX_TEXT = 1000
FILE = "<policy>"
"""The file name of a program's code."""
_MAX = 900
_NUMBERS = frozenset({int, float, bool})
_CONTAINERS = frozenset({dict, list, deque, OrderedDict, defaultdict, Counter})


class ProgramChannel(Protocol):
    """Protocol of the child's end of the channel: exactly one reply to each message."""

    def receive(self) -> bytes | None: ...

    def send(self, message: bytes) -> None: ...


class ProgramInstance:
    """The base of every class of a program: its `repr` has no address, and instances are not hashable.

    Addresses and hashes would differ from run to run, and so would decisions that depend on them.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def make_class(name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
    """Create a class of a program, in place of its metaclass."""
    return type(name, bases or (ProgramInstance,), body)


def write_guard(owner: Any) -> Any:
    """Return the target of a store or deletion. Raises TypeError unless it is the program's own (a module is not)."""
    kind = type(owner)
    if kind in _CONTAINERS or isinstance(owner, ProgramInstance):
        return owner
    raise TypeError(f"a {kind.__name__} cannot be changed")


def divisor(value: Any) -> Any:
    """Return the right side of `%`. Raises TypeError unless it is a number: a text formats objects by their address."""
    if type(value) in _NUMBERS:
        return value
    raise TypeError(f"% takes numbers, not a {type(value).__name__}")


def load(message: bytes) -> Callable[[bytes], Sequence[int]]:
    """Run the program and create its instance; return the function that serves messages with its decisions.

    Raises whatever the program raises.
    """
    code, class_name, declared, given, loop = marshal.loads(message)
    program: CodeType = marshal.loads(code)
    scope: dict[str, Any] = {
        "__builtins__": {**namespace(), "__build_class__": __build_class__},
        "__metaclass__": make_class,
        "__name__": "policy",
        "_write_": write_guard,
        "_divisor_": divisor,
    }
    exec(program, scope)
    instance = scope[class_name](*given)
    hooks = {name: getattr(instance, name) for name in declared if hasattr(instance, name)}
    records = {
        name: partial(tuple.__new__, namedtuple("Record", fields))
        for name, fields in declared.items()
        if fields is not None
    }
    served: dict[str, Any] = {"__name__": "loop"}
    exec(marshal.loads(loop), served)
    decisions = served["Loop"](hooks, records, given).decisions
    return lambda batch: decisions(batch, _whole)


def _whole(answer: object) -> int:
    """Return the answer. Raises TypeError if it is not an int, and OverflowError if it does not fit an int64."""
    if type(answer) is not int:
        raise TypeError(f"it returned {'None' if answer is None else f'a {type(answer).__name__}'}, not a whole number")
    if not -(2**63) <= answer < 2**63:
        raise OverflowError("it returned a number of more than 64 bits")
    return answer


class _Caught:
    """A context manager that captures any error of a block: programs may raise anything, BaseException included."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.error = error
        return True


def run(channel: ProgramChannel) -> None:
    """Serve one program until the parent hangs up."""
    sys.setrecursionlimit(_MAX)
    gc.freeze()  # existing objects are exempt from garbage collection
    decisions: Callable[[bytes], Sequence[int]] | None = None
    while (message := channel.receive()) is not None:
        reply = bytes([OK])
        with (caught := _Caught()):
            if decisions is None:
                decisions = load(message)
            else:
                made = decisions(message)
                reply += struct.pack(f"<{len(made)}q", *made)
        channel.send(reply if caught.error is None else _failure(caught.error))


def _failure(error: BaseException) -> bytes:
    if isinstance(error, MemoryError):
        return bytes([MEMORY])
    with (caught := _Caught()):
        return bytes([ERROR]) + _described(error).encode("utf-8", errors="replace")[:MAX_TEXT]
    return bytes([ERROR]) + type(caught.error).__name__.encode()  # describing the error has itself failed


def _described(error: BaseException) -> str:
    """Describe an error by type, message and line of the program."""
    text = str(error)
    index, traceback = "", error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename == FILE:
            index = f" (line {traceback.tb_lineno}, in {frame.f_code.co_name})"
        traceback = traceback.tb_next
    return f"{type(error).__name__}{': ' + text[:800] if text else ''}{index}"
