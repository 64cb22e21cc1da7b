"""Low-fidelity rungs of instances: spatial samples of their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vulcan.evaluator import Instance, Rung

ONE_IN = 8
KEEP = 0.3
"""One page in so many is in the sample, and the share of candidates that goes on (`benchmarks/tiering.py --rungs`)."""

MIN_FAST_PAGES = 50
"""Pages that the sample's fast tier must hold: with fewer, a sample says too little."""


def make_rungs(instances: Sequence[Instance], capacities: Sequence[int]) -> tuple[Rung, ...]:
    """One rung for instances whose fast tiers hold so many pages; none where no sample is large enough."""
    factors = [ONE_IN if capacity >= ONE_IN * MIN_FAST_PAGES else 1 for capacity in capacities]
    if ONE_IN not in factors:
        return ()
    cheaper = tuple(sampled(instance, factor) for instance, factor in zip(instances, factors, strict=True))
    return (Rung(f"R={1 / ONE_IN:g}", cheaper, KEEP),)


def sampled(instance: Instance, one_in: int) -> Instance:
    """The instance on a sample of one page in so many; itself for 1."""
    if one_in == 1:
        return instance
    return replace(
        instance,
        name=f"{instance.name} R={1 / one_in:g}",
        parameters={**instance.parameters, "one_in": one_in},
    )
