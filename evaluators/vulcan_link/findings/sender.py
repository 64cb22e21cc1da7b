"""The findings of the evaluator of congestion control: a base class, for what they share with measuring."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.evaluator import Evaluator, Instance
from vulcan.findings import EvaluatorFinding
from vulcan.task import Metrics
from vulcan_link.baselines import BASELINES
from vulcan_link.findings.account import account
from vulcan_link.findings.congestion import Run, differences, findings_of
from vulcan_link.findings.workload import describe_path
from vulcan_link.result import LinkResult, completion_of, metrics_of
from vulcan_link.scenario import Scenario
from vulcan_link.simulate import simulate
from vulcan_link.workloads import NONE, fair_share, own_flows, parse_competitors, parse_transfers

BY_GOODPUT = "goodput"
"""Marks instances whose objectives count goodput and drops; those recorded before have no such parameter."""


class LinkFindings(Evaluator):
    """Findings on instances of a link; a subclass knows the instances."""

    def __init__(self) -> None:
        self._best: dict[str, Run] = {}

    @abstractmethod
    def scenario(self, instance: Instance, algorithm: str, parameter: float = 0.0) -> Scenario:
        """Return the instance's scenario, with senders of that algorithm."""

    @abstractmethod
    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`."""

    def measured(
        self, instance: Instance, algorithm: str, parameter: float = 0.0, policy: Policy | None = None
    ) -> Metrics:
        """Run senders on the instance, and return the metrics."""
        scenario = self.scenario(instance, algorithm, parameter)
        return _metrics(instance, scenario, simulate(scenario, policy))

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        return describe_path(self.scenario(instance, "policy"), _competing(instance))

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        for instance in instances:
            self._best_on(instance)

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`: idle link, delay and losses by cause and by part of the run."""
        return findings_of(self.run(instance, "policy", policy=policy), self._best_on(instance))

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        return differences(*(self.run(instance, "policy", policy=policy) for policy in (first, second)))

    def run(
        self,
        instance: Instance,
        algorithm: str,
        parameter: float = 0.0,
        policy: Policy | None = None,
        name: str = "policy",
    ) -> Run:
        """Run senders on the instance with a log, and return the numbers behind `findings`."""
        scenario = self.scenario(instance, algorithm, parameter)
        result = simulate(scenario, policy, log=True)
        flows = own_flows(instance.parameters)
        return Run(name, _metrics(instance, scenario, result), account(scenario, result, flows), _competing(instance))

    def _best_on(self, instance: Instance) -> Run:
        """Return a run of the baseline with the most `power`.

        On an instance that was not prepared the baseline is that of one that was: to look for it could take files.
        """
        key = json.dumps(dict(instance.parameters), sort_keys=True)
        if key not in self._best:
            prepared = next(iter(self._best.values()), None)
            if prepared is not None and instance.split != "train":
                name = prepared.name
            else:
                names = [name for name, baseline in BASELINES.items() if baseline.kind == "baseline"]
                name = max(names, key=lambda one: self.evaluate_baseline(one, instance)["power"])
            best = BASELINES[name]
            self._best[key] = self.run(instance, best.algorithm, best.parameter, name=name)
        return self._best[key]


def _competing(instance: Instance) -> tuple[str, ...]:
    return tuple(cast(list[str], instance.parameters["competing"]))


def _metrics(instance: Instance, scenario: Scenario, result: LinkResult) -> Metrics:
    p = cast(dict[str, Any], instance.parameters)
    competitors = [c for spec in p["competing"] if (c := parse_competitors(spec)) is not None]
    share = fair_share(p["flows"], competitors, scenario.duration_s)
    own = scenario.flows[0]
    if scenario.policer_mbps > 0 and result.capacity_bps > 0:  # all of them share what the policer lets through
        share *= min(1.0, 1e6 * scenario.policer_mbps / result.capacity_bps)
    flows = own_flows(p)
    transfers = parse_transfers(p.get("transfers", NONE))[0] > 0
    if own.write_packets > 0 and result.capacity_bps > 0:  # no more is theirs than what their applications write
        every_ms = 1e3 * scenario.duration_s if transfers else own.write_ms
        written = flows * own.write_packets * own.packet_bytes * 8e3 / every_ms
        share = min(share, written / result.capacity_bps)
    by_goodput = p.get("measured_by") == BY_GOODPUT
    metrics = metrics_of(result, flows, own.round_trip_ms, share, by_goodput=by_goodput)
    return {**metrics, **(completion_of(scenario, result, flows) if transfers else {})}
