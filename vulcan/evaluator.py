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

Features that are observed on an occasion (`observed` of a `Global` or `Feature`, such as `round_trip`) take no part in
those events. When the occasion occurs, and its features are set, the evaluator calls `native.occasions["round_trip"]`
as it calls `update` (the address is 0 where the policy uses no statistic of them), or
`reference.observe_occasion("round_trip", features)`.

Where the task declares events (`Task.events`), the evaluator reports each to the policies that handle it: it calls
`native.events["on_hit"]`, if there is one, as it calls `update`, or `reference.handle("on_hit", features, key)`. When
nothing is remembered of an entity any more, `native.release` or `reference.release(key)` drops its fields.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

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


def equal_windows(instance: Instance, count: int, least: int = 1) -> list[Instance]:
    """Return `count` consecutive blocks of equal length; none if they would have fewer than `least` events.

    For evaluators that measure an instance from its parameter `measure_from` to `measure_to`.
    """
    first, last = (cast(int, instance.parameters[name]) for name in ("measure_from", "measure_to"))
    if last - first < least * count:
        return []
    ends = [first + (last - first) * n // count for n in range(count + 1)]
    return [
        replace(
            instance,
            name=f"{instance.name} window {n}",
            parameters={**instance.parameters, "measure_from": start, "measure_to": end},
        )
        for n, (start, end) in enumerate(pairwise(ends), 1)
    ]


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


@runtime_checkable
class OffersNotes(Protocol):
    """An optional capability of evaluators: saying what was left out or changed when the workloads were read."""

    def notes(self, instance: Instance) -> Sequence[str]:
        """Return a line for each workload of the instance of which there is something to say."""


def notes_on(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[str, ...]:
    """Return what the evaluator has to say of the instances' workloads, each line once."""
    if not isinstance(evaluator, OffersNotes):
        return ()
    return tuple(dict.fromkeys(line for instance in instances for line in evaluator.notes(instance)))


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

        `evaluate` and `evaluate_baseline` accept it like any other; it has its own name. It should tell policies apart
        as the whole instance would, so that a resource which so few events hardly use may be smaller.
        """

    def events(self, instance: Instance) -> int:
        """Return how many events the instance has."""


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
