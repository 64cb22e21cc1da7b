"""The contract between the framework and a simulator.

An evaluator may be twenty lines of plain Python around an existing simulator: the compiled policy it receives is an
ordinary callable (`Policy.reference()`), and native speed is optional.

Where a task declares several functions (`Task.others`), a policy has them all, with one shared state:

    policy.native(layout).scores["leave"]          the address of each function; `score` is the main one
    reference = policy.reference()
    reference(features, key)                       the main function
    reference.ask("leave", features)               any function, by its name

All functions take the same blocks (`globals`, `entity`, `statistics`). The layout has a slot for everything that any of
them may read, and an event (`enter`, `update`, `leave`, or `observe` and `forget`) is reported once, with the features
of all of them set. `policy.function("leave")` is one function alone, with its own `native(layout)` and `reference()`:
it has only its own statistics, in its own blocks, and every event must be reported to it separately.

Features of a group that is observed on an occasion (`Global.observed`, such as `round_trip`) take no part in those
events. When the occasion occurs, and its features are set, the evaluator calls `native.occasions["round_trip"]` as it
calls `update` (the address is 0 where the policy uses no statistic of them), or
`reference.observe_occasion("round_trip", features)`.

Where the task declares events (`Task.events`), the evaluator reports each to the policies that handle it: it calls
`native.events["on_hit"]`, if there is one, as it calls `update`, or `reference.handle("on_hit", features, key)`. When
nothing is remembered of an entity any more, `native.release` or `reference.release(key)` drops its fields.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from vulcan.errors import UserError
from vulcan.task import Json, Metrics, Split, Task

if TYPE_CHECKING:
    from vulcan.anvil import Policy

SplitName = Literal["train", "validation", "test"]
BaselineKind = Literal["baseline", "oracle"]
"""An oracle knows the future; few are proven bounds."""


def shares_in_time(split: Split) -> list[tuple[SplitName, tuple[float, float]]]:
    """Return each part of a split with the shares of an instance's time at which it begins and ends."""
    if split.by == "none":
        return [("train", (0.0, 1.0))]
    first, second = split.train, split.train + split.validation
    return [("train", (0.0, first)), ("validation", (first, second)), ("test", (second, 1.0))]


@dataclass(frozen=True, slots=True)
class Instance:
    """One workload and configuration to measure on. `parameters` is all that an evaluator needs."""

    name: str
    split: SplitName
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Rung:
    """A cheaper version of the training instances, for pruning candidates (successive halving).

    `instances` has one for each of the search's training instances, in their order: a cheaper one, or the instance
    itself where there is none. `keep` is the share of candidates promoted to the next rung. `cost` is the approximate
    cost of a score on the rung as a share of a full one, from which the search decides how early and how often to tune.
    Scores on a rung rank candidates, and are never shown as results (Jamieson and Talwalkar, AISTATS 2016). Raises
    ValueError for a share outside of (0, 1], or no instance.
    """

    name: str
    instances: tuple[Instance, ...]
    keep: float
    cost: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ValueError(f"rung {self.name!r} keeps {self.keep}: a share above 0 and at most 1 is needed")
        if not 0 < self.cost <= 1:
            raise ValueError(f"rung {self.name!r} costs {self.cost}: a share above 0 and at most 1 is needed")
        if not self.instances:
            raise ValueError(f"rung {self.name!r} has no instance")


@runtime_checkable
class Evaluator(Protocol):
    """The simulator interface of the framework. Each method must be deterministic."""

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """Return the instances for these settings. Raises UserError for an invalid setting."""

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Load and warm up everything that `evaluate` uses; after this it must open and compile nothing."""

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """Run the policy on the instance. Must not carry state from one call to the next."""

    def baselines(self) -> Mapping[str, BaselineKind]:
        """Return the baseline policies, in display order."""

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """Run a baseline on the instance, with the same metrics as `evaluate`; may cache on disk."""


@runtime_checkable
class OffersRungs(Protocol):
    """An optional capability of evaluators: cheaper versions of their instances."""

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return cheaper versions of training instances, the cheapest first; none where nothing is cheaper.

        Their instances are of the split `train` and have their own names; `evaluate` and `evaluate_baseline` accept
        them like any other.
        """


@runtime_checkable
class OffersWindows(Protocol):
    """An optional capability of evaluators: blocks of time of their instances, for intervals from few instances."""

    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return `count` consecutive blocks of time that make up the instance, entered with the state before them.

        They have its split and their own names; `evaluate` and `evaluate_baseline` accept them like any other. None
        where the instance is too short.
        """


def windows_of(evaluator: Evaluator, instance: Instance, count: int) -> tuple[Instance, ...]:
    """Return the blocks of time of an instance; none where the evaluator does not offer them."""
    return tuple(evaluator.windows(instance, count)) if isinstance(evaluator, OffersWindows) else ()


@runtime_checkable
class OffersMoreBaselines(Protocol):
    """An evaluator with further baselines on some instances, such as variants that runs from before do not have."""

    def baselines_on(self, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
        """Return every baseline to measure on these instances, those of `baselines` among them, in order."""
        ...


def baselines_on(evaluator: Evaluator, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
    """Return the baselines to measure on these instances."""
    return evaluator.baselines_on(instances) if isinstance(evaluator, OffersMoreBaselines) else evaluator.baselines()


@runtime_checkable
class OffersDecisions(Protocol):
    """An optional capability of evaluators: detecting policies that make the same decisions."""

    def decisions(self, policy: Policy) -> str:
        """Return a digest of the policy's decisions on a short probe, equal for policies that decide alike there.

        Called after `prepare`; must be as deterministic as `evaluate`, and take far less time.
        """


@runtime_checkable
class ExplainsInstances(Protocol):
    """An optional capability of evaluators: recognising instances on which every policy measures the same."""

    def why_indifferent(self, instance: Instance) -> str | None:
        """Return the reason why no policy can differ on the instance, and what to change; None where policies may."""


def why_indifferent(evaluator: Evaluator, instance: Instance) -> str | None:
    """Return why every policy measures the same on the instance; None where they may differ, or nobody knows."""
    return evaluator.why_indifferent(instance) if isinstance(evaluator, ExplainsInstances) else None


MAX_FINDINGS = 40
"""Most findings of one policy on one instance."""

MAX_SENTENCES, MAX_TITLE, MAX_CELL = 1000, 200, 80
"""Longest text of a statement, title of a table or series, and cell of a table or name of an axis, in characters."""

MAX_COLUMNS, MAX_ROWS, MAX_POINTS = 8, 16, 128
"""Largest table and series."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A finding in words: one sentence or a few. `weight` orders findings in a prompt, the highest first.

    Those of weight 0 are for people alone.
    """

    text: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_text(self.text, "a statement", MAX_SENTENCES)
        _check_weight(self.weight)


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A finding as a table: rows of texts and finite numbers, as many in each as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(map(_cell, row)) for row in self.rows))
        _check_text(self.title, "the title of a table", MAX_TITLE)
        _check_weight(self.weight)
        _check_count(self.columns, "columns of a table", MAX_COLUMNS)
        _check_count(self.rows, "rows of a table", MAX_ROWS)
        for column in self.columns:
            _check_text(column, "a column's name", MAX_CELL)
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.title!r}: each row needs {len(self.columns)} cells, one a column")


@dataclass(frozen=True, slots=True)
class Series:
    """A finding as a curve: points of two finite numbers each, in the order of `x`."""

    title: str
    x: str
    y: str
    points: tuple[tuple[float, float], ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple((_finite(x), _finite(y)) for x, y in self.points))
        _check_text(self.title, "the title of a series", MAX_TITLE)
        _check_text(self.x, "the name of an axis", MAX_CELL)
        _check_text(self.y, "the name of an axis", MAX_CELL)
        _check_weight(self.weight)
        _check_count(self.points, "points of a series", MAX_POINTS)


EvaluatorFinding = Statement | SmallTable | Series
"""What an evaluator says of a policy or a workload. Constructing one that is out of bounds raises ValueError."""

_KINDS: Mapping[str, type[EvaluatorFinding]] = {"statement": Statement, "table": SmallTable, "series": Series}


@dataclass(frozen=True, slots=True)
class InstanceFinding:
    """A finding, with the instance and the split that it is of."""

    instance: str
    split: SplitName
    content: EvaluatorFinding

    def to_json(self) -> dict[str, Json]:
        kind = next(name for name, declared in _KINDS.items() if isinstance(self.content, declared))
        return {"instance": self.instance, "split": self.split, "kind": kind, **_plain(self.content)}

    @classmethod
    def from_json(cls, plain: object) -> InstanceFinding:
        """Read what `to_json` wrote. Raises ValueError for anything else."""
        if not isinstance(plain, Mapping):
            raise ValueError("a finding that is not an object")
        fields: dict[str, Any] = dict(plain)
        instance, split, kind = (fields.pop(name, None) for name in ("instance", "split", "kind"))
        if not isinstance(instance, str) or split not in ("train", "validation", "test") or kind not in _KINDS:
            raise ValueError("a finding without its instance, split or kind")
        try:
            return cls(instance, split, _KINDS[kind](**fields))
        except TypeError as error:
            raise ValueError(f"a malformed {kind}") from error


def _plain(content: EvaluatorFinding) -> dict[str, Json]:
    match content:
        case Statement(text, weight):
            return {"text": text, "weight": weight}
        case SmallTable(title, columns, rows, weight):
            return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "weight": weight}
        case Series(title, x, y, points, weight):
            return {"title": title, "x": x, "y": y, "points": [list(point) for point in points], "weight": weight}


def _check_text(text: object, what: str, longest: int) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= longest:
        raise ValueError(f"{what} needs from 1 to {longest} characters")
    text.encode()  # an unpaired surrogate is a ValueError: no prompt could hold it


def _check_weight(weight: object) -> None:
    if _finite(weight) < 0:
        raise ValueError(f"a weight of {weight}: at least 0 is needed")


def _check_count(items: Sequence[object], what: str, most: int) -> None:
    if not 0 < len(items) <= most:
        raise ValueError(f"{len(items)} {what}: from 1 to {most} are possible")


def _cell(value: object) -> str | float:
    if isinstance(value, str):
        if len(value) > MAX_CELL:
            raise ValueError(f"a cell of a table may have {MAX_CELL} characters at most")
        value.encode()
        return value
    return _finite(value)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ValueError(f"{value!r} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return int(number) if isinstance(value, int) and abs(number) < 2**53 else number


@runtime_checkable
class OffersFindings(Protocol):
    """An optional capability of evaluators: explaining where a policy does well or badly.

    In a search it is called in the sandbox, for policies that a prompt shows, on training instances.
    """

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return what the policy does on the instance, the most telling with the highest weight.

        Called after `prepare`; as deterministic as `evaluate`, and at most twice as long as it.
        """


@runtime_checkable
class PreparesFindings(OffersFindings, Protocol):
    """An optional capability of evaluators whose findings need more than `prepare` loads."""

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """Get ready for `findings`, after `prepare` and before any of them; not called where nobody asks for them."""


@runtime_checkable
class DescribesWorkloads(Protocol):
    """An optional capability of evaluators: describing an instance to whoever designs a policy for it."""

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return the properties of the instance that matter to a policy; deterministic, and called after `prepare`."""


@runtime_checkable
class ComparesPolicies(Protocol):
    """An optional capability of evaluators: where two policies differ on an instance, and what that costs."""

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return where the two differ. Called after `prepare`, in the sandbox."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Instances that differ from a given one in one number: `steps` are that number as text, and the instance.

    `x` names the number, and `metric` is what is tabulated over it.
    """

    x: str
    metric: str
    steps: tuple[tuple[str, Instance], ...]


@runtime_checkable
class OffersSweeps(Protocol):
    """An optional capability of evaluators: how a policy does on instances like a given one, e.g. in other caches."""

    def sweep(self, instance: Instance) -> Sweep:
        """Return the instances, training ones, in the order of the number; each has its own name.

        For people alone, who ask for an explanation; a search never does.
        """


def located(findings: Iterable[EvaluatorFinding], instance: Instance) -> tuple[InstanceFinding, ...]:
    """Return an evaluator's findings with their instance. Raises ValueError for ones that break the contract."""
    given = tuple(findings)
    if len(given) > MAX_FINDINGS:
        raise ValueError(f"{len(given)} findings on {instance.name}: at most {MAX_FINDINGS} are possible")
    for one in given:
        if not isinstance(one, EvaluatorFinding):
            raise ValueError(f"a {type(one).__name__} is no finding: return Statement, SmallTable or Series")
    return tuple(InstanceFinding(instance.name, instance.split, one) for one in given)


@runtime_checkable
class OffersFingerprints(Protocol):
    """An optional capability of evaluators: workload fingerprints, by which a policy can be selected."""

    def workload_setting(self) -> str:
        """Return the repeatable task setting that names workloads: files, or texts that describe one."""

    def fingerprint(self, instance: Instance, first: int) -> Mapping[str, float]:
        """Return numeric features of the instance's `first` events: the same names for every instance, all finite.

        Numbers are compared between instances, so they should not depend on an instance's length alone.
        """

    def opening(self, instance: Instance, first: int) -> Instance:
        """Return the `first` events of the instance, as an instance on which policies are tried before one is chosen.

        `evaluate` and `evaluate_baseline` accept it like any other; it has its own name.
        """


@runtime_checkable
class OffersOnlineFingerprints(OffersFingerprints, Protocol):
    """An optional capability: fingerprints that can be computed where a policy is deployed."""

    def fingerprint_source(self) -> str:
        """Return the source of a Python module that computes the same fingerprints without Vulcan.

        The task's template for selectors (`vulcan.portfolio.export`) says which parts of it are used.
        """


def rungs_of(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[Rung, ...]:
    """Return the evaluator's rungs for these instances, the cheapest first; none if it offers none.

    Raises UserError for rungs that break the contract of `OffersRungs`.
    """
    if not isinstance(evaluator, OffersRungs):
        return ()
    rungs = tuple(evaluator.rungs(instances))
    where = f"{type(evaluator).__name__}.rungs"
    if len({rung.name for rung in rungs}) != len(rungs):
        raise UserError(f"{where}: two rungs share a name; give each its own")
    known = {(i.name, i.split): i for i in instances}
    for rung in rungs:
        if len(rung.instances) != len(instances):
            raise UserError(
                f"{where}: rung {rung.name!r} has {len(rung.instances)} instances for {len(instances)}; give one each"
            )
        for instance in rung.instances:
            if instance.split != "train":
                raise UserError(f"{where}: {instance.name!r} is of the split {instance.split}; rungs are for train")
            if known.setdefault((instance.name, instance.split), instance) != instance:
                raise UserError(
                    f"{where}: two different instances are called {instance.name!r}; give each its own name"
                )
    return rungs


def decisions_of(evaluator: Evaluator, policy: Policy) -> str | None:
    """Return the digest of the policy's decisions; None from an evaluator that does not offer it.

    What a policy learns may show only after the short probe: policies with other handlers never have the same digest.
    """
    if not isinstance(evaluator, OffersDecisions):
        return None
    digest = evaluator.decisions(policy)
    learns = getattr(policy, "state_fingerprint", None)  # a policy in free Python has none
    return digest if learns is None else f"{digest} {learns}"


def load_evaluator(task: Task) -> Evaluator:
    """Import and construct the task's evaluator. Raises UserError where that fails."""
    module_name, _, class_name = task.evaluator.partition(":")
    try:
        evaluator = getattr(importlib.import_module(module_name), class_name)()
    except (ImportError, AttributeError) as error:
        raise UserError(f"task {task.name!r}: its evaluator {task.evaluator!r} does not load: {error}") from error
    if not isinstance(evaluator, Evaluator):
        raise UserError(f"task {task.name!r}: {task.evaluator!r} has not all the methods of vulcan.evaluator.Evaluator")
    return evaluator
