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

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests
from vulcan_traces.synthetic.specification import Key, Specification, Values, number, parse_keys, parse_kind, whole

VERSION = 1
"""Part of every generated trace's digest: to be raised when the same specification gives other requests."""

_MAX_REQUESTS = 2**31
_MAX_OBJECTS = 2**31

Objects = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, Values], Objects]
"""Gives the object of each request, in a space of numbers that starts at 0."""


def parse_generator_spec(text: str) -> Specification:
    """Reads a specification. Raises UserError for an unknown kind or key and for a value that makes no
    sense."""
    kind = parse_kind(text, GENERATORS)
    parsed = parse_keys(text, _COMMON | GENERATORS[kind][0])
    _check_together(text, parsed.given, parsed.values)
    return parsed


def generate_requests(parsed: Specification) -> RawRequests:
    """Return the requests: the same for the same specification."""
    values = parsed.values
    order, sizes, clock = (
        np.random.Generator(np.random.PCG64(stream))
        for stream in np.random.SeedSequence(whole(values, "seed")).spawn(3)
    )
    objects = GENERATORS[parsed.kind][1](order, values)
    object_sizes = _object_sizes(sizes, objects, values)
    times = np.cumsum(clock.standard_exponential(len(objects))) / number(values, "rate")
    return RawRequests(objects.astype(np.uint64), object_sizes[objects], times)


def _check_together(text: str, given: Values, values: Values) -> None:
    shares = [key for key in ("scan_share", "loop_share", "once_share") if key in values]
    if sum(number(values, key) for key in shares) > 1:
        raise UserError(f"{text}: {' + '.join(shares)} is over 1")
    for key in given:
        if key in _SIZE_KEYS and values["sizes"] not in _SIZE_KEYS[key]:
            raise UserError(f"{text}: {key} is for sizes={' or '.join(_SIZE_KEYS[key])}, and sizes={values['sizes']}")


def _object_sizes(rng: np.random.Generator, objects: Objects, values: Values) -> Sizes:
    """Return the size of each object. With `size_correlation` below 0 popular objects tend to be small (a Gaussian
    copula of size and popularity); equally popular objects are distinguished at random."""
    counts = np.bincount(objects)
    if values["sizes"] == "unit":
        return np.ones(len(counts), np.int64)
    popularity = np.empty(len(counts))
    normal = np.sort(rng.standard_normal(len(counts)))
    popularity[np.lexsort((rng.random(len(counts)), counts))] = normal
    correlation = number(values, "size_correlation")
    noise = rng.standard_normal(len(counts))
    scores = correlation * popularity + np.sqrt(1 - correlation**2) * noise
    if values["sizes"] == "pareto":  # P(size > x) = (size_min / x)^shape
        ranks = np.empty(len(scores), np.int64)
        ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
        exceeded = 1.0 - (ranks + 0.5) / len(scores)
        sizes = number(values, "size_min") * exceeded ** (-1.0 / number(values, "size_shape"))
    else:
        sizes = number(values, "size_median") * np.exp(np.minimum(number(values, "size_sigma") * scores, 100.0))
    return np.clip(np.rint(sizes), 1, min(whole(values, "size_max"), MAX_SIZE)).astype(np.int64)


def _zipf(rng: np.random.Generator, values: Values) -> Objects:
    return _zipf_ranks(rng, whole(values, "requests"), values)


def _zipf_ranks(rng: np.random.Generator, requests: int, values: Values) -> Objects:
    """Popularity ranks, from 0, of independent requests (Breslau et al., INFOCOM 1999): the i-th most popular object
    has 1 / i^alpha, so that `alpha` 0 is the uniform distribution."""
    objects = whole(values, "objects")
    weights = np.arange(1, objects + 1, dtype=np.float64) ** -number(values, "alpha")
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(requests), side="right")
    return np.minimum(ranks, objects - 1)  # the sum may end a rounding below 1


def _loop(_: np.random.Generator, values: Values) -> Objects:
    return np.arange(whole(values, "requests"), dtype=np.int64) % whole(values, "objects")


def _scan(rng: np.random.Generator, values: Values) -> Objects:
    return _scans(rng, whole(values, "requests"), whole(values, "objects"), whole(values, "length"))


def _scans(rng: np.random.Generator, requests: int, objects: int, length: int) -> Objects:
    """Sequential scans of `length` objects, each from a place that is uniformly random among `objects`."""
    starts = rng.integers(0, objects, -(-requests // length))
    runs = starts[:, None] + np.arange(length)
    return np.asarray(runs.reshape(-1)[:requests] % objects)


def _drift(rng: np.random.Generator, values: Values) -> Objects:
    """Every `period` requests a share `churn` of the ranks, redrawn each time, exchange their objects."""
    ranks = _zipf(rng, values)
    holder = np.arange(whole(values, "objects"))
    moving = round(number(values, "churn") * len(holder))
    period = whole(values, "period")
    result = np.empty(len(ranks), np.int64)
    for start in range(0, len(ranks), period):
        result[start : start + period] = holder[ranks[start : start + period]]
        ranks_to_move = rng.permutation(len(holder))[:moving]
        holder[ranks_to_move] = holder[rng.permutation(ranks_to_move)]
    return result


def _scan_mix(rng: np.random.Generator, values: Values) -> Objects:
    """Four activities, of objects of their own, that alternate in bursts."""
    kinds = _burst_kinds(rng, values)
    zipf_count, scan_count, loop_count, once_count = np.bincount(kinds, minlength=4).tolist()
    parts = [
        _zipf_ranks(rng, zipf_count, values),
        _scans(rng, scan_count, whole(values, "scan_objects"), whole(values, "scan_length")),
        np.arange(loop_count) % whole(values, "loop_objects"),
        np.arange(once_count),
    ]
    result = np.empty(len(kinds), np.int64)
    offset = 0
    for kind, part in enumerate(parts):
        result[kinds == kind] = part + offset
        offset += int(part.max()) + 1 if len(part) else 0
    return result


def _burst_kinds(rng: np.random.Generator, values: Values) -> npt.NDArray[np.int64]:
    """Return the activity of each request, in bursts drawn so that each activity has its share of the requests."""
    requests = whole(values, "requests")
    shares = [number(values, key) for key in ("scan_share", "loop_share", "once_share")]
    shares = [max(0.0, 1 - sum(shares)), *shares]
    burst_lengths = np.array([1, whole(values, "scan_length"), whole(values, "loop_burst"), 1])
    weights = np.array(shares) / burst_lengths
    cumulative = np.cumsum(weights / weights.sum())
    mean_length = float(1 / weights.sum())
    pieces: list[npt.NDArray[np.int64]] = []
    drawn = 0
    while drawn < requests:
        count = int((requests - drawn) / mean_length) + 16
        kinds = np.minimum(np.searchsorted(cumulative, rng.random(count), side="right"), len(shares) - 1)
        pieces.append(np.repeat(kinds, burst_lengths[kinds]))
        drawn += len(pieces[-1])
    return np.concatenate(pieces)[:requests]


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
