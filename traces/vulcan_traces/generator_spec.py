"""The specifications of generated traces: `kind:key=value,key=value`.

    zipf       independent requests, Zipf popularity           objects, alpha
    loop       the same objects in the same order              objects
    scan       sequential scans from random places             objects, length
    scan-mix   Zipf requests mixed with scans, with a loop and with objects that are requested once
               objects, alpha, scan_share, scan_objects, scan_length, loop_share, loop_objects, loop_burst,
               once_share
    drift      Zipf popularity whose hot set moves             objects, alpha, period, churn

Every kind also takes `requests`, `seed`, `rate` (requests a second of the Poisson clock), `name` (a label, no
part of the content) and the sizes of objects: `sizes` = unit, lognormal or pareto; `size_median` and
`size_sigma` of the logarithm (lognormal); `size_min` and `size_shape` (pareto); `size_max`;
`size_correlation` in [-1, 1] with popularity, where a negative one makes popular objects small. Sizes count
in bytes and do not change over time.

The order of requests, the sizes and the clock are drawn from separate streams of the seed, so that one may be
changed without the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from vulcan.errors import UserError, nearest
from vulcan_traces import generators, size_distributions
from vulcan_traces.generators import Objects
from vulcan_traces.raw_requests import LARGEST_SIZE, RawRequests

_SPEC = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9_-]*):(?P<rest>[^/\\]*)\Z")
_VERSION = 1
"""Part of every generated trace's digest: to be raised when the same specification gives other requests."""

_MOST_REQUESTS = 2**31
_MOST_OBJECTS = 2**31

Value = int | float | str
Draw = Callable[[np.random.Generator, Mapping[str, Value]], Objects]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a specification: its default (which decides the type) and what it may be."""

    default: Value
    low: float = -inf
    high: float = inf
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generator:
    """A complete specification: `values` has every key of the kind, given or by default."""

    kind: str
    name: str
    values: Mapping[str, Value]

    @property
    def canonical(self) -> str:
        """What the content depends on, in one text."""
        return f"{self.kind}/{_VERSION}:" + ",".join(f"{key}={self.values[key]!r}" for key in sorted(self.values))

    def generate(self) -> RawRequests:
        """The requests: the same for the same specification."""
        order, sizes, clock = (
            np.random.Generator(np.random.PCG64(stream))
            for stream in np.random.SeedSequence(_whole(self.values, "seed")).spawn(3)
        )
        objects = GENERATORS[self.kind][1](order, self.values)
        object_sizes = _object_sizes(sizes, objects, self.values)
        times = generators.arrival_times(clock, len(objects), _number(self.values, "rate"))
        return RawRequests(objects.astype(np.uint64), object_sizes[objects], times)


def is_generator_spec(text: str) -> bool:
    """Whether the text has the form of a specification, be its kind known or not."""
    match = _SPEC.match(text)
    return match is not None and (match["kind"] in GENERATORS or "=" in match["rest"])


def parse_generator_spec(text: str) -> Generator:
    """Reads a specification. Raises UserError for an unknown kind or key and for a value that makes no
    sense."""
    kind, _, rest = text.partition(":")
    if kind not in GENERATORS:
        raise UserError(f"{text}: no generator {kind!r}{nearest(kind, GENERATORS)} (known: {', '.join(GENERATORS)})")
    keys = _COMMON | GENERATORS[kind][0]
    given: dict[str, Value] = {}
    name = text
    for part in rest.split(",") if rest.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in keys and key != "name":
            known = ["name", *keys]
            raise UserError(f"{text}: {kind} has no key {key!r}{nearest(key, known)} (known: {', '.join(known)})")
        if not equals or not value:
            raise UserError(f"{text}: {part.strip()!r} is not of the form {key}=value")
        if key in given or (key == "name" and name != text):
            raise UserError(f"{text}: {key!r} is given twice")
        if key == "name":
            name = value
        else:
            given[key] = read_value(text, key, value, keys[key])
    values = {key: given.get(key, known.default) for key, known in keys.items()}
    _check_together(text, given, values)
    return Generator(kind, name, values)


def read_value(text: str, key: str, value: str, known: Key) -> Value:
    if isinstance(known.default, str):
        if value not in known.choices:
            choices = ", ".join(known.choices)
            raise UserError(f"{text}: {key}={value}{nearest(value, known.choices)} (one of {choices})")
        return value
    whole = isinstance(known.default, int)
    try:
        number: int | float = int(value) if whole else float(value)
    except ValueError:
        raise UserError(f"{text}: {key}={value}: a {'whole ' if whole else ''}number is needed") from None
    if not (isfinite(number) and known.low <= number <= known.high):
        raise UserError(f"{text}: {key}={value}: between {known.low:g} and {known.high:g}")
    return number


def _check_together(text: str, given: Mapping[str, Value], values: Mapping[str, Value]) -> None:
    shares = [key for key in ("scan_share", "loop_share", "once_share") if key in values]
    if sum(_number(values, key) for key in shares) > 1:
        raise UserError(f"{text}: {' + '.join(shares)} is over 1")
    for key in given:
        if key in _SIZE_KEYS and values["sizes"] not in _SIZE_KEYS[key]:
            raise UserError(f"{text}: {key} is for sizes={' or '.join(_SIZE_KEYS[key])}, and sizes={values['sizes']}")


def _whole(values: Mapping[str, Value], key: str) -> int:
    value = values[key]
    assert isinstance(value, int)
    return value


def _number(values: Mapping[str, Value], key: str) -> float:
    value = values[key]
    assert not isinstance(value, str)
    return float(value)


def _object_sizes(rng: np.random.Generator, objects: Objects, values: Mapping[str, Value]) -> size_distributions.Sizes:
    counts = np.bincount(objects)
    if values["sizes"] == "unit":
        return size_distributions.unit_sizes(len(counts))
    scores = size_distributions.normal_scores(rng, counts, _number(values, "size_correlation"))
    largest = _whole(values, "size_max")
    if values["sizes"] == "pareto":
        smallest, shape = _number(values, "size_min"), _number(values, "size_shape")
        return size_distributions.pareto_sizes(scores, smallest, shape, largest)
    median, sigma = _number(values, "size_median"), _number(values, "size_sigma")
    return size_distributions.lognormal_sizes(scores, median, sigma, largest)


def _zipf(rng: np.random.Generator, values: Mapping[str, Value]) -> Objects:
    requests, objects = _whole(values, "requests"), _whole(values, "objects")
    return generators.zipf_ranks(rng, requests, objects, _number(values, "alpha"))


def _loop(rng: np.random.Generator, values: Mapping[str, Value]) -> Objects:
    return generators.loop(_whole(values, "requests"), _whole(values, "objects"))


def _scan(rng: np.random.Generator, values: Mapping[str, Value]) -> Objects:
    return generators.scans(rng, _whole(values, "requests"), _whole(values, "objects"), _whole(values, "length"))


def _drift(rng: np.random.Generator, values: Mapping[str, Value]) -> Objects:
    return generators.drifting_ranks(
        rng,
        _whole(values, "requests"),
        _whole(values, "objects"),
        alpha=_number(values, "alpha"),
        period=_whole(values, "period"),
        churn=_number(values, "churn"),
    )


def _scan_mix(rng: np.random.Generator, values: Mapping[str, Value]) -> Objects:
    shares = [_number(values, key) for key in ("scan_share", "loop_share", "once_share")]
    bursts = [1, _whole(values, "scan_length"), _whole(values, "loop_burst"), 1]
    kinds = generators.burst_kinds(rng, _whole(values, "requests"), [max(0.0, 1 - sum(shares)), *shares], bursts)
    zipf_count, scan_count, loop_count, once_count = np.bincount(kinds, minlength=4).tolist()
    parts = [
        generators.zipf_ranks(rng, zipf_count, _whole(values, "objects"), _number(values, "alpha")),
        generators.scans(rng, scan_count, _whole(values, "scan_objects"), _whole(values, "scan_length")),
        generators.loop(loop_count, _whole(values, "loop_objects")),
        np.arange(once_count),
    ]
    return generators.interleave(kinds, parts)


_COMMON = {
    "requests": Key(200_000, 1, _MOST_REQUESTS),
    "objects": Key(20_000, 1, _MOST_OBJECTS),
    "seed": Key(0, 0, 2**63),
    "rate": Key(1000.0, 1e-6, 1e9),
    "sizes": Key("unit", choices=("unit", "lognormal", "pareto")),
    "size_median": Key(4096.0, 1, LARGEST_SIZE),
    "size_sigma": Key(1.0, 0, 10),
    "size_min": Key(512.0, 1, LARGEST_SIZE),
    "size_shape": Key(1.2, 0.1, 100),
    "size_max": Key(2**30, 1, LARGEST_SIZE),
    "size_correlation": Key(0.0, -1, 1),
}
_SIZE_KEYS = {
    "size_median": ("lognormal",),
    "size_sigma": ("lognormal",),
    "size_min": ("pareto",),
    "size_shape": ("pareto",),
    "size_max": ("lognormal", "pareto"),
    "size_correlation": ("lognormal", "pareto"),
}
_ALPHA = {"alpha": Key(0.9, 0, 10)}

GENERATORS: dict[str, tuple[dict[str, Key], Draw]] = {
    "zipf": (_ALPHA, _zipf),
    "loop": ({}, _loop),
    "scan": ({"length": Key(1000, 1, _MOST_REQUESTS)}, _scan),
    "scan-mix": (
        _ALPHA
        | {
            "scan_share": Key(0.2, 0, 1),
            "scan_objects": Key(100_000, 1, _MOST_OBJECTS),
            "scan_length": Key(500, 1, 1_000_000),
            "loop_share": Key(0.0, 0, 1),
            "loop_objects": Key(5_000, 1, _MOST_OBJECTS),
            "loop_burst": Key(100, 1, 1_000_000),
            "once_share": Key(0.0, 0, 1),
        },
        _scan_mix,
    ),
    "drift": (_ALPHA | {"period": Key(1000, 1, _MOST_REQUESTS), "churn": Key(0.01, 0, 1)}, _drift),
}
"""The keys that each kind has beside the common ones, and how it draws the order of requests."""
