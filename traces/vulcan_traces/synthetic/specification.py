"""Parser of generator specifications, `kind:key=value,key=value`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite

from vulcan.errors import UserError, did_you_mean

_SPEC = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9_-]*):(?P<rest>[^/\\]*)\Z")

Value = int | float | str
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Key:
    """Key of a specification: its default (which determines the type) and its bounds or choices.

    `choices` are those of a text; without any it may be every text.
    """

    default: Value
    low: float = -inf
    high: float = inf
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Specification:
    """`name` is the label, by default the whole text; `given` the keys in it; `values` every key, given or not."""

    kind: str
    name: str
    given: Values
    values: Values

    def canonical(self, version: int, without: Collection[str] = ()) -> str:
        """Return the canonical text; `version` is that of the generator."""
        keys = sorted(self.values.keys() - set(without))
        return f"{self.kind}/{version}:" + ",".join(f"{key}={self.values[key]!r}" for key in keys)


def is_specification(text: str, kinds: Collection[str]) -> bool:
    """Check whether the text has the form of a specification, be its kind known or not."""
    match = _SPEC.match(text)
    return match is not None and (match["kind"] in kinds or "=" in match["rest"])


def parse_kind(text: str, kinds: Collection[str], what: str = "generator") -> str:
    """Return the kind that a specification names. Raises UserError where there is none such."""
    kind = text.partition(":")[0]
    if kind not in kinds:
        raise UserError(f"{text}: no {what} {kind!r}{did_you_mean(kind, kinds)} (known: {', '.join(kinds)})")
    return kind


def parse_keys(text: str, keys: Mapping[str, Key]) -> Specification:
    """Parse the keys after the kind; every kind has a `name` besides its keys.

    Raises UserError for an unknown key, for one that is given twice, and for a value that makes no sense.
    """
    kind, _, rest = text.partition(":")
    known = ["name", *keys]
    given: dict[str, str] = {}
    for part in rest.split(",") if rest.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in known:
            raise UserError(f"{text}: {kind} has no key {key!r}{did_you_mean(key, known)} (known: {', '.join(known)})")
        if not equals or not value:
            raise UserError(f"{text}: {part.strip()!r} is not of the form {key}=value")
        if key in given:
            raise UserError(f"{text}: {key!r} is given twice")
        given[key] = value
    name = given.pop("name", text)
    read = {key: _read(text, key, value, keys[key]) for key, value in given.items()}
    return Specification(kind, name, read, {key: read.get(key, known.default) for key, known in keys.items()})


def _read(text: str, key: str, value: str, known: Key) -> Value:
    if isinstance(known.default, str):
        if known.choices and value not in known.choices:
            choices = ", ".join(known.choices)
            raise UserError(f"{text}: {key}={value}{did_you_mean(value, known.choices)} (one of {choices})")
        return value
    is_whole = isinstance(known.default, int)
    try:
        read: int | float = int(value) if is_whole else float(value)
    except ValueError:
        raise UserError(f"{text}: {key}={value}: a {'whole ' if is_whole else ''}number is needed") from None
    if not (known.low <= read <= known.high) or (not is_whole and not isfinite(read)):
        raise UserError(f"{text}: {key}={value}: between {known.low:g} and {known.high:g}")
    return read


def whole(values: Values, key: str) -> int:
    """Return the value of a key whose default is a whole number."""
    value = values[key]
    assert isinstance(value, int)
    return value


def number(values: Values, key: str) -> float:
    """Return the value of a key whose default is a number."""
    value = values[key]
    assert not isinstance(value, str)
    return float(value)
