"""Typed instances, and their form as JSON in which they travel to other processes and into the log.

A spec is a frozen dataclass of numbers, texts, booleans, None and tuples of these. Its JSON is an object with its
fields in their order; a field `from_`, which Python could not name otherwise, is `from` there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from vulcan.errors import UserError
from vulcan.task import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
SpecT = TypeVar("SpecT", bound="DataclassInstance")

_SPARSE = "sparse"


def sparse(default: T) -> T:
    """Declare a field that is absent from the JSON where it has its default: what few instances have."""
    declared: Any = field(default=default, metadata={_SPARSE: True})
    return declared  # type: ignore[no-any-return]  # like `dataclasses.field`, typed as the value


def encode(spec: DataclassInstance) -> dict[str, Json]:
    """Return the JSON of a spec."""
    return {_key(f): _plain(value) for f in fields(spec) if not _is_left_out(f, value := getattr(spec, f.name))}


def decode(spec: type[SpecT], plain: Mapping[str, Json]) -> SpecT:
    """Return the spec with that JSON; absent fields have their defaults. Raises ValueError for another's JSON."""
    known = {_key(f): f for f in fields(spec)}
    missing = [name for name, f in known.items() if f.default is MISSING and name not in plain]
    if missing or not plain.keys() <= known.keys():
        wrong = missing or sorted(plain.keys() - known.keys())
        raise ValueError(f"no instance of this task: {spec.__name__} {'lacks' if missing else 'has no'} {wrong[0]}")
    return spec(**{known[name].name: _frozen(value) for name, value in plain.items()})


def within(given: object, **ranges: tuple[float, float]) -> None:
    """Raises UserError for a field of a spec, or a value of a setting that is set, below or above its range."""
    for name, (least, most) in ranges.items():
        found = given[name] if isinstance(given, Mapping) else getattr(given, name)
        for value in found if isinstance(found, list) else [found]:
            if value is not None and not least <= value <= most:
                what = f"--{name.replace('_', '-')} {value:g}" if isinstance(given, Mapping) else f"{name} is {value:g}"
                limits = f"at least {least:.12g}" if most == math.inf else f"from {least:.12g} to {most:.12g}"
                raise UserError(f"{what}: must be {limits}")


def _key(declared: Field[Any]) -> str:
    return declared.name.removesuffix("_")


def _is_left_out(declared: Field[Any], value: object) -> bool:
    return _SPARSE in declared.metadata and value == declared.default


def _plain(value: Any) -> Json:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
