"""Workload fingerprints of instances, from their first requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from vulcan.baseline_cache import cached_metrics
from vulcan.evaluator import Instance
from vulcan_cache import online_fingerprint
from vulcan_cache.online_fingerprint import OnlineFingerprint
from vulcan_traces import Trace

VERSION = 1
"""Part of what fingerprints are kept under: to be raised when the same requests give another fingerprint."""


def fingerprint_of(instance: Instance, trace: Trace, sizes: NDArray[np.uint32], first: int) -> Mapping[str, float]:
    """The fingerprint of an instance's first requests, kept on disk; `sizes` are the trace's, as they are counted."""
    capacity, stop = cast(int, instance.parameters["capacity"]), cast(int, instance.parameters["measure_to"])
    requests = min(first, stop)

    def measure() -> dict[str, float]:
        seen = OnlineFingerprint(capacity, requests)
        keys = np.asarray(trace.keys)[np.asarray(trace.objects)[:requests]]
        for key, size in zip(keys.tolist(), np.asarray(sizes)[:requests].tolist(), strict=True):
            seen.observe(key, size)
        return seen.features()

    unit = instance.parameters["unit_sizes"]
    return cached_metrics(["fingerprint", VERSION, trace.digest, unit, capacity, requests], measure)


def opening_of(instance: Instance, first: int) -> Instance:
    """The first requests of an instance, from an empty cache; while it fills, in the first half, nothing counts."""
    requests = min(first, cast(int, instance.parameters["measure_to"]))
    return replace(
        instance,
        name=f"{instance.name} first {first}",
        parameters={**instance.parameters, "measure_from": requests // 2, "measure_to": requests},
    )


def fingerprint_source() -> str:
    """Return the source of the module that computes fingerprints."""
    return Path(online_fingerprint.__file__).read_text(encoding="utf-8")
