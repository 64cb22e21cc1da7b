"""Contracts of evaluators that make policies robust: training on perturbed instances, and guards at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from vulcan.anvil import Policy, check
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, Instance
from vulcan.registry import find_task
from vulcan.task import Json, Metrics


@runtime_checkable
class OffersShifts(Protocol):
    """An optional capability of evaluators: perturbed copies of training instances, such as a workload may become."""

    def shifted(self, instance: Instance) -> Sequence[Instance]:
        """Return perturbed copies of a training instance, by names of their own, of the split `train`.

        `evaluate` and `evaluate_baseline` accept them like any other. They must contain nothing of what is held out.
        """
        ...


def shifted_copies(evaluator: Evaluator, instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the perturbed copies of training instances. Raises UserError where there are none."""
    found = [copy for i in instances for copy in evaluator.shifted(i)] if isinstance(evaluator, OffersShifts) else []
    if not found:
        raise UserError("--against-shift: the evaluator of this task offers no perturbed instances; leave it out")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SafePolicy:
    """A policy to guard others by: one that a task starts searches with, and the settings that it is used with."""

    task: str
    policy: str
    settings: Mapping[str, Json]

    def compiled(self) -> Policy:
        """Return the policy, checked."""
        task = find_task(self.task)
        return check(task.seed_policies()[self.policy], task)


@dataclass(frozen=True, slots=True)
class GuardSource:
    """The source of a guard at run time, which imports the standard library alone.

    It defines the class `used_by`, the one that exports of the policies have too (see `vulcan.export.template`), and
    gets those classes by calling the functions named in `FACTORIES`, which the export defines.

    `header` is the guard in C99, empty if there is none: a header whose names begin with `guard_` and `GUARD_`.
    """

    used_by: str
    text: str
    header: str = ""


FACTORIES = ("_guarded_policy", "_safe_policy")


@runtime_checkable
class OffersGuards(Protocol):
    """An optional capability of evaluators: measuring, and exporting, policies that a safe one guards.

    A guarded policy is in use as long as it loses little to the safe one, by a bound that the evaluator states.
    """

    def safe_policies(self) -> Mapping[str, SafePolicy]:
        """Return the safe policies by name."""
        ...

    def guarded(self, instance: Instance, safe: str) -> Instance:
        """Return the instance, by a name of its own, on which `evaluate` measures policies guarded by that one."""
        ...

    def guard_source(self) -> GuardSource:
        """Return what exports of guarded policies contain."""
        ...


@runtime_checkable
class OffersFollowing(Protocol):
    """An optional capability of evaluators: measuring, and exporting, what follows the best of several policies."""

    def follow(self, policies: Sequence[tuple[Policy, Instance]], metric: str) -> Metrics:
        """Measure what follows these policies, the first one first, and compares them by a metric that is low if good.

        Each comes with the instance as its own task and settings have it: the same workload, and the same room.
        """
        ...

    def following_source(self) -> GuardSource:
        """Return what exports contain, after `FOLLOWED`, functions that return the policies' classes, and `METRIC`."""
        ...


def guarded_by(evaluator: Evaluator, instances: Iterable[Instance], safe: str) -> tuple[Instance, ...]:
    """Return the instances that measure guarded policies. Raises UserError where that is not offered."""
    offered = check_guard(evaluator, safe)
    return tuple(offered.guarded(instance, safe) for instance in instances)


def safe_policies_of(evaluator: Evaluator) -> tuple[str, ...]:
    """Return the names of the safe policies that an evaluator can guard others by; none where it offers no guard."""
    return tuple(evaluator.safe_policies()) if isinstance(evaluator, OffersGuards) else ()


def check_guard(evaluator: Evaluator, safe: str) -> OffersGuards:
    """Return the evaluator, which guards policies by this one. Raises UserError where it does not."""
    known = evaluator.safe_policies() if isinstance(evaluator, OffersGuards) else {}
    if not isinstance(evaluator, OffersGuards) or not known:
        raise UserError("--guard: policies of this task cannot be guarded, for its evaluator offers no safe policy")
    if safe not in known:
        raise UserError(f"--guard: no safe policy {safe!r}{did_you_mean(safe, known)} (known: {', '.join(known)})")
    return evaluator
