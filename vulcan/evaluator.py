"""The contract between the framework and a simulator.

An evaluator may be twenty lines of plain Python around a simulator of one's own: the compiled policy it is
handed is an ordinary callable there (`Policy.reference()`), and native speed is an option, never a duty.

Where a task declares several functions (`Task.others`), a policy has them all, with one state:

    policy.native(layout).scores["leave"]          the address of each function; `score` is the main one
    reference = policy.reference()
    reference(features, key)                       the main function
    reference.ask("leave", features)               any function, by its name

All functions take the same blocks (`globals`, `entity`, `statistics`), the layout places what any of them may read, and
an event (`enter`, `update`, `leave`, or `observe` and `forget`) is told once, with the features of all of them set.
`policy.function("leave")` is one function alone, with `native(layout)` and `reference()` of its own: it keeps its own
statistics only, in blocks of its own, and has then to be told of every event by itself.

Features of a group that is observed on an occasion (`Global.observed`, such as `round_trip`) take no part in those
events. When the occasion has come, and its features are set, the evaluator says so: `native.occasions["round_trip"]` is
called as `update` is (0 where the policy asks for nothing of them), or
`reference.observe_occasion("round_trip", features)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from vulcan.errors import UserError
from vulcan.task import Json, Metrics, Split, Task

if TYPE_CHECKING:
    from vulcan.anvil import Policy

SplitName = Literal["train", "validation", "test"]
BaselineKind = Literal["baseline", "bound"]


@dataclass(frozen=True, slots=True)
class Instance:
    """One thing to be measured on: a workload and a configuration. `parameters` is all an evaluator needs."""

    name: str
    split: SplitName
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Rung:
    """A cheaper version of what a search is measured on, to tell candidates that are not worth more.

    `instances` has one for each of the search's training instances, in their order: a cheaper one, or the instance
    itself where there is none. `keep` is the share of candidates that goes on to the next rung, and `cost` about what
    a score on the rung costs, as a share of a full one: it says how early and how often tuning is worth its price.
    Scores on a rung rank candidates, and are never shown as results (successive halving: Jamieson and Talwalkar,
    AISTATS 2016). Raises ValueError for a share outside of (0, 1], or no instance.
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
    """A simulator as the framework sees it. Each method must be deterministic."""

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """What to measure on, under these settings. Raises UserError for a setting that makes no sense."""

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Load and warm up all that `evaluate` will touch; afterwards it must open and compile nothing."""

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """Run the policy on the instance. Must not keep state from one call to the next."""

    def baselines(self) -> Mapping[str, BaselineKind]:
        """The known policies to compare with, in the order they are shown."""

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """Run a known policy on the instance, with the same metrics as `evaluate`; may cache on disk."""


@runtime_checkable
class OffersRungs(Protocol):
    """What an evaluator may offer besides: cheaper versions of its instances."""

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Cheaper versions of training instances, the cheapest first; none where nothing is cheaper.

        Their instances are of the split `train` and have names of their own; `evaluate` and `evaluate_baseline`
        take them like any other.
        """


@runtime_checkable
class OffersDecisions(Protocol):
    """What an evaluator may offer besides: telling policies that decide alike."""

    def decisions(self, policy: Policy) -> str:
        """A digest of the policy's decisions on a short probe: equal for policies that decide alike there.

        Called after `prepare`; must be as deterministic as `evaluate`, and take far less time.
        """


@runtime_checkable
class OffersFingerprints(Protocol):
    """What an evaluator may offer besides: what its instances are like, so that a policy can be chosen by it."""

    def workload_setting(self) -> str:
        """The repeatable setting of the task that names workloads: files, or texts that describe one."""

    def fingerprint(self, instance: Instance, first: int) -> Mapping[str, float]:
        """What the instance is like, by its `first` events alone and in numbers: the same names for every instance, all
        finite. Numbers are compared between instances: they should not say what only the length of one tells.
        """

    def opening(self, instance: Instance, first: int) -> Instance:
        """The `first` events of the instance, as an instance: what policies are tried on before one is chosen.

        `evaluate` and `evaluate_baseline` take it like any other; its name is its own.
        """


@runtime_checkable
class OffersOnlineFingerprints(OffersFingerprints, Protocol):
    """Fingerprints that can be made where a policy is in use."""

    def fingerprint_source(self) -> str:
        """The text of a Python module that makes the same fingerprints without Vulcan; what of it is used stands in the
        task's template for selectors (`vulcan.portfolio.export`)."""


def rungs_of(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[Rung, ...]:
    """The rungs that the evaluator offers for these instances, the cheapest first; none from one that offers none.

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
    """The digest of the policy's decisions; None from an evaluator that does not offer it."""
    return evaluator.decisions(policy) if isinstance(evaluator, OffersDecisions) else None


def load_evaluator(task: Task) -> Evaluator:
    """The task's evaluator, imported and constructed. Raises UserError where that fails."""
    module_name, _, class_name = task.evaluator.partition(":")
    try:
        evaluator = getattr(importlib.import_module(module_name), class_name)()
    except (ImportError, AttributeError) as error:
        raise UserError(f"task {task.name!r}: its evaluator {task.evaluator!r} does not load: {error}") from error
    if not isinstance(evaluator, Evaluator):
        raise UserError(f"task {task.name!r}: {task.evaluator!r} has not all the methods of vulcan.evaluator.Evaluator")
    return evaluator
