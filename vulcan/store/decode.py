"""Decoding and validation of the rows in a run's file, none of which is trusted."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from vulcan.evaluator import SplitName
from vulcan.store.events import ENTRIES, Entry, InstancesPrepared
from vulcan.task import Json

STORED_BY_HASH: Mapping[str, str] = {
    "CandidateJudged": "source",
    "AdviceReceived": "text",
    "SearchSteered": "text",
}
"""The field of an event that is a long text: the row has the hash under which the text is stored."""


class MalformedRow(Exception):
    """A row of a run's log that this Vulcan did not write; the message says what is wrong with it."""


def parse_fields(text: str | bytes) -> dict[str, Any]:
    """Parse the JSON of an entry. Raises MalformedRow."""
    try:
        fields = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedRow("an entry that is not JSON") from error
    if not isinstance(fields, dict):
        raise MalformedRow("an entry that is not an object")
    return fields


def _finite(text: str) -> float:
    """Return a number of JSON. Raises ValueError where it is infinite, or none: it could not be written again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number


_DIGITS = 300
"""Of an integer that a float holds, with some room."""


def _whole(text: str) -> int:
    """Return an integer of JSON. Raises ValueError where no float holds it."""
    if len(text) > _DIGITS:
        raise ValueError(f"{text[:20]} is more than a float holds")
    return int(text)


def decode_entry(kind: str, fields: Mapping[str, Any]) -> Entry:
    """Decode an entry from its kind and its JSON fields. Raises MalformedRow."""
    declared = ENTRIES.get(kind)
    if declared is None:
        raise MalformedRow(f"no event is called {str(kind)[:40]!r}")
    declared_fields = _fields(kind)
    read = {}
    for name, value in fields.items():
        if name not in declared_fields:
            raise MalformedRow(f"an event {kind} with a field {name[:40]!r}")
        where, decode = declared_fields[name]
        read[name] = decode(value, where)
    try:
        entry = declared(**read)
    except TypeError as error:
        raise MalformedRow(f"an event {kind} without all of its fields") from error
    except ValueError as error:
        raise MalformedRow(f"an event {kind} with {error}") from error
    if isinstance(entry, InstancesPrepared):
        _check_instances(entry.instances)
        for rung in entry.rungs:
            _check_rung(rung)
    return entry


_INSTANCE = {"name": str, "split": SplitName, "parameters": dict[str, Json], "variation_of": str}


def _check_instances(instances: Sequence[Any]) -> None:
    for instance in instances:
        _require(instance, isinstance(instance, dict), "an instance")
        _require(instance, set(instance) | {"variation_of"} == set(_INSTANCE), "an instance")
        for name, value in instance.items():
            as_declared(value, _INSTANCE[name], f"an instance's {name}")


def _check_rung(rung: Mapping[str, Any]) -> None:
    _require(rung, {"name", "instances", "keep"} <= set(rung) <= {"name", "instances", "keep", "cost"}, "a rung")
    as_declared(rung["name"], str, "a rung's name")
    _require(rung, isinstance(rung["instances"], list) and len(rung["instances"]) > 0, "a rung's instances")
    _check_instances(rung["instances"])
    for name in ("keep", "cost"):
        share = as_declared(rung.get(name, 1.0), float, f"a rung's {name}")
        _require(share, 0 < share <= 1, f"a rung's {name}")


@cache
def _fields(kind: str) -> dict[str, tuple[str, _Decoder]]:
    """Return the description and the decoder of each field of an entry."""
    hints = get_type_hints(ENTRIES[kind])
    return {name: (f"{kind}.{name}", _decoder(hint)) for name, hint in hints.items()}


_Decoder = Callable[[Any, str], Any]
"""Converts a JSON value; its second argument describes the value in an error message."""


def as_declared(value: Any, declared: Any, where: str) -> Any:
    """Convert a JSON value to the declared type: JSON has no tuples. Raises MalformedRow on a type mismatch."""
    return _decoder(declared)(value, where)


@cache
def _decoder(declared: Any) -> _Decoder:
    """Return the decoder of a type. Built once a type: inspecting it for each value takes longer than decoding."""
    origin, arguments = get_origin(declared), get_args(declared)
    if declared in _SCALARS:
        accepted = _SCALARS[declared]
        return lambda value, where: _require(value, type(value) in accepted, where)
    if origin is Literal:
        return lambda value, where: _require(value, isinstance(value, str) and value in arguments, where)
    if origin in (dict, Mapping):
        item = _decoder(arguments[1])
        return lambda value, where: {n: item(one, where) for n, one in _instance(value, dict, where).items()}
    if origin is tuple and arguments[-1] is Ellipsis:
        item = _decoder(arguments[0])
        return lambda value, where: tuple([item(one, where) for one in _instance(value, list, where)])
    if is_typeddict(declared) or is_dataclass(declared):
        return _record_decoder(declared, dict if is_typeddict(declared) else declared)
    parts = [_decoder(argument) for argument in arguments]
    if origin in (Union, types.UnionType):
        return lambda value, where: _as_one_of(value, parts, where)
    if origin is tuple:
        return lambda value, where: _as_tuple(value, parts, where)
    return lambda value, where: value  # any JSON


def _record_decoder(declared: Any, make: Callable[..., Any]) -> _Decoder:
    """Return the decoder of an object whose keys are those of a TypedDict, or the fields of a dataclass."""
    keys = {name: _decoder(hint) for name, hint in get_type_hints(declared).items()}

    def decode(value: Any, where: str) -> Any:
        _require(value, isinstance(value, dict), where)
        if missing := keys.keys() ^ value.keys():
            raise MalformedRow(f"{where} lacks {min(missing)!r}, or should not have it")
        return make(**{name: keys[name](one, f"{where}'s {name}") for name, one in value.items()})

    return decode


_SCALARS: Mapping[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    type(None): (type(None),),
}
"""Types of the JSON values that each declared type accepts; no truth value is a number."""


def _as_one_of(value: Any, choices: Sequence[_Decoder], where: str) -> Any:
    for choice in choices:
        try:
            return choice(value, where)
        except MalformedRow:
            continue
    return _require(value, False, where)


def _as_tuple(value: Any, parts: Sequence[_Decoder], where: str) -> tuple[Any, ...]:
    _require(value, isinstance(value, list) and len(value) == len(parts), where)
    return tuple(part(one, where) for part, one in zip(parts, value, strict=True))


def _instance(value: Any, kind: type, where: str) -> Any:
    return _require(value, isinstance(value, kind), where)


def _require(value: Any, holds: bool, where: str) -> Any:
    if not holds:
        raise MalformedRow(f"{where} is no {type(value).__name__}")
    return value
