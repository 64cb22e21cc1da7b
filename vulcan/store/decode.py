"""Decoding and validation of the rows in a run's file, none of which is trusted."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from vulcan.evaluator import SplitName
from vulcan.store.events import EVENTS, CallRecord, Event, InstancesPrepared
from vulcan.task import Json

KEPT_BY_HASH: Mapping[str, tuple[str, ...]] = {"Judged": ("source",), "Controlled": ("source",), "Advised": ("text",)}
"""Event fields that are long texts: the row has the hash under which the text is stored."""


class MalformedRow(Exception):
    """A row of a run's file that Vulcan did not write; the message says what is wrong with it."""


def decode_event(kind: str, data: str, text_of: Callable[[str], str]) -> Event:
    """Decode an event row. Raises MalformedRow, and whatever `text_of` raises for an unknown hash."""
    declared = EVENTS.get(kind)
    if declared is None:
        raise MalformedRow(f"no event is called {str(kind)[:40]!r}")
    try:
        fields = json.loads(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedRow(f"an event {kind} that is not JSON") from error
    if not isinstance(fields, dict):
        raise MalformedRow(f"an event {kind} that is not an object")
    hints = _hints(kind)
    read = {}
    for name, value in fields.items():
        if name not in hints:
            raise MalformedRow(f"an event {kind} with a field {name[:40]!r}")
        if name in KEPT_BY_HASH.get(kind, ()) and isinstance(value, str):
            value = text_of(value)  # noqa: PLW2901
        read[name] = as_declared(value, hints[name], f"{kind}.{name}")
    try:
        event = declared(**read)
    except TypeError as error:
        raise MalformedRow(f"an event {kind} without all of its fields") from error
    if isinstance(event, InstancesPrepared):
        _check_instances(event.instances)
        for rung in event.rungs:
            _check_rung(rung)
    return event


_INSTANCE = {"name": str, "split": SplitName, "parameters": dict[str, Json]}


def _check_instances(instances: Sequence[Any]) -> None:
    for instance in instances:
        _sure(instance, isinstance(instance, dict) and set(instance) == set(_INSTANCE), "an instance")
        for name, value in instance.items():
            as_declared(value, _INSTANCE[name], f"an instance's {name}")


def _check_rung(rung: Mapping[str, Any]) -> None:
    _sure(rung, {"name", "instances", "keep"} <= set(rung) <= {"name", "instances", "keep", "cost"}, "a rung")
    as_declared(rung["name"], str, "a rung's name")
    _sure(rung, isinstance(rung["instances"], list) and len(rung["instances"]) > 0, "a rung's instances")
    _check_instances(rung["instances"])
    for name in ("keep", "cost"):
        share = as_declared(rung.get(name, 1.0), float, f"a rung's {name}")
        _sure(share, 0 < share <= 1, f"a rung's {name}")


@cache
def _hints_of_calls() -> dict[str, Any]:
    return get_type_hints(CallRecord)


def decode_call(row: Sequence[Any], text_of: Callable[[str], str]) -> CallRecord:
    """Decode a call row, whose messages and reply are hashes. Raises MalformedRow, and whatever `text_of` raises."""
    hints = _hints_of_calls()
    _sure(row, len(row) == len(hints), "a call")
    read = dict(zip(hints, row, strict=True))
    for name in ("messages", "reply"):
        _sure(read[name], isinstance(read[name], str), f"the {name} of a call")
    try:
        read["messages"] = json.loads(text_of(read["messages"]))
    except (ValueError, RecursionError) as error:
        raise MalformedRow("messages that are not JSON") from error
    read["reply"] = text_of(read["reply"])
    return decode_recorded_call(read)


def decode_recorded_call(fields: Mapping[str, Any]) -> CallRecord:
    """Decode a call from its JSON fields. Raises MalformedRow."""
    hints = _hints_of_calls()
    _sure(fields, fields.keys() == hints.keys(), "a call")
    return CallRecord(**{name: as_declared(fields[name], hints[name], f"a call's {name}") for name in hints})


@cache
def _hints(kind: str) -> dict[str, Any]:
    return get_type_hints(EVENTS[kind])


def as_declared(value: Any, declared: Any, where: str) -> Any:
    """Convert a JSON value to the declared type: JSON has no tuples. Raises MalformedRow on a type mismatch."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (Union, types.UnionType):
        return _as_one_of(value, arguments, where)
    if origin is Literal:
        return _sure(value, value in arguments if isinstance(value, str) else False, where)
    if origin is tuple:
        return _as_tuple(value, arguments, where)
    if origin in (dict, Mapping):
        _sure(value, isinstance(value, dict), where)
        return {name: as_declared(item, arguments[1], where) for name, item in value.items()}
    if declared is float:
        return _sure(value, isinstance(value, int | float) and not isinstance(value, bool), where)
    if declared is int:
        return _sure(value, isinstance(value, int) and not isinstance(value, bool), where)
    if declared in (str, bool, type(None)):
        return _sure(value, isinstance(value, declared), where)
    return value  # any JSON


def _as_one_of(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    for choice in choices:
        try:
            return as_declared(value, choice, where)
        except MalformedRow:
            continue
    raise MalformedRow(f"{where} is no {type(value).__name__}")


def _as_tuple(value: Any, arguments: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    _sure(value, isinstance(value, list), where)
    if arguments[-1] is Ellipsis:
        return tuple(as_declared(item, arguments[0], where) for item in value)
    _sure(value, len(value) == len(arguments), where)
    return tuple(as_declared(item, kind, where) for item, kind in zip(value, arguments, strict=True))


def _sure(value: Any, holds: bool, where: str) -> Any:
    if not holds:
        raise MalformedRow(f"{where} is no {type(value).__name__}")
    return value
