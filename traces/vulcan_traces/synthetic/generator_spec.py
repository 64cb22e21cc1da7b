"""Specifications of generated traces: `kind:key=value,key=value`.

    zipf       independent requests, Zipf popularity           objects, alpha
    loop       the same objects in the same order              objects
    scan       sequential scans from random places             objects, length
    scan-mix   Zipf requests mixed with scans, with a loop and with objects that are requested once
               objects, alpha, scan_share, scan_objects, scan_length, loop_share, loop_objects, loop_burst,
               once_share
    drift      Zipf popularity whose hot set moves             objects, alpha, period, churn

Every kind also takes `requests`, `seed`, `rate` (requests per second of the Poisson clock), `name` (a label, no
part of the content) and the sizes of objects: `sizes` = unit, lognormal or pareto; `size_median` and
`size_sigma` of the logarithm (lognormal); `size_min` and `size_shape` (pareto); `size_max`;
`size_correlation` in [-1, 1] with popularity, where a negative one makes popular objects small. Sizes count
in bytes and do not change over time.

The order of requests, the sizes and the clock are drawn from separate streams of the seed, so that one may be
changed without the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests
from vulcan_traces.synthetic import generators
from vulcan_traces.synthetic.generators import Objects
from vulcan_traces.synthetic.specification import (
    Key,
    Values,
    canonical,
    is_specification,
    number,
    parse_keys,
    parse_kind,
    whole,
)

_VERSION = 1
"""Part of every generated trace's digest: to be raised when the same specification gives other requests."""

_MAX_REQUESTS = 2**31
_MAX_OBJECTS = 2**31

Draw = Callable[[np.random.Generator, Values], Objects]


@dataclass(frozen=True, slots=True)
class Generator:
    """Complete specification: `values` has every key of the kind, given or by default."""

    kind: str
    name: str
    values: Values

    @property
    def canonical(self) -> str:
        """Return the canonical text of the specification."""
        return canonical(self.kind, _VERSION, self.values)

    def generate(self) -> RawRequests:
        """Return the requests: the same for the same specification."""
        order, sizes, clock = (
            np.random.Generator(np.random.PCG64(stream))
            for stream in np.random.SeedSequence(whole(self.values, "seed")).spawn(3)
        )
        objects = GENERATORS[self.kind][1](order, self.values)
        object_sizes = _object_sizes(sizes, objects, self.values)
        times = generators.arrival_times(clock, len(objects), number(self.values, "rate"))
        return RawRequests(objects.astype(np.uint64), object_sizes[objects], times)


def is_generator_spec(text: str) -> bool:
    """Check whether the text has the form of a specification, be its kind known or not."""
    return is_specification(text, GENERATORS)


def parse_generator_spec(text: str) -> Generator:
    """Reads a specification. Raises UserError for an unknown kind or key and for a value that makes no
    sense."""
    kind = parse_kind(text, GENERATORS)
    parsed = parse_keys(text, _COMMON | GENERATORS[kind][0])
    _check_together(text, parsed.given, parsed.values)
    return Generator(kind, parsed.name, parsed.values)


def _check_together(text: str, given: Values, values: Values) -> None:
    shares = [key for key in ("scan_share", "loop_share", "once_share") if key in values]
    if sum(number(values, key) for key in shares) > 1:
        raise UserError(f"{text}: {' + '.join(shares)} is over 1")
    for key in given:
        if key in _SIZE_KEYS and values["sizes"] not in _SIZE_KEYS[key]:
            raise UserError(f"{text}: {key} is for sizes={' or '.join(_SIZE_KEYS[key])}, and sizes={values['sizes']}")


def _object_sizes(rng: np.random.Generator, objects: Objects, values: Values) -> generators.Sizes:
    counts = np.bincount(objects)
    if values["sizes"] == "unit":
        return generators.unit_sizes(len(counts))
    scores = generators.normal_scores(rng, counts, number(values, "size_correlation"))
    largest = whole(values, "size_max")
    if values["sizes"] == "pareto":
        smallest, shape = number(values, "size_min"), number(values, "size_shape")
        return generators.pareto_sizes(scores, smallest, shape, largest)
    median, sigma = number(values, "size_median"), number(values, "size_sigma")
    return generators.lognormal_sizes(scores, median, sigma, largest)


def _zipf(rng: np.random.Generator, values: Values) -> Objects:
    requests, objects = whole(values, "requests"), whole(values, "objects")
    return generators.zipf_ranks(rng, requests, objects, number(values, "alpha"))


def _loop(rng: np.random.Generator, values: Values) -> Objects:
    return generators.loop(whole(values, "requests"), whole(values, "objects"))


def _scan(rng: np.random.Generator, values: Values) -> Objects:
    return generators.scans(rng, whole(values, "requests"), whole(values, "objects"), whole(values, "length"))


def _drift(rng: np.random.Generator, values: Values) -> Objects:
    return generators.drifting_ranks(
        rng,
        whole(values, "requests"),
        whole(values, "objects"),
        alpha=number(values, "alpha"),
        period=whole(values, "period"),
        churn=number(values, "churn"),
    )


def _scan_mix(rng: np.random.Generator, values: Values) -> Objects:
    shares = [number(values, key) for key in ("scan_share", "loop_share", "once_share")]
    bursts = [1, whole(values, "scan_length"), whole(values, "loop_burst"), 1]
    kinds = generators.burst_kinds(rng, whole(values, "requests"), [max(0.0, 1 - sum(shares)), *shares], bursts)
    zipf_count, scan_count, loop_count, once_count = np.bincount(kinds, minlength=4).tolist()
    parts = [
        generators.zipf_ranks(rng, zipf_count, whole(values, "objects"), number(values, "alpha")),
        generators.scans(rng, scan_count, whole(values, "scan_objects"), whole(values, "scan_length")),
        generators.loop(loop_count, whole(values, "loop_objects")),
        np.arange(once_count),
    ]
    return generators.interleave(kinds, parts)


_COMMON = {
    "requests": Key(200_000, 1, _MAX_REQUESTS),
    "objects": Key(20_000, 1, _MAX_OBJECTS),
    "seed": Key(0, 0, 2**63),
    "rate": Key(1000.0, 1e-6, 1e9),
    "sizes": Key("unit", choices=("unit", "lognormal", "pareto")),
    "size_median": Key(4096.0, 1, MAX_SIZE),
    "size_sigma": Key(1.0, 0, 10),
    "size_min": Key(512.0, 1, MAX_SIZE),
    "size_shape": Key(1.2, 0.1, 100),
    "size_max": Key(2**30, 1, MAX_SIZE),
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
    "scan": ({"length": Key(1000, 1, _MAX_REQUESTS)}, _scan),
    "scan-mix": (
        _ALPHA
        | {
            "scan_share": Key(0.2, 0, 1),
            "scan_objects": Key(100_000, 1, _MAX_OBJECTS),
            "scan_length": Key(500, 1, 1_000_000),
            "loop_share": Key(0.0, 0, 1),
            "loop_objects": Key(5_000, 1, _MAX_OBJECTS),
            "loop_burst": Key(100, 1, 1_000_000),
            "once_share": Key(0.0, 0, 1),
        },
        _scan_mix,
    ),
    "drift": (_ALPHA | {"period": Key(1000, 1, _MAX_REQUESTS), "churn": Key(0.01, 0, 1)}, _drift),
}
"""The keys that each kind has alongside the common ones, and how it draws the order of requests."""
