"""The classes of an exported module that keep a policy's statistics.

`_Entity` is the base class of the entity, with the attributes that a policy's statistics need; `_Statistics` the base
class of the population's argument, with `enter`, `update` and `leave` to be told of each entity, and percentiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vulcan.anvil import quantise
from vulcan.anvil.plan import Plan
from vulcan.export.statistic_names import average_attributes, bucket_attributes, percentile_methods
from vulcan.task import Signature

POPULATION = "_Population"
"""The class of the runtime that a population is kept in."""


def python_statistics(plan: Plan, signature: Signature, annotations: Mapping[str, str]) -> str:
    """The source of the two classes. `annotations` are types of the task's arguments, by name."""
    return "\n".join((*_entity(plan, signature), "", "", *_statistics(plan, signature, annotations)))


def _entity(plan: Plan, signature: Signature) -> Iterator[str]:
    averages = list(average_attributes(plan, signature).values())
    buckets = list(bucket_attributes(plan, signature).values())
    yield "class _Entity:"
    yield '    """What the policy\'s statistics keep of each entity."""'
    yield ""
    slots = [repr(name).replace("'", '"') for name in (*averages, *buckets)]
    yield f"    __slots__ = ({', '.join(slots)}{',' if len(slots) == 1 else ''})"
    if slots:
        yield ""
        yield from (f"    {name}: float" for name in averages)
        yield from (f"    {name}: int" for name in buckets)


def _statistics(plan: Plan, signature: Signature, annotations: Mapping[str, str]) -> Iterator[str]:
    entity = signature.entity.name if signature.entity is not None else "entity"
    argument = f"{entity}: {annotations[entity]}" if entity in annotations else entity
    averages, buckets = average_attributes(plan, signature), bucket_attributes(plan, signature)
    yield "class _Statistics:"
    yield '    """What the policy knows from having watched; it is told of every entity."""'
    if plan.populations:
        yield ""
        yield "    def __init__(self) -> None:"
        declared = dict(signature.features())
        for feature in plan.populations:
            f = declared[feature]
            lowest = quantise.bucket_of(f.low, f.resolution)
            count = quantise.bucket_of(f.high, f.resolution) - lowest + 1
            values = f"lowest={lowest}, buckets={count}, resolution={f.resolution}, unknown={f.unknown!r}"
            yield f"        self.{_place(feature)} = {POPULATION}({values})"
    for event, happened in (("enter", "has entered"), ("update", "was touched"), ("leave", "leaves")):
        yield ""
        yield f"    def {event}(self, {argument}) -> None:"
        yield f'        """The entity {happened}."""'
        for statistic, name in averages.items() if event != "leave" else ():
            value, average = statistic.feature, f"{entity}.{name}"
            moved = f"{average} += {statistic.argument!r} * ({value} - {average})"
            yield "        " + (moved if event == "update" else f"{average} = {value}")
        for feature, name in buckets.items():
            population, bucket = f"self.{_place(feature)}", f"{entity}.{name}"
            yield (
                "        "
                + {
                    "enter": f"{bucket} = {population}.add({feature})",
                    "update": f"{bucket} = {population}.move({bucket}, {feature})",
                    "leave": f"{population}.remove({bucket})",
                }[event]
            )
    for feature, method in percentile_methods(plan, signature).items():
        yield ""
        yield f"    def {method}(self, share: float) -> float:"
        yield f'        """The value of `{feature}` that a share of all live entities does not exceed."""'
        yield f"        return self.{_place(feature)}.percentile(share)"


def _place(feature: str) -> str:
    return f"_{feature.partition('.')[2]}_population"
