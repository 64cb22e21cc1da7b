"""What findings cost: the time of a policy's findings on an instance, as a multiple of measuring the policy there.

    python -m benchmarks.findings [--quick] [--check] [--json]

Findings are computed for policies that a prompt or a person is shown, not for every candidate, once what they compare
with (an oracle, the best baseline) has been prepared. Of every task with findings: its first training instance, and
the policies that it begins with; of caches also a long trace, in turn with the measurement.
"""

from __future__ import annotations

import statistics

from benchmarks.harness import Goal, arguments, finish, interleaved, ratio
from vulcan.anvil import Policy
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task, known_tasks
from vulcan.searches.config import complete_settings
from vulcan.task import Json

LONG = "zipf:requests=2000000,objects=200000,seed=3"
SETTINGS: dict[str, list[dict[str, Json]]] = {
    "cache_eviction": [
        {},
        {"trace": [LONG], "cache_size": ["10%"], "mechanism": "heap"},
        {"trace": [LONG], "cache_size": ["10%"], "mechanism": "sample"},
    ]
}
"""Settings besides the defaults."""
POLICIES = 3
MOST = 2.0


def main() -> None:
    options = arguments("what findings cost, as a multiple of a policy's measurement")
    repetitions = 3 if options.quick else 9
    table = [f"{'task, instance, policy':66}{'measured, ms':>14}{'findings, ms':>14}{'times':>8}"]
    times: dict[str, float] = {}
    for name in known_tasks():
        task = find_task(name)
        evaluator = load_evaluator(task)
        if not evaluator.offers(Evaluator.findings):
            continue
        for given in SETTINGS.get(name, [{}]):
            settings = complete_settings(task, given)
            instance = next(i for i in evaluator.instances(settings, task.split) if i.split == "train")
            evaluator.prepare([instance])
            evaluator.prepare_findings([instance])
            for policy_name, source in list(task.seed_policies().items())[:POLICIES]:
                policy = check_policy(source, task)
                if not isinstance(policy, Policy):
                    continue  # free Python runs in the sandbox alone
                label = f"{name}, {instance.name[:24]} {given.get('mechanism', '')}, {policy_name}".replace(" ,", ",")
                simple, found = measured(evaluator, policy, instance, repetitions)
                times[label] = ratio(found, simple)
                medians = [statistics.median(seconds) * 1e3 for seconds in (simple, found)]
                table.append(f"{label:66}{medians[0]:14.2f}{medians[1]:14.2f}{times[label]:8.2f}")
    goals = [
        Goal(
            "findings, times a measurement, the most",
            max(times.values()),
            MOST,
            at_least=False,
            documented="classes of caches take 17 to 25 ns a request, a heap with LFU 30: 1.8 to 2.0, at times more",
        )
    ]
    finish(options, {"times": times}, table, goals)


def measured(
    evaluator: Evaluator, policy: Policy, instance: Instance, repetitions: int
) -> tuple[list[float], list[float]]:
    """Return processor seconds of measuring a policy, and of its findings, in turn."""
    seconds = interleaved(
        {"measure": lambda: evaluator.evaluate(policy, instance), "find": lambda: evaluator.findings(policy, instance)},
        repetitions,
    )
    return seconds["measure"], seconds["find"]


if __name__ == "__main__":
    main()
