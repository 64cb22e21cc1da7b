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
of all of them set.

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

from vulcan.errors import UserError, did_you_mean
from vulcan.findings import MAX_FINDINGS, EvaluatorFinding, InstanceFinding
from vulcan.foreign_code import ForeignCall
from vulcan.task import Json, Metrics, Split, SplitName, Task

if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan.lessons import Lesson
    from vulcan.robustness import GuardSource, SafePolicy

__all__ = [
    "BaselineKind",
    "Evaluator",
    "Instance",
    "Rung",
    "SplitName",
    "Sweep",
    "check_guard",
    "decisions_of",
    "guarded_by",
    "load_evaluator",
    "located",
    "notes_on",
    "rungs_of",
]

BaselineKind = Literal["baseline", "oracle", "not carried"]
"""An oracle knows the future; few are proven bounds. A search marks what the format of its target cannot carry."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One workload and configuration to measure on. `parameters` is all that an evaluator needs.

    `variation_of` names the training instance that the user asked for, where this is one that a search trains on
    beside it; `block_of` the instance of which this one is a block of time.
    """

    name: str
    split: SplitName
    parameters: Mapping[str, Json]
    variation_of: str = ""
    block_of: str = ""

    def to_json(self) -> dict[str, Json]:
        plain: dict[str, Json] = {"name": self.name, "split": self.split, "parameters": dict(self.parameters)}
        return plain | {name: of for name in ("variation_of", "block_of") if (of := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class Rung:
    """A cheaper version of the training instances, for pruning candidates (successive halving).

    `instances` has one for each of the search's training instances, in their order: a cheaper one, or the instance
    itself where there is none. `keep` is the share of candidates promoted to the next rung; one that keeps all is for
    tuning and simplifying alone. `cost` is the approximate cost of a score on the rung as a share of a full one, from
    which the search decides how early and how often to tune.
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


@dataclass(frozen=True, slots=True)
class Sweep:
    """Instances that differ from a given one in one number: `steps` are that number as text, and the instance.

    `x` names the number, and `metric` is what is tabulated over it.
    """

    x: str
    metric: str
    steps: tuple[tuple[str, Instance], ...]


class Evaluator(ABC):
    """What the framework asks of a simulator: five methods, and any of those with a default.

    Each method must be deterministic. `vulcan.simulator.Simulator` has the five for simulators of typed instances.
    """

    describes_before: ClassVar[bool] = False
    """Whether `workload` is also about what comes before what is measured, such as requests that fill a cache."""

    @abstractmethod
    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """Return the instances for these settings. Raises UserError for an invalid setting."""

    @abstractmethod
    def prepare(self, instances: Sequence[Instance]) -> None:
        """Load and warm up everything that `evaluate` uses; after this it must open and compile nothing."""

    @abstractmethod
    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """Run the policy on the instance. Must not carry state from one call to the next."""

    @abstractmethod
    def baselines(self) -> Mapping[str, BaselineKind]:
        """Return the baseline policies, in display order."""

    @abstractmethod
    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """Run a baseline on the instance, with the same metrics as `evaluate`; may cache on disk."""

    def offers(self, method: Callable[..., object]) -> bool:
        """Check whether the evaluator has a method of its own for an optional one, such as `Evaluator.findings`."""
        return getattr(type(self), method.__name__) is not method

    # Searches. Instances that these methods return have names of their own; `evaluate` and `evaluate_baseline` accept
    # them like any other.

    def baselines_on(self, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
        """Return the baselines to measure on these instances, those of `baselines` among them, in order."""
        return self.baselines()

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return cheaper versions of training instances, of the split `train`, the cheapest first."""
        return ()

    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return `count` consecutive blocks of time that make up the instance, entered with the state before them.

        They have its split, and give intervals where instances are few. None, or fewer, where the instance is short;
        instances of one workload have equally many.
        """
        return ()

    def brief(self, instance: Instance) -> Instance:
        """Return a short version of the instance, on which a new process warms up; whole ones may take minutes."""
        return instance

    def decisions(self, policy: Policy) -> str | None:
        """Return a digest of the policy's decisions on a short probe, equal for policies that decide alike there.

        Called after `prepare`; must take far less time than `evaluate`.
        """
        return None

    def why_indifferent(self, instance: Instance) -> str | None:
        """Return the reason why no policy can differ on the instance, and what to change; None where policies may."""
        return None

    def notes(self, instance: Instance) -> Sequence[str]:
        """Return a line for each workload of the instance of which something was left out or changed by its reader."""
        return ()

    # Findings. Called after `prepare`, in the sandbox; of training instances in a search.

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return the properties of the instance that matter to whoever designs a policy for it."""
        return ()

    def hazards(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return how likely what a policy waits for is, by what it may know, in parts of the instance's time."""
        self._lacks("no tables of hazards")

    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        """Return situations of a training instance with what came of each, to which the generator fits programs.

        The gains are what a policy should seek that is judged by this metric. Called before `prepare`.
        """
        return ()

    def prepare_findings(self, instances: Sequence[Instance]) -> None:  # noqa: B027 - optional
        """Get ready for `findings`, after `prepare` and before any of them; not called where nobody asks for them."""

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return what the policy does on the instance, the most telling with the highest weight.

        May take at most twice as long as `evaluate`.
        """
        return ()

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return where two policies differ on the instance, and what that costs."""
        return ()

    def sweep(self, instance: Instance) -> Sweep | None:
        """Return training instances that differ from this one in a number, in its order; for people alone."""
        return None

    # Robustness

    def nearby(self, instance: Instance) -> Sequence[Instance]:
        """Return variations of a training instance, of the split `train`, on which what is good there is good too.

        Such as its later part, or a cache of half the size: what holds on all of them holds sooner on data not seen.
        They must contain nothing of what is held out.
        """
        return ()

    def safe_policies(self) -> Mapping[str, SafePolicy]:
        """Return by name the policies that can guard others.

        A guarded policy is in use as long as it loses little to the safe one, by a bound that the evaluator states.
        """
        return {}

    def guarded(self, instance: Instance, safe: str) -> Instance:
        """Return the instance on which `evaluate` measures policies guarded by that safe one."""
        self._lacks("no guard")

    def guard_source(self) -> GuardSource:
        """Return what exports of guarded policies contain."""
        self._lacks("no guard")

    def follow(self, policies: Sequence[tuple[Policy, Instance]], metric: str) -> Metrics:
        """Measure what follows the best of these policies, the first one first, by a metric that is low if good.

        Each comes with the instance as its own task and settings have it: the same workload, and the same room.
        """
        self._lacks("nothing that follows several policies")

    def following_source(self) -> GuardSource:
        """Return what exports contain, after `FOLLOWED`, functions that return the policies' classes, and `METRIC`."""
        self._lacks("nothing that follows several policies")

    # Libraries

    def workload_setting(self) -> str | None:
        """Return the repeatable task setting that names workloads: files, or texts that describe one.

        None where libraries of the task cannot be built.
        """
        return None

    def _lacks(self, what: str) -> NoReturn:
        raise UserError(f"the task's evaluator, {type(self).__name__}, offers {what}")


def located(findings: Iterable[EvaluatorFinding], instance: Instance) -> tuple[InstanceFinding, ...]:
    """Return an evaluator's findings with their instance. Raises ValueError for ones that break the contract."""
    given = tuple(findings)
    if len(given) > MAX_FINDINGS:
        raise ValueError(f"{len(given)} findings on {instance.name}: at most {MAX_FINDINGS} are possible")
    for one in given:
        if not isinstance(one, EvaluatorFinding):
            raise ValueError(f"a {type(one).__name__} is no finding: return Statement, SmallTable or Series")
    return tuple(InstanceFinding(instance.name, instance.split, one) for one in given)


def check_guard(evaluator: Evaluator, safe: str) -> None:
    """Raises UserError where the evaluator does not guard policies by this one."""
    known = evaluator.safe_policies()
    if not known:
        raise UserError("--guard: policies of this task cannot be guarded, for its evaluator offers no safe policy")
    if safe not in known:
        raise UserError(f"--guard: no safe policy {safe!r}{did_you_mean(safe, known)} (known: {', '.join(known)})")


def guarded_by(evaluator: Evaluator, instances: Iterable[Instance], safe: str) -> tuple[Instance, ...]:
    """Return the instances that measure guarded policies. Raises UserError where that is not offered."""
    check_guard(evaluator, safe)
    return tuple(evaluator.guarded(instance, safe) for instance in instances)


def notes_on(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[str, ...]:
    """Return what the evaluator has to say of the instances' workloads, each line once."""
    return tuple(dict.fromkeys(line for instance in instances for line in evaluator.notes(instance)))


def rungs_of(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[Rung, ...]:
    """Return the evaluator's rungs for these instances, the cheapest first; none if it offers none.

    Raises UserError for rungs that break the contract.
    """
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
    digest = evaluator.decisions(policy)
    if digest is None:
        return None
    learns = getattr(policy, "state_fingerprint", None)  # a policy in free Python has none
    return digest if learns is None else f"{digest} {learns}"


_BASE = "vulcan.evaluator.Evaluator"


def load_evaluator(task: Task) -> Evaluator:
    """Import and construct the task's evaluator. Raises UserError where that fails."""
    module_name, _, class_name = task.evaluator.partition(":")
    with (attempt := ForeignCall()):
        declared = getattr(importlib.import_module(module_name), class_name)
        if not (isinstance(declared, type) and issubclass(declared, Evaluator)):
            raise UserError(f"task {task.name!r}: {task.evaluator!r} must be a class that inherits from {_BASE}")
        if missing := ", ".join(sorted(declared.__abstractmethods__)):
            raise UserError(f"task {task.name!r}: {task.evaluator!r} lacks {missing}, required by {_BASE}")
        return declared()
    raise attempt.user_error(f"task {task.name!r}: its evaluator {task.evaluator!r} does not load")
