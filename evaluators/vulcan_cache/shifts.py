"""Perturbed copies of training instances, for policies that shall withstand a change of their workload."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from vulcan.evaluator import Instance
from vulcan_cache.spatial_sample import sample_digest
from vulcan_traces import Trace
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.storage.trace_store import cached_trace

_VERSION = 1
"""Part of every perturbed trace's digest: to be raised when the same trace gives another one."""

_PHASES = 4


def shifted(instance: Instance) -> Sequence[Instance]:
    """Return four copies of a training instance, of its own requests alone.

    `phases reversed`: the requests in four blocks of equal length, the last block first. `popularity moved`: from the
    middle on, every request is for another object, the same one each time, so that another set of objects is popular.
    `half the objects`: the requests for one in two objects, chosen by a hash, with half the cache. `half the cache`.
    """
    p = instance.parameters
    digest, stop, capacity = cast(str, p["digest"]), cast(int, p["measure_to"]), cast(int, p["capacity"])

    def copy(what: str, **changed: str | int) -> Instance:
        return replace(instance, name=f"{instance.name}, {what}", parameters={**p, **changed})

    return (
        copy("phases reversed", shift="phases", shift_to=stop, digest=shift_digest(digest, "phases", stop)),
        copy("popularity moved", shift="popularity", shift_to=stop, digest=shift_digest(digest, "popularity", stop)),
        copy("half the objects", one_in=2, digest=sample_digest(digest, 2)),
        copy("half the cache", capacity=max(1, capacity // 2)),
    )


def shift_digest(digest: str, shift: str, stop: int) -> str:
    """Return the digest of the perturbed trace."""
    return hashlib.sha256(json.dumps(["shift", _VERSION, digest, shift, stop]).encode()).hexdigest()


def shifted_trace(trace: Trace, shift: str, stop: int) -> Trace:
    """Return the first `stop` requests of a trace, perturbed; kept in the user's cache directory as traces are."""
    digest = shift_digest(trace.digest, shift, stop)
    return cached_trace(f"{trace.name} {shift}", digest, lambda: [_perturbed(trace, shift, stop)])


def _perturbed(trace: Trace, shift: str, stop: int) -> RawRequests:
    objects, sizes = np.asarray(trace.objects)[:stop], np.asarray(trace.sizes)[:stop]
    keys, times = np.asarray(trace.keys), np.asarray(trace.times)[:stop]
    if shift == "phases":
        order = np.concatenate(np.array_split(np.arange(stop), _PHASES)[::-1])
        return RawRequests(keys[objects[order]], sizes[order], times)
    first = np.unique(objects, return_index=True)[1]  # objects are numbered in order of their first request
    other = np.random.RandomState(1).permutation(len(first))  # its stream is the same in every version of numpy
    moved = objects.copy()
    moved[stop // 2 :] = other[objects[stop // 2 :]]
    return RawRequests(keys[moved], np.where(np.arange(stop) < stop // 2, sizes, sizes[first[moved]]), times)
