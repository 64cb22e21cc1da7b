"""A task's declaration: what a policy may read, what it decides, and what counts as good.

One `Task` drives everything else: the prompt, the checker's rules, the memory layout of a compiled policy,
the properties to prove and the exported module's signature are all derived from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from vulcan.interface import (
    MAX_EXACT_INTEGER,
    Argument,
    Entity,
    Event,
    Feature,
    Global,
    History,
    Hook,
    Json,
    Mechanism,
    Program,
    Rank,
    Record,
    Scalar,
    Signature,
    StateLimits,
    Value,
    check_functions,
    check_name,
    event,
    offered_argument,
    together,
)
from vulcan.properties import Property

__all__ = [
    "MAX_EXACT_INTEGER",
    "MECHANISM",
    "Argument",
    "Entity",
    "Event",
    "Feature",
    "Form",
    "Global",
    "History",
    "Hook",
    "Json",
    "Mechanism",
    "Metrics",
    "Objective",
    "Program",
    "Property",
    "Rank",
    "Record",
    "Scalar",
    "Setting",
    "Signature",
    "Split",
    "StateLimits",
    "Task",
    "Value",
    "event",
]

_KEEPS_STATE = re.compile(r"^(class|def on_)", re.MULTILINE)
"""Source that declares state or handles an event; no other policy has a class."""

MECHANISM = "MECHANISM"
"""What a policy calls the mechanism that it names in a line of its module, where its task has several."""

Metrics = Mapping[str, float]
"""Metrics of one evaluation of one instance, by name."""


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective: turns an instance's metrics into one score, higher is better.

    `score(metrics, references)` receives the candidate's metrics on an instance and the metrics of every policy in
    `references` (names of the evaluator's baselines) there.

    The result of a search is summed up in a sentence with the values of `metric`: `label` is what they are, such as
    `misses`, `form` how one is written, such as `.1%`, and `usual` names baselines that are in common use. `lowest` and
    `highest` are the ends of the range of scores, within which intervals are reported.

    `beside` names further metrics that are tabulated wherever scores are: what a good score must not be bought with.

    `unfit(settings)` says why instances under these settings of the task have no such score; None where they have one.
    """

    name: str
    metric: str
    meaning: str
    score: Callable[[Metrics, Mapping[str, Metrics]], float]
    references: tuple[str, ...] = ()
    label: str = ""
    form: str = ".4g"
    usual: tuple[str, ...] = ()
    lowest: float = -math.inf
    highest: float = math.inf
    beside: tuple[str, ...] = ()
    unfit: Callable[[Mapping[str, Json]], str | None] = lambda settings: None

    def __post_init__(self) -> None:
        if not isinstance(self.references, tuple | list):
            raise ValueError(f"objective {self.name!r}: references are names of baselines, not {self.references!r}")

    def spelled(self, value: float, *, label: bool = False) -> str:
        """Return a value of the metric as a sentence has it, with or without saying what it is."""
        text = format(value, self.form).replace("%", " %")
        return f"{text} {self.label or self.metric.replace('_', ' ')}" if label else text


def log_reduction(metric: str, name: str, what: str, label: str, reference: str, **further: Any) -> Objective:
    """Return the objective of a low metric, `what` in words: the logarithm of its ratio to a baseline's.

    A tenth less is the same number at every level. `further` are fields of the objective.
    """

    def score(metrics: Metrics, references: Mapping[str, Metrics]) -> float:
        return math.log(references[reference][metric] / metrics[metric])

    meaning = (
        f"the natural logarithm of {what} with {reference} over that with the policy: ln({reference} / x); "
        "0.105 is a tenth less, 0.69 half"
    )
    return Objective(name, metric, meaning, score, references=(reference,), label=label, **further)


def relative_reduction(metric: str, name: str, what: str, reference: str, **further: Any) -> Objective:
    """Return the objective of a low metric, `what` in words: its symmetric improvement over a baseline's.

    It is from -1 to 1, so that no instance outweighs the others. `further` are fields of the objective.
    """

    def score(metrics: Metrics, references: Mapping[str, Metrics]) -> float:
        mine, theirs = metrics[metric], references[reference][metric]
        return (theirs - mine) / max(theirs, mine) if theirs != mine else 0.0

    meaning = f"relative reduction of {what} against {reference.upper()}: ({reference} - x) / max({reference}, x)"
    return Objective(name, metric, f"{meaning}, from -1 to 1", score, references=(reference,), **further)


SplitName = Literal["train", "validation", "test"]


@dataclass(frozen=True, slots=True)
class Split:
    """The division of the evidence into shares for the search, for choosing the winner, and for one final test.

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
    """An option of the task's evaluator, offered on the command line as `--name`.

    With `in_policy`, a policy may choose for itself among the `choices`, with a line such as `NAME = "choice"` at the
    top of its module; the option is for policies without one.
    """

    name: str
    type: Literal["text", "int", "float", "flag"]
    meaning: str
    default: Json = None
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    in_policy: bool = False

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Caution:
    """A metric that no winner should have above a limit: results and exports then carry a warning.

    `meaning` says what such a policy does, to follow "it": "loses over 5 % of its packets".
    """

    metric: str
    above: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Form:
    """The functions of the policies of further mechanisms, and what is said of them, as in `Task`."""

    signature: Rank | Value
    others: tuple[Rank | Value, ...] = ()
    properties: tuple[Property, ...] = ()
    advice: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Task:
    """A complete task declaration. `evaluator` is an import path, `package.module:Class`.

    `directory` is that of the task pack, with `prompt.md.j2` and `policies/*.py`. `operations` bounds the operations of
    one call of each of the policy's functions. `axes` are the metrics that a map of behaviour shows at first, across
    and up.

    `signature` is the main function. `others` are further functions that every policy defines in the same module: they
    share its parameters and helpers, none calls another, and each sees only its own arguments. Arguments of one name
    mean the same in all of them and must be declared equally, and so must the statistics of a feature: the policy has
    one state for all its functions. There is at most one kind of entity.

    Where the functions name several mechanisms, a policy names its own in a line such as `MECHANISM = "heap"`, without
    which it is the first one, and defines those functions that name it. Mechanisms that use other functions, or show
    them other arguments, have a `Form` of their own. A checked policy's task is the one that `of_policy` returns; its
    `whole` is the task as it is declared.

    `events` are the occurrences that a policy may handle to change its own state, within `state_limits`; it defines a
    function for any of them, or for none. What was said of the arguments of `others` holds for theirs. A task without
    events has policies without state.

    Where `signature` is a `Program` the policy is a class of free Python (`vulcan.python_policy`); it has no `others`.
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
    axes: tuple[str, str] | None = None
    cautions: tuple[Caution, ...] = ()
    others: tuple[Rank | Value, ...] = ()
    events: tuple[Event, ...] = ()
    state_limits: StateLimits = field(default_factory=StateLimits)
    forms: tuple[Form, ...] = ()
    whole: Task | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name, "task")
        if not self.objectives:
            raise ValueError(f"task {self.name!r} declares no objective")
        if isinstance(self.signature, Program) and (self.others or self.properties or self.events):
            raise ValueError(
                f"task {self.name!r}: PROGRAM goes with no other function and no event, and nothing is proved of it"
            )
        check_functions(self.name, (*self.functions, *self.events))
        known = [signature.function for signature in self.functions]
        for declared in self.properties:
            if declared.function is not None and declared.function not in known:
                raise ValueError(
                    f"task {self.name!r}, property {declared.name!r}: no function is called {declared.function!r}; "
                    f"there are {', '.join(known)}"
                )
        if self.signature.optional:
            raise ValueError(f"task {self.name!r}: its main function cannot be optional")
        if len(set(self.mechanisms)) < len(self.mechanisms):
            raise ValueError(f"task {self.name!r}: two mechanisms share a name, of {', '.join(self.mechanisms)}")

    @property
    def functions(self) -> tuple[Rank | Value | Program, ...]:
        """Every function that a policy must define, the main one first."""
        return (self.signature, *self.others)

    def function(self, name: str | None = None) -> Rank | Value | Program:
        """Return the declaration of that function, by default the main one. Raises KeyError."""
        return self.signature if name is None else {each.function: each for each in self.functions}[name]

    def alone(self, name: str) -> Task:
        """Return the task with only one of its functions, and the properties claimed of it. Raises KeyError."""
        own = [claim for claim in self.properties if (claim.function or self.signature.function) == name]
        properties = tuple(replace(claim, function=None) for claim in own)
        main = replace(self.function(name), optional=False)
        return replace(self, signature=main, others=(), properties=properties, whole=None)

    @cached_property
    def kinds(self) -> tuple[Task, ...]:
        """The task of the policies of each form, the main one first, with all functions that these may define."""
        if not self.forms:
            return (self,)
        main = replace(self, forms=(), whole=self)
        return (main, *(replace(main, **{f.name: getattr(form, f.name) for f in fields(form)}) for form in self.forms))

    @cached_property
    def mechanisms(self) -> tuple[str, ...]:
        """The names of all mechanisms; where there are several, policies name theirs, and the first is the default."""
        if self.whole is not None:
            return self.whole.mechanisms
        signatures = (self.signature, *(form.signature for form in self.forms))
        return tuple(mechanism.name for signature in signatures for mechanism in signature.mechanisms)

    @property
    def mechanism(self) -> str:
        """The name of the main function's first mechanism: of a policy's task, that of the policy; else the default."""
        return next((mechanism.name for mechanism in self.signature.mechanisms), "")

    def of_policy(self, mechanism: str, defined: Collection[str] | None = None) -> Task:
        """Return the task of policies with this mechanism that define those of the optional functions, by default all.

        Raises KeyError for a mechanism that the task does not have.
        """
        whole = self.whole or self
        is_plain = len(whole.mechanisms) < 2 and not any(each.optional for each in whole.functions)
        if is_plain or isinstance(whole.signature, Program):
            return whole
        for kind in whole.kinds:
            if mechanism in (each.name for each in kind.signature.mechanisms):
                return whole._variant(kind, mechanism, defined)
        raise KeyError(mechanism)

    def _variant(self, kind: Task, mechanism: str, defined: Collection[str] | None) -> Task:
        left: list[Any] = []
        for declared in kind.functions:
            own = tuple(each for each in declared.mechanisms if each.name == mechanism)
            is_omitted = declared.optional and defined is not None
            if (own or not declared.mechanisms) and not (is_omitted and declared.function not in (defined or ())):
                left.append(replace(declared, mechanisms=own))
        names = tuple(declared.function for declared in left)
        if (mechanism, names) not in self._variants:
            main = kind.signature.function
            claims = tuple(claim for claim in kind.properties if (claim.function or main) in names)
            made = replace(kind, signature=left[0], others=tuple(left[1:]), properties=claims, forms=(), whole=self)
            self._variants[mechanism, names] = made
        return self._variants[mechanism, names]

    @cached_property
    def _variants(self) -> dict[tuple[str, tuple[str, ...]], Task]:
        return {}

    def offered(self, settings: Mapping[str, Json], hidden: Collection[str] = ()) -> Task:
        """Return the task as a search with these settings shows it to who writes policies.

        It has no feature of which `Feature.only` names another value of a setting, and none of the `hidden` ones, such
        as `obj.size` or the name of an event or a further function.
        """

        def limited(declared: Any) -> Any:
            left = tuple(offered_argument(argument, settings, hidden) for argument in declared.arguments)
            return declared if left == declared.arguments else replace(declared, arguments=left)

        def shown(of: Any) -> Any:
            main = limited(of.signature)
            events = tuple(limited(event) for event in of.events if event.function not in hidden)
            others = tuple(limited(other) for other in of.others if other.function not in hidden)
            if (main, others, events) == (of.signature, of.others, of.events):
                return of
            left = (claim for claim in of.properties if claim.subject not in hidden)
            claims = tuple(replace(claim, when=_without(hidden, claim.when)) for claim in left)
            return replace(of, signature=main, others=others, events=events, properties=claims)

        forms = tuple(map(shown, self.forms))
        made: Task = shown(self)
        return made if forms == self.forms else replace(made, forms=forms)

    @cached_property
    def policy_choices(self) -> dict[str, tuple[str, ...]]:
        """What policies may choose for themselves, by the name that they give it in their modules."""
        mechanism = {MECHANISM: self.mechanisms} if len(self.mechanisms) > 1 else {}
        return mechanism | {setting.name.upper(): setting.choices for setting in self.settings if setting.in_policy}

    def event(self, name: str) -> Event:
        """Return the declaration of that event. Raises KeyError."""
        return {declared.function: declared for declared in self.events}[name]

    @cached_property
    def interface(self) -> Signature:
        """The main function's declaration, extended by every argument of the others."""
        return together(self.functions) if self.others else self.signature

    @cached_property
    def whole_interface(self) -> Signature:
        """The interface of a policy that handles events: extended by every argument of the events too."""
        return together((*self.functions, *self.events)) if self.events else self.interface

    def objective(self, name: str | None = None) -> Objective:
        """Return the objective of that name, by default the first one. Raises KeyError."""
        return self.objectives[0] if name is None else {each.name: each for each in self.objectives}[name]

    def seed_policies(self) -> dict[str, str]:
        """Return the source of each policy shipped with the task, by name: those without state first, then by name."""
        folder = self.directory / "policies"
        sources = [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py"))]
        if isinstance(self.signature, Program):
            return dict(sources)
        return dict(sorted(sources, key=lambda named: _KEEPS_STATE.search(named[1]) is not None))


def _without(hidden: Collection[str], condition: str | None) -> str | None:
    """Return the condition without what it says of hidden features; None where nothing is left."""
    said = condition.split(" and ") if condition else ()
    left = [each for each in said if not set(re.findall(r"[a-z_]+\.[a-z_]+", each)) & set(hidden)]
    return " and ".join(left) or None
