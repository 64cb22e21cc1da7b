"""The vocabulary of a task's declaration: atoms with their units, ranges and directions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from vulcan.anvil import ir
from vulcan.anvil.grammar.tables import Scope
from vulcan.generator.units import Unit, Units, declared_units, on_result_scale
from vulcan.task import Entity, Event, Feature, Global, History, Rank, Scalar, Task, Value

Kind = Literal["entity", "global", "clock", "instant", "history", "scale", "flag"]


@dataclass(frozen=True, slots=True)
class Atom:
    """One readable quantity.

    `kind` determines its use: a `clock` and the `instant`s on it (same unit and range) are used as differences; `scale`
    is on the result's own scale; `flag` is 0 or 1; `entity` and `history` differ between the ranked entities, `global`
    does not. `direction` is +1 or -1 where a declared property says that the result should not fall, or not rise, with
    it, else 0.
    """

    expression: ir.Read | ir.Query
    kind: Kind
    unit: Unit | None
    low: float
    high: float
    whole: bool
    direction: int = 0


@dataclass(frozen=True, slots=True)
class EventVocabulary:
    """Inputs of an event's handler; `key` is the feature that identifies the entity, if it may be hashed."""

    event: Event
    words: Vocabulary
    key: str | None

    @property
    def name(self) -> str:
        return self.event.function

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.event.arguments)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The atoms of a task, and the features that have statistics.

    `streamed` maps features whose observations are worth tracking to the scope in which a statistic can stand in for
    the feature's current value; `ranked` are the features by which all live entities can be compared. `key` is the
    feature that identifies an entity, where it can be looked for among those observed. `events` are those of the task,
    with what their handlers may read.
    """

    task: Task
    units: Units
    atoms: tuple[Atom, ...]
    streamed: Mapping[str, Scope]
    ranked: tuple[str, ...]
    key: str | None
    events: tuple[EventVocabulary, ...] = ()

    def of(self, *kinds: Kind) -> list[Atom]:
        return [atom for atom in self.atoms if atom.kind in kinds]

    def clocks_of(self, instant: Atom) -> list[Atom]:
        return [c for c in self.of("clock") if _same_axis(c, instant)]

    def instants_like(self, instant: Atom) -> list[Atom]:
        return [a for a in self.of("instant") if a is not instant and _same_axis(a, instant)]

    def atom(self, e: ir.Expression) -> Atom | None:
        """Return the atom that the expression reads, or is a statistic of."""
        name = ir.Read(e.feature) if isinstance(e, ir.Statistic) else e
        return next((atom for atom in self.atoms if atom.expression == name), None)

    @property
    def ranks(self) -> bool:
        return isinstance(self.task.signature, Rank)

    @property
    def result_range(self) -> tuple[float, float] | None:
        """The bounds of a VALUE's result; None for a RANK, where only the order of results counts."""
        signature = self.task.signature
        return (signature.low, signature.high) if isinstance(signature, Value) else None


def vocabulary(task: Task) -> Vocabulary:
    """Build the vocabulary of a task. Raises ValueError if its signature declares nothing to read."""
    signature = task.signature
    units = declared_units(signature)
    entity = signature.entity
    hidden = {f"{entity.name}.{entity.key}"} if entity is not None else set()
    hidden |= {q.subject for q in task.properties if q.kind == "independent" and q.subject}
    rising = {q.subject for q in task.properties if q.kind == "nondecreasing" and q.subject}
    declared = {name: feature for name, feature in signature.features() if name not in hidden}
    kinds = _kinds(task, declared)
    atoms = [
        Atom(ir.Read(name), kinds[name], units.read[name], f.low, f.high, f.type != "float", int(name in rising))
        for name, f in declared.items()
    ]
    for argument in signature.arguments:
        if isinstance(argument, History):
            atoms.extend(_answers(argument, declared, units))
    if not atoms:
        raise ValueError(f"task {task.name!r} declares nothing that a policy could read")
    points = frozenset(name for name, kind in kinds.items() if kind == "instant")
    own = [f"{entity.name}.{f.name}" for f in entity.features] if entity is not None else []
    readable = tuple(name for name in own if name in declared and kinds[name] != "flag")
    streamed: dict[str, Scope] = dict.fromkeys(readable, "entity")
    if not isinstance(signature, Rank):  # values shared by the ranked entities do not distinguish them
        streamed |= dict.fromkeys(
            (name for name, kind in kinds.items() if name not in own and kind == "global"), "system"
        )
    is_population = entity is not None and entity.population in [a.name for a in signature.arguments]
    return Vocabulary(
        task,
        Units(units.read, points),
        tuple(atoms),
        streamed,
        ranked=readable if is_population else (),
        key=f"{entity.name}.{entity.key}" if entity is not None and is_population else None,
        events=tuple(known for event in task.events if (known := _of_event(task, event)) is not None),
    )


def _of_event(task: Task, event: Event) -> EventVocabulary | None:
    """Return the vocabulary of an event's handler; None if it is shown nothing that can be read."""
    shown = Value(event.function, event.arguments, event.returns)
    try:
        words = vocabulary(replace(task, signature=shown, others=(), events=(), properties=()))
    except ValueError:
        return None
    entity = shown.entity
    key = f"{entity.name}.{entity.key}" if entity is not None else None
    blind = {q.subject for q in task.properties if q.kind == "independent" and q.required}
    return EventVocabulary(event, words, key if key not in blind else None)


def _kinds(task: Task, declared: Mapping[str, Feature]) -> dict[str, Kind]:
    owners = {argument.name: argument for argument in task.signature.arguments}
    scalars = [name for name in declared if isinstance(owners.get(name), Scalar)]
    grouped = [name for name in declared if isinstance(owners[name.partition(".")[0]], Entity | Global)]
    kinds: dict[str, Kind] = {}
    for name, feature in declared.items():
        if feature.type == "bool":
            kinds[name] = "flag"
        elif on_result_scale(feature, task.signature):
            kinds[name] = "scale"
        elif name in scalars:
            clock = any(_same_declaration(feature, declared[other]) for other in grouped)
            kinds[name] = "clock" if clock else "global"
        elif any(_same_declaration(feature, declared[other]) for other in scalars):
            kinds[name] = "instant"
        else:
            kinds[name] = "entity" if isinstance(owners[name.partition(".")[0]], Entity) else "global"
    return kinds


def _same_declaration(a: Feature, b: Feature) -> bool:
    return (a.unit, a.low, a.high) == (b.unit, b.low, b.high)


def _same_axis(a: Atom, b: Atom) -> bool:
    return (a.unit, a.low, a.high) == (b.unit, b.low, b.high)


def _answers(history: History, declared: Mapping[str, Feature], units: Units) -> list[Atom]:
    count = declared.get(f"{history.entity}.{history.count_of}")
    high = count.high if count is not None else 2.0**40
    unit = units.read
    return [
        Atom(ir.Query(history.name, "contains"), "flag", unit[f"{history.name}.contains"], 0.0, 1.0, True),
        Atom(ir.Query(history.name, "count"), "history", unit[f"{history.name}.count"], 0.0, high, True),
        Atom(ir.Query(history.name, "age"), "history", unit[f"{history.name}.age"], 0.0, 2.0**40, True),
    ]


def near_result_range(atom: Atom, bounds: tuple[float, float]) -> bool:
    """Check whether the atom's range resembles the result's, as the current window's does the next one's."""
    if atom.kind == "scale":
        return True
    if atom.kind not in ("global", "entity"):
        return False
    return abs(math.log1p(abs(atom.high)) - math.log1p(abs(bounds[1]))) < math.log(4.0)
