"""The interface between an evaluator and its policies: what a policy may read and what it decides."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

MAX_EXACT_INTEGER = float(2**53)
"""Bound up to which float64, in which policies compute, represents every integer exactly."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def check_name(name: str, what: str) -> None:
    if not _NAME.match(name):
        raise ValueError(f"{what} {name!r}: a name is lower-case letters, digits and underscores")


def _to_floats(declared: object, *names: str) -> None:
    """Convert whole numbers to floats, as which all bounds are printed and computed with."""
    for name in names:
        object.__setattr__(declared, name, float(getattr(declared, name)))


@dataclass(frozen=True, slots=True)
class Feature:
    """A quantity that a policy may read.

    `low` and `high` bound every value the evaluator can pass; interval analysis and proofs rely on them. `unknown` is
    the value of a statistic of the feature before its first observation. `resolution` is the number of bits after the
    leading one that population percentiles keep of a value: their relative error is at most 2**-resolution. With
    `only`, a setting of the task and its value, a search offers the feature where the setting has that value; policies
    that read it are valid under any. `observed` is the occasion on which statistics of the feature observe, where that
    is not the one of its group (see `Global`).
    """

    name: str
    type: Literal["int", "float", "bool"]
    unit: str
    low: float
    high: float
    meaning: str
    unknown: float = 0.0
    resolution: int = 7
    only: tuple[str, str] | None = None
    observed: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "feature")
        if self.observed is not None:
            check_name(self.observed, "occasion")
        if not 1 <= self.resolution <= 16:
            raise ValueError(f"feature {self.name!r}: resolution {self.resolution} is not from 1 to 16")
        if not self.low <= self.high:
            raise ValueError(f"feature {self.name!r}: low {self.low} is above high {self.high}")
        if not max(abs(self.low), abs(self.high)) <= 1e300:
            raise ValueError(f"feature {self.name!r}: its range must stay within 1e300")
        _to_floats(self, "low", "high", "unknown")


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument that is itself one feature, such as `now`."""

    feature: Feature

    @property
    def name(self) -> str:
        return self.feature.name


@dataclass(frozen=True, slots=True)
class Entity:
    """An argument for the entity being ranked, such as `obj`; its features are read as `obj.size`.

    `key` names the feature that identifies the entity, the only valid argument of a `History` query. `population` is
    the global argument (such as `cache`) through which percentiles over all live entities are read:
    `cache.size.percentile(0.9)`.
    """

    name: str
    meaning: str
    features: tuple[Feature, ...]
    key: str
    population: str | None = None


@dataclass(frozen=True, slots=True)
class Global:
    """An argument that groups features of the whole system, such as `cache`; read as `cache.used`.

    Statistics of its features observe at every event. With `observed`, the name of an occasion such as `round_trip`,
    they observe only when the evaluator reports that occasion.
    """

    name: str
    meaning: str
    features: tuple[Feature, ...]
    observed: str | None = None

    def __post_init__(self) -> None:
        if self.observed is not None:
            check_name(self.observed, "occasion")


@dataclass(frozen=True, slots=True)
class History:
    """An argument that remembers the entities that left most recently, such as a ghost list.

    Queried as `ghost.contains(obj.id)`, `ghost.count(obj.id)` and `ghost.age(obj.id)`; `count` returns the entity
    feature named by `count_of` as of its departure, `age` the time since then, both 0 for an absent entity.
    """

    name: str
    meaning: str
    entity: str
    count_of: str
    age_unit: str


Argument = Scalar | Entity | Global | History


def offered_argument(argument: Argument, settings: Mapping[str, Json], hidden: Collection[str] = ()) -> Argument:
    """Return the argument without hidden features, and those that a search with these settings does not offer."""
    if not isinstance(argument, Entity | Global):
        return argument
    left = tuple(
        f
        for f in argument.features
        if (f.only is None or settings.get(f.only[0]) == f.only[1]) and f"{argument.name}.{f.name}" not in hidden
    )
    return argument if len(left) == len(argument.features) else replace(argument, features=left)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The way in which the evaluator uses a policy's numbers. *When* it calls the policy is part of the interface.

    `meaning` is whole sentences; it may name the task's settings in braces, as `{sample_size}`. `calls` is about how
    many times as often it calls the function as the task's others do.
    """

    name: str
    meaning: str
    calls: float = 1.0

    def description_with(self, settings: Mapping[str, Json]) -> str:
        """Return the meaning, with these settings filled in."""
        return self.meaning.format(**settings)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of a policy, which must define it unless it is `optional`."""

    function: str
    arguments: tuple[Argument, ...]
    returns: str
    optional: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.function, "function")
        names = [argument.name for argument in self.arguments]
        for name in names:
            check_name(name, "argument")
        if len(set(names)) != len(names):
            raise ValueError(f"function {self.function!r}: two arguments share a name")
        read_as = {name for name, _ in self.features()}
        entity = self.entity
        population = entity.population if entity else None
        for feature in entity.features if entity and population else ():
            if (name := f"{population}.{feature.name}") in read_as:
                raise ValueError(f"function {self.function!r}: {name} is a feature, and the population of another one")

    def features(self) -> Iterator[tuple[str, Feature]]:
        """Return every plain feature with the name it is read by: `now`, `obj.size`, `cache.used`."""
        for argument in self.arguments:
            match argument:
                case Scalar(feature):
                    yield feature.name, feature
                case Entity() | Global():
                    for feature in argument.features:
                        yield f"{argument.name}.{feature.name}", feature
                case History():
                    pass

    @property
    def occasions(self) -> dict[str, str]:
        """Return, by feature name, the occasion at which the statistics of a feature observe, where it has one."""
        return {
            f"{argument.name}.{feature.name}": occasion
            for argument in self.arguments
            if isinstance(argument, Global)
            for feature in argument.features
            if (occasion := feature.observed or argument.observed) is not None
        }

    @property
    def entity(self) -> Entity | None:
        return next((a for a in self.arguments if isinstance(a, Entity)), None)


@dataclass(frozen=True, slots=True)
class Rank(Signature):
    """RANK: a score for each entity, from which the mechanism picks."""

    mechanisms: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        Signature.__post_init__(self)
        if sum(isinstance(a, Entity) for a in self.arguments) != 1:
            raise ValueError(f"function {self.function!r}: RANK takes exactly one entity")
        if not self.mechanisms:
            raise ValueError(f"function {self.function!r}: RANK names at least one mechanism")


@dataclass(frozen=True, slots=True)
class Value(Signature):
    """VALUE: one number, which the mechanism clamps to [low, high]."""

    low: float = 0.0
    high: float = MAX_EXACT_INTEGER
    mechanisms: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        Signature.__post_init__(self)
        _to_floats(self, "low", "high")


@dataclass(frozen=True, slots=True)
class Event(Signature):
    """An occurrence that a policy may handle, to change its own state, by defining the function of that name.

    `meaning` says when it happens, in whole sentences. `controls` are what the handler may set besides the policy's
    state, such as a timer: each is written as `ARGUMENT.NAME = ...`, where ARGUMENT is one of the handler's, and cannot
    be read. An event that is `rare` may not happen on small instances, or only with some setting, and `vulcan task
    validate` does not insist that it does.
    """

    meaning: str = ""
    controls: tuple[Global, ...] = ()
    rare: bool = False

    def __post_init__(self) -> None:
        Signature.__post_init__(self)
        if not self.meaning:
            raise ValueError(f"event {self.function!r}: say when it happens")
        names = {argument.name for argument in self.arguments}
        for control in self.controls:
            if control.name not in names:
                raise ValueError(f"event {self.function!r}: it controls {control.name!r}, which it is not shown")

    @property
    def settable(self) -> dict[str, Feature]:
        """Return what the handler may set besides the policy's state, with the name it is set by: `room.queue`."""
        return {f"{control.name}.{feature.name}": feature for control in self.controls for feature in control.features}

    def features(self) -> Iterator[tuple[str, Feature]]:
        """Return every feature that the handler can read; it cannot read what it may set."""
        settable = self.settable
        return ((name, feature) for name, feature in Signature.features(self) if name not in settable)


def event(
    name: str, arguments: tuple[Argument, ...], meaning: str, controls: tuple[Global, ...] = (), rare: bool = False
) -> Event:
    """Declare an event by its name, the arguments of its handler, and when it happens."""
    return Event(name, arguments, "nothing", meaning, controls, rare)


@dataclass(frozen=True, slots=True)
class StateLimits:
    """Bounds on the state of one policy: registers, elements of all arrays together, and fields of an entity."""

    registers: int = 64
    elements: int = 65_536
    fields: int = 8

    def __post_init__(self) -> None:
        if min(self.registers, self.elements, self.fields) < 0:
            raise ValueError(f"{self}: no limit is below 0")


@dataclass(frozen=True, slots=True)
class Record:
    """An argument of a hook that represents an event, such as `request`; read as `request.size`."""

    name: str
    meaning: str
    features: tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Hook:
    """A method that a PROGRAM policy defines, and the event it is called for.

    `arguments` are those after `self`; all their features are integers. `returns` is the use of its result: `nothing`,
    `int` (an integer) or `bool` (its truth value); `result` documents it. An `optional` hook may be omitted.
    """

    name: str
    arguments: tuple[Scalar | Record, ...]
    meaning: str
    returns: Literal["nothing", "int", "bool"] = "nothing"
    result: str = ""
    optional: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "hook")
        for argument in self.arguments:
            check_name(argument.name, "argument")
            for feature in argument.features if isinstance(argument, Record) else (argument.feature,):
                if feature.type != "int":
                    raise ValueError(f"hook {self.name!r}: {feature.name!r} is not a whole number")

    @property
    def width(self) -> int:
        """Number of integers that the hook is called with."""
        return sum(len(a.features) if isinstance(a, Record) else 1 for a in self.arguments)


_CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]*\Z")


@dataclass(frozen=True, slots=True)
class Program(Signature):
    """PROGRAM: a class of free Python whose hooks the evaluator calls.

    `function` is the name of the class, `arguments` those of its constructor: integers only.
    """

    hooks: tuple[Hook, ...] = ()
    mechanisms: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        if not _CLASS_NAME.match(self.function):
            raise ValueError(f"class {self.function!r}: its name is letters and digits, the first a capital")
        names = [hook.name for hook in self.hooks]
        if len(set(names)) != len(names):
            raise ValueError(f"class {self.function!r}: two hooks share a name")
        if not any(not hook.optional for hook in self.hooks):
            raise ValueError(f"class {self.function!r}: PROGRAM names at least one hook that every policy has")
        for argument in self.arguments:
            if not isinstance(argument, Scalar) or argument.feature.type != "int":
                raise ValueError(f"class {self.function!r}: it is made with {argument.name!r}, no whole number")


def check_functions(task: str, functions: tuple[Signature, ...]) -> None:
    """Check that the functions of one policy are consistent. Raises ValueError."""
    where = f"task {task!r}"
    names = [signature.function for signature in functions]
    arguments: dict[str, tuple[str, Argument]] = {}
    for signature in functions:
        if names.count(signature.function) > 1:
            raise ValueError(f"{where}: two functions are called {signature.function!r}")
        for argument in signature.arguments:
            if len(names) > 1 and argument.name in names:
                raise ValueError(f"{where}: {argument.name!r} is a function and an argument of {signature.function!r}")
            other, known = arguments.setdefault(argument.name, (signature.function, argument))
            if known != argument:
                raise ValueError(
                    f"{where}: {signature.function!r} and {other!r} declare the argument {argument.name!r} "
                    "differently; arguments of one name mean the same thing: declare it once and use it in both"
                )
    for signature in functions[1:]:
        own = [argument.name for argument in signature.arguments]
        for argument in signature.arguments:
            if isinstance(argument, History) and argument.entity not in own:
                raise ValueError(
                    f"{where}: {signature.function!r} is shown the history {argument.name!r} without "
                    f"{argument.entity!r}, which it is asked about"
                )
    entities = [name for name, (_, argument) in arguments.items() if isinstance(argument, Entity)]
    if len(functions) > 1 and len(entities) > 1:
        raise ValueError(f"{where}: its functions take entities of different kinds ({', '.join(entities)})")
    if len(functions) > 1:
        together(functions)  # finds names that clash across functions


def together(functions: tuple[Signature, ...]) -> Signature:
    arguments = {argument.name: argument for signature in functions for argument in signature.arguments}
    return Signature(functions[0].function, tuple(arguments.values()), functions[0].returns)
