"""What a user declares: what a policy may see, what it decides, and what counts as good.

One `Task` drives everything else: the prompt, the checker's rules, the memory layout of a compiled policy,
the properties to prove and the exported module's signature are all derived from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

Metrics = Mapping[str, float]
"""What one evaluation of one instance measured, by metric name."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

LARGEST_EXACT_INTEGER = float(2**53)
"""Policies compute in float64, where integers are exact up to here."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def _check_name(name: str, what: str) -> None:
    if not _NAME.match(name):
        raise ValueError(f"{what} {name!r}: a name is lower-case letters, digits and underscores")


@dataclass(frozen=True, slots=True)
class Feature:
    """A quantity that a policy may read.

    `low` and `high` bound every value the evaluator will ever show; interval analysis and proofs rely on them.
    `unknown` is what a statistic of the feature gives before it has observed anything. `resolution` is the bits
    behind the leading one that population percentiles keep of a value: they err by at most 2**-resolution of it.
    """

    name: str
    type: Literal["int", "float", "bool"]
    unit: str
    low: float
    high: float
    meaning: str
    unknown: float = 0.0
    resolution: int = 7

    def __post_init__(self) -> None:
        _check_name(self.name, "feature")
        if not 1 <= self.resolution <= 16:
            raise ValueError(f"feature {self.name!r}: resolution {self.resolution} is not from 1 to 16")
        if not self.low <= self.high:
            raise ValueError(f"feature {self.name!r}: low {self.low} is above high {self.high}")
        if not max(abs(self.low), abs(self.high)) <= 1e300:
            raise ValueError(f"feature {self.name!r}: its range must stay within 1e300")


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument that is itself one feature, such as `now`."""

    feature: Feature

    @property
    def name(self) -> str:
        return self.feature.name


@dataclass(frozen=True, slots=True)
class Entity:
    """An argument that stands for the thing being ranked, such as `obj`; its features are read as `obj.size`.

    `key` names the feature that identifies the entity, the only argument a `History` is asked with.
    `population` is the global argument (such as `cache`) under which percentiles over all live entities are
    read: `cache.size.percentile(0.9)`.
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
    they observe when the evaluator says that it has come, and at no other time.
    """

    name: str
    meaning: str
    features: tuple[Feature, ...]
    observed: str | None = None

    def __post_init__(self) -> None:
        if self.observed is not None:
            _check_name(self.observed, "occasion")


@dataclass(frozen=True, slots=True)
class History:
    """An argument that remembers the entities that left most recently, such as a ghost list.

    Asked as `ghost.contains(obj.id)`, `ghost.count(obj.id)` and `ghost.age(obj.id)`; `count` repeats the entity
    feature named by `count_of` as it was on leaving, `age` is the time since then, both 0 for an absent entity.
    """

    name: str
    meaning: str
    entity: str
    count_of: str
    age_unit: str


Argument = Scalar | Entity | Global | History


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How the evaluator uses a policy's numbers. *When* it calls the policy is part of the interface.

    `meaning` is whole sentences; it may name the task's settings in braces, as `{sample_size}`.
    """

    name: str
    meaning: str

    def spelled(self, settings: Mapping[str, Json]) -> str:
        """The meaning under these settings."""
        return self.meaning.format(**settings)


@dataclass(frozen=True, slots=True)
class Signature:
    """The function that a policy must define."""

    function: str
    arguments: tuple[Argument, ...]
    returns: str

    def __post_init__(self) -> None:
        _check_name(self.function, "function")
        names = [argument.name for argument in self.arguments]
        for name in names:
            _check_name(name, "argument")
        if len(set(names)) != len(names):
            raise ValueError(f"function {self.function!r}: two arguments share a name")
        read_as = {name for name, _ in self.features()}
        entity = self.entity
        population = entity.population if entity else None
        for feature in entity.features if entity and population else ():
            if (name := f"{population}.{feature.name}") in read_as:
                raise ValueError(f"function {self.function!r}: {name} is a feature, and the population of another one")

    def features(self) -> Iterator[tuple[str, Feature]]:
        """Every plain feature with the name it is read by: `now`, `obj.size`, `cache.used`."""
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
        """The occasion at which the statistics of a feature observe, by the feature's name; those that have one."""
        return {
            f"{argument.name}.{feature.name}": argument.observed
            for argument in self.arguments
            if isinstance(argument, Global) and argument.observed is not None
            for feature in argument.features
        }

    @property
    def entity(self) -> Entity | None:
        return next((a for a in self.arguments if isinstance(a, Entity)), None)


@dataclass(frozen=True, slots=True)
class Rank(Signature):
    """RANK: a score for each entity; the mechanism picks from the scores."""

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
    high: float = LARGEST_EXACT_INTEGER
    mechanisms: tuple[Mechanism, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """An argument of a hook that stands for something that happened, such as `request`; read as `request.size`."""

    name: str
    meaning: str
    features: tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Hook:
    """A method that a PROGRAM policy defines, and what it is called for.

    `arguments` are those behind `self`; all their features are whole numbers. `returns` is what becomes of its result:
    `nothing`, `int` (a whole number) or `bool` (whether it is true); `result` says what it means. An `optional` hook
    may be left out.
    """

    name: str
    arguments: tuple[Scalar | Record, ...]
    meaning: str
    returns: Literal["nothing", "int", "bool"] = "nothing"
    result: str = ""
    optional: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name, "hook")
        for argument in self.arguments:
            _check_name(argument.name, "argument")
            for feature in argument.features if isinstance(argument, Record) else (argument.feature,):
                if feature.type != "int":
                    raise ValueError(f"hook {self.name!r}: {feature.name!r} is not a whole number")

    @property
    def width(self) -> int:
        """How many numbers the hook is called with."""
        return sum(len(a.features) if isinstance(a, Record) else 1 for a in self.arguments)


_CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]*\Z")


@dataclass(frozen=True, slots=True)
class Program(Signature):
    """PROGRAM: a class of free Python, of which the evaluator calls the hooks.

    `function` is the name of the class, `arguments` what an instance is made with: whole numbers alone.
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

    def hook(self, name: str) -> Hook:
        """The hook of that name. Raises KeyError."""
        for hook in self.hooks:
            if hook.name == name:
                return hook
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Objective:
    """What is good: turns an instance's metrics into one score, higher being better.

    `score(metrics, references)` sees the candidate's metrics on an instance and the metrics that every policy
    in `references` (names of the evaluator's baselines) has there.
    """

    name: str
    metric: str
    meaning: str
    score: Callable[[Metrics, Mapping[str, Metrics]], float]
    references: tuple[str, ...] = ()


_NEEDED = {
    "bounded": (),
    "nondecreasing": ("subject",),
    "nonincreasing": ("subject",),
    "independent": ("subject",),
    "holds": ("claim",),
}
_ALLOWED = {**_NEEDED, "bounded": ("low", "high")}


@dataclass(frozen=True, slots=True)
class Property:
    """Something every policy of the task should satisfy, to be proved or refuted (`vulcan verify`).

    `kind` is what is claimed of the number that the policy's function returns, before any mechanism clamps it:
    `bounded` (it stays within [low, high], of which one may be left out), `nondecreasing` or `nonincreasing` (it does
    not fall, or rise, when the feature `subject` grows, all else equal), `independent` (it is the same for every value
    of `subject`, all else equal), or `holds` (the condition `claim` is true of it).

    Conditions are expressions of Anvil over the function's arguments. A `claim` calls what the policy returned
    `result`: `"result <= flow.cwnd"`. Where `when` is given the property is claimed only of inputs of which it is true,
    of both inputs where two are compared: `"obj.last_access <= now"`.

    Features are anywhere within their declared ranges, independently of one another; `when` is the place to say what
    more is known of them. Statistics and histories answer anything within their bounds, the same in both inputs where
    two are compared. `required` has a search reject the policies that are refuted.

    `function` names the function that this is claimed of, where the task declares several; else it is the main one.
    """

    name: str
    kind: Literal["bounded", "nondecreasing", "nonincreasing", "independent", "holds"]
    meaning: str
    subject: str | None = None
    low: float | None = None
    high: float | None = None
    required: bool = False
    claim: str | None = None
    when: str | None = None
    function: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in _NEEDED:
            raise ValueError(f"property {self.name!r}: its kind is one of {', '.join(_NEEDED)}, not {self.kind!r}")
        given = {name for name in ("subject", "low", "high", "claim") if getattr(self, name) is not None}
        for name in _NEEDED[self.kind]:
            if name not in given:
                raise ValueError(f"property {self.name!r}: {self.kind} needs a {name}")
        for name in sorted(given - set(_ALLOWED[self.kind])):
            raise ValueError(f"property {self.name!r}: {self.kind} takes no {name}")
        if self.kind == "bounded":
            self._check_bounds()

    def _check_bounds(self) -> None:
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not bounds:
            raise ValueError(f"property {self.name!r}: bounded needs a low, a high or both")
        if not all(map(math.isfinite, bounds)) or bounds != sorted(bounds):
            raise ValueError(f"property {self.name!r}: its bounds {bounds} are not two finite numbers in order")


@dataclass(frozen=True, slots=True)
class Split:
    """Which share of the evidence the search sees, which chooses the winner, and which is touched once.

    `by` is `time` (each instance is cut along time, later parts entered with the state the earlier ones left)
    or `none` (one set for everything, as in the published papers).
    """

    train: float = 0.6
    validation: float = 0.2
    test: float = 0.2
    by: Literal["time", "none"] = "time"

    def __post_init__(self) -> None:
        shares = (self.train, self.validation, self.test)
        if min(shares) <= 0 or abs(sum(shares) - 1.0) > 1e-9:
            raise ValueError(f"split {shares}: three positive shares that add up to 1 are needed")


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of the task's evaluator, offered on the command line as `--name`."""

    name: str
    type: Literal["text", "int", "float", "flag"]
    meaning: str
    default: Json = None
    repeatable: bool = False
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Picture:
    """Two metrics of every policy against one another: a point a policy (`vulcan eval --plot`).

    `x` and `y` are names of metrics; the labels say what they are, with the unit. `x_log` is for what spans orders of
    magnitude, `x_reversed` for what is better the smaller it is, so that the best corner is at the upper right.
    """

    name: str
    x: str
    y: str
    x_label: str
    y_label: str
    x_log: bool = False
    x_reversed: bool = False


def _check_functions(task: str, functions: tuple[Signature, ...]) -> None:
    """Raises ValueError where the functions of one policy do not go together."""
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
        _together(functions)  # which finds names that clash across functions


def _together(functions: tuple[Signature, ...]) -> Signature:
    arguments = {argument.name: argument for signature in functions for argument in signature.arguments}
    return Signature(functions[0].function, tuple(arguments.values()), functions[0].returns)


@dataclass(frozen=True)
class Task:
    """A complete declaration. `evaluator` is an import path, `package.module:Class`.

    `directory` is where the task pack lies: `prompt.md.j2` and `policies/*.py` are looked for there.
    `operations` bounds the operations of one call of each of the policy's functions.

    `signature` is the main function. `others` are further functions that every policy defines in the same module:
    they share its parameters and helpers, none calls another, and each sees only its own arguments. Arguments of one
    name mean the same thing wherever they stand, so they are declared equally, and so is a statistic of a feature: the
    policy has one state, whichever of its functions asks. At most one kind of entity takes part.

    Where `signature` is a `Program` the policy is a class of free Python (`vulcan.program`); it has no `others`.
    """

    name: str
    summary: str
    signature: Rank | Value | Program
    evaluator: str
    objectives: tuple[Objective, ...]
    directory: Path
    settings: tuple[Setting, ...] = ()
    properties: tuple[Property, ...] = ()
    split: Split = field(default_factory=Split)
    operations: int = 10_000
    advice: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    others: tuple[Rank | Value, ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name, "task")
        if not self.objectives:
            raise ValueError(f"task {self.name!r} declares no objective")
        if isinstance(self.signature, Program) and (self.others or self.properties):
            raise ValueError(f"task {self.name!r}: PROGRAM goes with no other function, and nothing is proved of it")
        _check_functions(self.name, self.functions)
        known = [signature.function for signature in self.functions]
        for declared in self.properties:
            if declared.function is not None and declared.function not in known:
                raise ValueError(
                    f"task {self.name!r}, property {declared.name!r}: no function is called {declared.function!r}; "
                    f"there are {', '.join(known)}"
                )

    @property
    def functions(self) -> tuple[Rank | Value | Program, ...]:
        """Every function that a policy must define, the main one first."""
        return (self.signature, *self.others)

    def function(self, name: str | None = None) -> Rank | Value | Program:
        """The declaration of that function; of the main one where none is named. Raises KeyError."""
        if name is None:
            return self.signature
        for signature in self.functions:
            if signature.function == name:
                return signature
        raise KeyError(name)

    def alone(self, name: str) -> Task:
        """The same with one of its functions only, and what is claimed of that. Raises KeyError."""
        own = [claim for claim in self.properties if (claim.function or self.signature.function) == name]
        properties = tuple(replace(claim, function=None) for claim in own)
        return replace(self, signature=self.function(name), others=(), properties=properties)

    @cached_property
    def interface(self) -> Signature:
        """What all functions together are shown: the main one's declaration with every argument of the others."""
        return _together(self.functions) if self.others else self.signature

    def objective(self, name: str | None = None) -> Objective:
        """The objective of that name; the first one where none is named. Raises KeyError."""
        if name is None:
            return self.objectives[0]
        for objective in self.objectives:
            if objective.name == name:
                return objective
        raise KeyError(name)

    def seed_policies(self) -> dict[str, str]:
        """The source of each policy shipped with the task, by name, in alphabetical order."""
        folder = self.directory / "policies"
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
