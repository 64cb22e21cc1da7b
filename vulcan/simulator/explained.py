"""The base class of simulators that explain a policy by an account of its losses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from vulcan.evaluator import Instance
from vulcan.findings import EvaluatorFinding
from vulcan.simulator.account import Account
from vulcan.simulator.base import ResultT, Simulator, WorkloadT
from vulcan.simulator.spec import SpecT
from vulcan.task import Metrics

if TYPE_CHECKING:
    from vulcan.anvil import Policy


class ExplainedSimulator(Simulator[SpecT, WorkloadT, ResultT]):
    """A simulator whose findings are accounts: of the policy, of the best baseline, and of others beside it."""

    @abstractmethod
    def account_of(self, who: Policy | str, name: str, spec: SpecT, workload: WorkloadT) -> Account:
        """Run a policy or a baseline, and return the account of the run under that name."""

    @abstractmethod
    def quality(self, metrics: Metrics) -> float:
        """Return how good a baseline is; findings are beside the best one."""

    def beside(self, instance: Instance) -> Sequence[str]:
        """Return who else findings are beside, such as an oracle; at most one."""
        return ()

    def account(self, who: Policy | str, instance: Instance, name: str = "the policy") -> Account:
        """Return the numbers behind `findings`."""
        return self.account_of(who, who if isinstance(who, str) else name, *self.at(instance))

    @override
    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        return self.account(policy, instance).findings(*self.compare_with(instance))

    @override
    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        return self.account(first, instance, "the first").compare(self.account(second, instance, "the second"))

    @override
    def compare_with(self, instance: Instance) -> Sequence[Account]:
        """Return the account of the best baseline, and of those beside it."""

        def references() -> Sequence[Account]:
            best = self.best_baseline(instance, self.quality)
            return [self.account(who, instance) for who in (best, *self.beside(instance))]

        return self.once("references", self.spec_of(instance), references)
