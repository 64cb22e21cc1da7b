"""Cheaper versions of instances: spatial samples, each as sparse as its cache allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from vulcan.evaluator import Instance, Rung
from vulcan_cache.spatial_sample import sample_digest

LADDER = ((100, 1 / 3), (10, 0.3))
"""One in how many objects is in the sample of each rung, and the share of candidates that the rung keeps."""

KEPT_BY_ONE_RUNG = 0.1
"""The share that goes on where there is one rung, about that of two together: searches came to a given score sooner
than with 0.15 and with 0.07 (docs/results.md)."""

MIN_RESIDENTS = 2000
"""Objects that a sampled cache must hold: with fewer, a sample ranks policies too badly to be of use."""


def make_rungs(instances: Sequence[Instance], residents: Sequence[float]) -> tuple[Rung, ...]:
    """The rungs for instances whose caches hold about so many objects, the cheapest first.

    Where a cache would hold too few objects at a rung's rate, the instance stands there as it does on the next rung:
    as a denser sample, or as it is. A rung that has nothing cheaper than the next one is left out.
    """
    rungs = []
    for one_in, keep in LADDER:
        factors = [_sparsest(objects, one_in) for objects in residents]
        requests = [cast(int, instance.parameters["measure_to"]) for instance in instances]
        if one_in in factors:
            cheaper = tuple(sampled(i, factor) for i, factor in zip(instances, factors, strict=True))
            cost = math.fsum(n / f for n, f in zip(requests, factors, strict=True)) / math.fsum(requests)
            rungs.append(Rung(f"R={1 / one_in:g}", cheaper, keep, cost))
    if len(rungs) == 1:
        rungs[0] = replace(rungs[0], keep=KEPT_BY_ONE_RUNG)
    return tuple(rungs)


def _sparsest(residents: float, at_most: int) -> int:
    """One in how many objects the sample has, and 1 for the whole trace."""
    return max((f for f, _ in LADDER if f <= at_most and residents / f >= MIN_RESIDENTS), default=1)


def sampled(instance: Instance, one_in: int) -> Instance:
    """The instance on a sample of one in so many objects; itself for 1."""
    if one_in == 1:
        return instance
    digest = sample_digest(cast(str, instance.parameters["digest"]), one_in)
    return replace(
        instance,
        name=f"{instance.name} R={1 / one_in:g}",
        parameters={**instance.parameters, "one_in": one_in, "digest": digest},
    )
