"""The contract between the framework and a simulator.

An evaluator may be twenty lines of plain Python around a simulator of one's own: the compiled policy it is
handed is an ordinary callable there (`Policy.reference()`), and native speed is an option, never a duty.
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
