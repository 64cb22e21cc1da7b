"""Names of a plan's statistics in an exported module.

The observations of a feature are kept in one stream, an attribute of the entity (`obj.count_stream.ewma(0.3)`) or, for
the whole system, of one argument of the function, its state (`cache.size_stream.avg()`), to which the tallies of values
that are looked for and the percentiles over the live entities belong too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.anvil.grammar.tables import Scope
from vulcan.anvil.plan import Plan
from vulcan.anvil.statistic_semantics import kept_by_stream
from vulcan.task import Feature, Global, Signature


@dataclass(frozen=True, slots=True)
class StatisticState:
    """What observes a feature, an object of a class of the runtime: its attribute, and the call that makes it."""

    feature: str
    name: str
    made: str


@dataclass(frozen=True, slots=True)
class StatisticNames:
    """The names that a plan's statistics need in an exported module.

    `state` is the argument that the system's statistics belong to. `calls` has, by statistic, the method that answers
    and its numbers. `observing` is the state of each entity and of the system. By feature, `populations` are the
    state's populations, and `buckets` the entity's attributes for its bucket in them.
    """

    state: str
    calls: Mapping[ir.Statistic, tuple[str, tuple[float, ...]]]
    observing: Mapping[Scope, tuple[StatisticState, ...]]
    populations: Mapping[str, StatisticState]
    buckets: Mapping[str, str]

    @property
    def of_system(self) -> tuple[StatisticState, ...]:
        return (*self.observing["system"], *self.populations.values())

    @property
    def runtime(self) -> frozenset[str]:
        """The runtime classes that are needed."""
        return frozenset(each.made.partition("(")[0] for each in (*self.observing["entity"], *self.of_system))


def state_argument(signature: Signature) -> str:
    """Return the argument that the system's statistics belong to.

    It is the population's if that is a group of features, else the first such group, else a new argument.
    """
    groups = [argument.name for argument in signature.arguments if isinstance(argument, Global)]
    population = signature.entity.population if signature.entity is not None else None
    if population in groups:
        return str(population)
    return groups[0] if groups else free_name("statistics", {argument.name for argument in signature.arguments})


def statistic_names(plan: Plan, signature: Signature, decisions: Signature | None = None) -> StatisticNames:
    """Choose the names for a plan; none is that of a feature.

    `decisions` has the arguments of the task's functions where `signature` has those of events too.
    """
    state = state_argument(decisions or signature)
    owners = {"entity": signature.entity.name if signature.entity is not None else "", "system": state}
    declared = dict(signature.features())
    taken = {name.rpartition(".")[2] for name in declared}
    calls: dict[ir.Statistic, tuple[str, tuple[float, ...]]] = {}
    observing: dict[Scope, tuple[StatisticState, ...]] = {}

    def state_of(feature: str, suffix: str, made: str) -> StatisticState:
        return StatisticState(feature, free_name(f"{_short(feature, signature, state)}_{suffix}", taken), made)

    for scope in ("entity", "system"):
        asked = plan.of_scope(scope)
        tallied = [s for s in asked if s.kind in ("count", "contains") and scope == "system"]
        made: dict[tuple[str, float], StatisticState] = {}
        for statistic in asked:
            feature, (*others, last) = statistic.feature, statistic.arguments or (0.0,)
            key = (feature, last if statistic in tallied else 0.0)
            if key not in made and statistic in tallied:
                made[key] = state_of(feature, f"tally_{last:.0f}", f"_Tally({last:.0f})")
            elif key not in made:
                alike = [s for s in asked if s.feature == feature and s not in tallied]
                made[key] = state_of(feature, "stream", _stream(alike, declared[feature]))
            numbers = tuple(others) if statistic in tallied else statistic.arguments
            calls[statistic] = f"{owners[scope]}.{made[key].name}.{statistic.kind}", numbers
        observing[scope] = tuple(made.values())
    populations = {
        f: state_of(
            f,
            "population",
            f"_Population({s.lowest}, buckets={s.buckets}, resolution={s.resolution}, unknown={s.unknown!r})",
        )
        for f, s in sorted(plan.shapes(signature).items())
    }
    for statistic in plan.percentiles:
        calls[statistic] = f"{state}.{populations[statistic.feature].name}.percentile", statistic.arguments
    buckets = {f: free_name(f"{_short(f, signature, state)}_bucket", taken) for f in plan.populations}
    return StatisticNames(state, calls, observing, populations, buckets)


def _stream(statistics: list[ir.Statistic], feature: Feature) -> str:
    """Return the call that makes the stream which answers all of these statistics of a feature."""
    written = "".join(f", {name}={value!r}" for name, value in kept_by_stream(statistics).items())
    return f"_Stream({float(feature.unknown)!r}{written})"


def _short(feature: str, signature: Signature, state: str) -> str:
    """Return a feature without its owner if that is clear from the context, else with both joined."""
    owner, _, name = feature.partition(".")
    plain = {state, signature.entity.name if signature.entity is not None else state}
    return name if owner in plain and name else feature.replace(".", "_")


def free_name(name: str, used_names: set[str]) -> str:
    """Return the name, with underscores where it is used already, and add it to the used ones."""
    while name in used_names:
        name += "_"
    used_names.add(name)
    return name
