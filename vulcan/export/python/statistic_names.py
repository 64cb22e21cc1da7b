"""Names of a plan's statistics in an exported module.

Per-entity statistics are attributes of the entity (`obj.count_ewma_0_3`); those of the whole system, and percentiles
over the live entities, belong to one argument of the function, its state (`cache.size_avg`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.anvil.grammar.tables import Scope
from vulcan.anvil.plan import Plan
from vulcan.task import Global, Signature

WINDOW = "_Window"
TALLY = "_Tally"
POPULATION = "_Population"
"""Runtime classes that hold the state of statistics."""

_METHODS = {"window_avg": "mean", "window_percentile": "percentile"}
"""Method names of windows and tallies that differ from the name of the statistic in Anvil."""


@dataclass(frozen=True, slots=True)
class StatisticState:
    """The state of a statistic of a feature, stored in an attribute called `name`.

    `what` is `latest`, `avg`, `min`, `max`, `ewma`, or the runtime class that holds it. `argument` is the alpha of a
    moving average, the length of a window or tally, and 0 elsewhere.
    """

    feature: str
    what: str
    argument: float
    name: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """The expression that reads a statistic: `attribute` of an argument, or a call of it with `arguments`."""

    attribute: str
    is_call: bool = False
    arguments: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticNames:
    """The names that a plan's statistics need in an exported module.

    `state` is the argument that the system's statistics belong to. `state_features` is the state of each entity and of
    the system. By feature, `buckets` are the entity's attributes for its bucket in the population, and `percentiles`
    the methods of the state that query that population. `observations` is the attribute that counts an entity's.
    """

    state: str
    spellings: Mapping[ir.Statistic, Spelling]
    state_features: Mapping[Scope, tuple[StatisticState, ...]]
    buckets: Mapping[str, str]
    percentiles: Mapping[str, str]
    observations: str

    @property
    def has_state(self) -> bool:
        """True if there is any state of the system or its populations."""
        return bool(self.state_features["system"] or self.percentiles)

    @property
    def runtime(self) -> frozenset[str]:
        """The runtime classes that are needed."""
        kept = {k.what for scope in self.state_features for k in self.state_features[scope]} & {WINDOW, TALLY}
        return frozenset(kept | ({POPULATION} if self.percentiles else set()))


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
    taken = {name.rpartition(".")[2] for name, _ in signature.features()}
    spelled: dict[ir.Statistic, Spelling] = {}
    kept: dict[Scope, tuple[StatisticState, ...]] = {}
    for scope in ("entity", "system"):
        made: dict[tuple[str, str, float], StatisticState] = {}
        recents = _longest_recents(plan.of_scope(scope))
        for statistic in plan.of_scope(scope):
            key = _key(statistic, recents)
            if key not in made:
                made[key] = StatisticState(*key, free_name(_name(key, signature, state), taken))
            spelled[statistic] = _spelling(statistic, f"{owners[scope]}.{made[key].name}", key[1])
        kept[scope] = tuple(made.values())
    short = {feature: _short(feature, signature, state) for feature in plan.populations}
    percentiles = {feature: free_name(f"{name}_percentile", taken) for feature, name in short.items()}
    for statistic in plan.percentiles:
        method = f"{state}.{percentiles[statistic.feature]}"
        spelled[statistic] = Spelling(method, True, statistic.arguments)
    return StatisticNames(
        state,
        spelled,
        kept,
        buckets={feature: free_name(f"{name}_bucket", taken) for feature, name in short.items()},
        percentiles=percentiles,
        observations=free_name("observations", taken),
    )


def _longest_recents(statistics: tuple[ir.Statistic, ...]) -> Mapping[str, float]:
    """Return the furthest lookback of `recent` per feature, as one window serves all of them."""
    longest: dict[str, float] = {}
    for statistic in statistics:
        if statistic.kind == "recent":
            longest[statistic.feature] = max(longest.get(statistic.feature, 0.0), *statistic.arguments)
    return longest


def _key(statistic: ir.Statistic, recents: Mapping[str, float]) -> tuple[str, str, float]:
    """Return the feature, kind and argument of the state that a statistic needs."""
    match statistic.kind:
        case "recent":
            return statistic.feature, WINDOW, recents[statistic.feature]
        case "count" | "contains" if statistic.scope == "system":
            return statistic.feature, TALLY, statistic.arguments[-1]
        case "window_avg" | "window_percentile" | "count" | "contains":
            return statistic.feature, WINDOW, statistic.arguments[-1]
        case kind:
            return statistic.feature, kind, sum(statistic.arguments)


def _spelling(statistic: ir.Statistic, attribute: str, what: str) -> Spelling:
    if what not in (WINDOW, TALLY):
        return Spelling(attribute)
    arguments = statistic.arguments if statistic.kind == "recent" else statistic.arguments[:-1]
    return Spelling(f"{attribute}.{_METHODS.get(statistic.kind, statistic.kind)}", True, arguments)


def _name(key: tuple[str, str, float], signature: Signature, state: str) -> str:
    feature, what, argument = key
    word = {WINDOW: "last", TALLY: "tally"}.get(what, what)
    number = "_" + repr(argument).removesuffix(".0").replace(".", "_") if argument else ""
    return f"{_short(feature, signature, state)}_{word}{number}"


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
