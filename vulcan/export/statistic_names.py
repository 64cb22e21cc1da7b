"""How an exported module spells the statistics of a plan: attributes of the entity, methods of its population."""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil import program as p
from vulcan.anvil.plan import Plan
from vulcan.task import Signature


def average_attributes(plan: Plan, signature: Signature) -> Mapping[p.Statistic, str]:
    """The attribute of the entity that keeps each moving average: `obj.count.ewma(0.3)` is `obj.count_ewma_0_3`."""
    taken = {name.partition(".")[2] for name, _ in signature.features()}
    names: dict[p.Statistic, str] = {}
    for statistic in plan.averages:
        alpha = repr(statistic.argument).removesuffix(".0").replace(".", "_")
        names[statistic] = _free(f"{_feature(statistic.feature)}_{statistic.kind}_{alpha}", taken)
    return names


def bucket_attributes(plan: Plan, signature: Signature) -> Mapping[str, str]:
    """The attribute of the entity that says where each population counts it, by feature."""
    taken = {name.partition(".")[2] for name, _ in signature.features()}
    taken |= set(average_attributes(plan, signature).values())
    return {feature: _free(f"{_feature(feature)}_bucket", taken) for feature in plan.populations}


def percentile_methods(plan: Plan, signature: Signature) -> Mapping[str, str]:
    """The method of the population that gives percentiles of each feature: `cache.size_percentile(0.9)`."""
    taken = {name.partition(".")[2] for name, _ in signature.features()}
    return {feature: _free(f"{_feature(feature)}_percentile", taken) for feature in plan.populations}


def _feature(name: str) -> str:
    return name.partition(".")[2]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
