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
from types import CodeType, TracebackType
from typing import Any, Protocol, Self

from vulcan.python_policy.allowed import namespace

WIDTH = 4
"""Numbers in a row: the hook's number, and at most three arguments."""
ROW = struct.Struct(f"<{WIDTH}q")
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


class Loaded:
    """A program's instance, and the function that serves batches with its hooks."""

    def __init__(self, message: bytes) -> None:
        """Run the module and create the instance. Raises whatever the program raises."""
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
        hooks = {name: getattr(instance, name) for name, _, _ in declared if hasattr(instance, name)}
        self.decisions: Callable[[bytes], Sequence[int]]
        if loop is None:
            self.decisions = _one_at_a_time(
                [_call(hooks.get(name), groups, returns) for name, groups, returns in declared]
            )
        else:
            self.decisions = _in_blocks(loop, hooks, declared, given)


def _one_at_a_time(calls: Sequence[Callable[[tuple[int, ...]], int]]) -> Callable[[bytes], Sequence[int]]:
    """Return a function that makes the calls of a batch, and returns the result of the last one."""

    def decisions(batch: bytes) -> Sequence[int]:
        result = 0
        for row in ROW.iter_unpack(batch):
            result = calls[row[0]](row)
        return (result,)

    return decisions


def _in_blocks(
    loop: bytes, hooks: dict[str, Callable[..., Any]], declared: Sequence[Any], given: Sequence[int]
) -> Callable[[bytes], Sequence[int]]:
    """Return a function that serves a batch by the evaluator's own loop, and returns all its decisions."""
    scope: dict[str, Any] = {"__name__": "loop"}
    exec(marshal.loads(loop), scope)
    records = {name: _maker(groups[0]) for name, groups, _ in declared if len(groups) == 1 and groups[0]}
    served = scope["Loop"](hooks, records, given)
    return lambda batch: served.decisions(ROW.iter_unpack(batch), _whole)


def _call(
    method: Callable[..., Any] | None, groups: Sequence[tuple[str, ...] | None], returns: str
) -> Callable[[tuple[int, ...]], int]:
    """Return a function that calls a hook with a row, and returns a number that fits an int64."""
    if method is None:
        return lambda row: 0
    called = _of_one_record(method, groups[0]) if len(groups) == 1 and groups[0] else _general(method, groups)
    if returns == "nothing":

        def told(row: tuple[int, ...]) -> int:
            called(row)
            return 0

        return told
    if returns == "bool":
        return lambda row: 1 if called(row) else 0
    return lambda row: _whole(called(row))


def _of_one_record(method: Callable[..., Any], fields: Sequence[str]) -> Callable[[tuple[int, ...]], Any]:
    make = _maker(fields)
    return lambda row: method(make(row))


def _maker(fields: Sequence[str]) -> Callable[[tuple[int, ...]], Any]:
    """Return a function that makes a record of a row, without the hook's number."""
    record, end, new = _record(fields), 1 + len(fields), tuple.__new__
    return lambda row: new(record, row[1:end])


def _general(method: Callable[..., Any], groups: Sequence[tuple[str, ...] | None]) -> Callable[[tuple[int, ...]], Any]:
    records = [None if fields is None else _record(fields) for fields in groups]

    def called(row: tuple[int, ...]) -> Any:
        arguments: list[Any] = []
        index = 1
        for record, fields in zip(records, groups, strict=True):
            if record is None or fields is None:
                arguments.append(row[index])
                index += 1
            else:
                arguments.append(tuple.__new__(record, row[index : index + len(fields)]))
                index += len(fields)
        return method(*arguments)

    return called


def _record(fields: Sequence[str]) -> type[tuple[int, ...]]:
    made: type[tuple[int, ...]] = namedtuple("Record", fields)  # type: ignore[misc]
    return made


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
    loaded: Loaded | None = None
    while (message := channel.receive()) is not None:
        reply = bytes([OK])
        with (caught := _Caught()):
            if loaded is None:
                loaded = Loaded(message)
            else:
                made = loaded.decisions(message)
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
