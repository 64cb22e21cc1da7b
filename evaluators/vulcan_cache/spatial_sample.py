"""Spatial samples of a trace: all requests for one in N objects, chosen by a hash of the object.

A cache smaller by the same factor behaves on such a sample much as the whole one does on the trace (Waldspurger et
al., Efficient MRC Construction with SHARDS, FAST 2015). A policy on a sample is shown what it would see in the full
run: each request keeps its number in the trace, and the cache counts each object as the many it stands for. What
is not rescaled is what counts events of the whole system, such as a window over the last n requests.

The miss ratio on a sample is biased by the hottest objects being in it or not: samples rank policies, and are never
results.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung
from vulcan_traces import Trace
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.storage.trace_store import cached_trace

_VERSION = 1
"""Part of every sample's digest: to be raised when the same trace and rate give another sample."""


def sample_of(trace: Trace, one_in: int) -> Trace:
    """Return the requests for one in `one_in` of the trace's objects, kept in the user's cache directory as traces are.

    Its `times` are the numbers that the requests have in the trace. The objects of a sparser sample are all in the
    denser ones. Raises UserError where the sample has no request.
    """
    digest = hashlib.sha256(json.dumps(["spatial sample", _VERSION, trace.digest, one_in]).encode()).hexdigest()
    name = f"{trace.name} R={1 / one_in:g}"
    return cached_trace(name, digest, lambda: [_sampled(trace, one_in)])


def _sampled(trace: Trace, one_in: int) -> RawRequests:
    chosen = _mixed(np.asarray(trace.keys)) < np.uint64((2**64 - 1) // one_in)
    numbers = np.flatnonzero(chosen[trace.objects])
    if not len(numbers):
        raise UserError(f"{trace.name}: no object is in a sample of one in {one_in}")
    objects = np.asarray(trace.objects)[numbers]
    return RawRequests(np.asarray(trace.keys)[objects], np.asarray(trace.sizes)[numbers], numbers.astype(np.float64))


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each key: the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    z = keys + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# Low-fidelity rungs of instances: spatial samples, each as sparse as its cache size allows.

LADDER = ((10, 0.3), (100, 1 / 3))
"""One in how many objects at most is in the sample of each rung, and the share of candidates that the rung keeps, from
the dearest to the cheapest."""

KEEP_SINGLE_RUNG = 0.1
"""The share that continues where there is one rung, about that of two together: searches came to a given score sooner
than with 0.15 and with 0.07 (docs/results/search.md)."""

RATES = (100, 10, 5)
"""One in how many objects a sample has, the sparsest first."""

MIN_RESIDENTS = 2000
"""Objects that a sampled cache must hold: with fewer, a sample ranks policies too badly to be of use.

To refine one policy, the samples of several workloads may hold them together."""


def make_rungs(instances: Sequence[Instance], residents: Sequence[float]) -> tuple[Rung, ...]:
    """Return the rungs for instances whose caches hold about this many objects, the cheapest first.

    Where a cache would hold too few objects at a rung's rate, the instance stands there as it does on the next rung:
    as a denser sample, or as it is. A rung that has nothing cheaper than the next one is left out. Caches that are too
    small for any, of several workloads, have one to tune and simplify on.
    """
    rungs: list[Rung] = []
    dearer = tuple(instances)
    for at_most, keep in LADDER:
        cheaper = tuple(sampled(i, objects, at_most) for i, objects in zip(instances, residents, strict=True))
        if cheaper != dearer:
            rungs.insert(0, _rung(cheaper, instances, keep))
            dearer = cheaper
    if not rungs:
        least = MIN_RESIDENTS / len({instance.parameters["digest"] for instance in instances})
        cheaper = tuple(sampled(i, objects, 10, least) for i, objects in zip(instances, residents, strict=True))
        return (_rung(cheaper, instances, 1.0),) if cheaper != dearer else ()
    if len(rungs) == 1:
        rungs[0] = replace(rungs[0], keep=KEEP_SINGLE_RUNG)
    return tuple(rungs)


def _rung(cheaper: tuple[Instance, ...], instances: Sequence[Instance], keep: float) -> Rung:
    name = f"R={1 / max(map(_one_in, cheaper)):g}"
    return Rung(name, cheaper, keep, _requests(cheaper) / _requests(instances))


def _one_in(instance: Instance) -> int:
    return cast(int, instance.parameters["one_in"])


def _requests(instances: Sequence[Instance]) -> float:
    """Return about how many requests the instances have together."""
    return math.fsum(cast(int, i.parameters["measure_to"]) / _one_in(i) for i in instances)


def sampled(instance: Instance, residents: float, at_most: int = max(RATES), least: float = MIN_RESIDENTS) -> Instance:
    """Return the instance on the sparsest sample, of one in `at_most` objects or denser, that its cache allows.

    Itself where no such sample is sparser than it is. `residents` is how many objects the cache holds, of which at
    least so many are to be left.
    """
    own = _one_in(instance)
    allowed = [one_in for one_in in RATES if own < one_in <= at_most and residents / one_in >= least]
    if not allowed:
        return instance
    parameters = {**instance.parameters, "one_in": allowed[0]}
    return replace(instance, name=f"{instance.name} R={1 / allowed[0]:g}", parameters=parameters)
