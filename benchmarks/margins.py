"""Memory tiering beside ARMS, and load balancing beside C3: margins on what no search has seen, with paired intervals.

    python -m benchmarks.margins [--only tiering | balancing | bursts] [--form]

The plan, fixed before a policy was measured on any of it. For each task a form was written by hand, from training
instances alone (`policies/balancing_wait.py`) or from those of training and validation
(`policies/tiering_regression.py`), and one search of the offline generator begins with it, by the command in
`SEARCHES`. Its winner is `policies/tiering_found.py`, `policies/balancing_found.py`, whatever the verdict. Form and
winner are each measured once (`--form` measures the form).

Tiering is trained on a machine with CXL alone. Measured are 32 workloads whose parameters are drawn at random
(`fresh_workloads`), a third of them of gigabytes in huge pages, with three sample periods and sampling anew: on that
machine, on one with NVM, and on one with NVM, four threads and a larger fast tier. A value is a workload's mean over
the periods and the shares of the fast tier. The claim is on ARMS, the whole of it, on each machine. The task's test
workloads, which two older forms were measured on, are no part of it: the report of the search has them. The verdict of
the search is that nothing is better than the form, which it recommends: known before the measurement, so that the claim
is on the form, and the winner is shown beside it.

Balancing is trained on 20 servers with four balancers and no bursts. Measured are the task's test clusters (three kinds
of servers at two loads with three kinds of work) with five fresh seeds: as trained, with bursts, with more servers
and with more balancers. A value is a seed's mean over the clusters.

The winner of that search was undecided beside C3 in bursts. A second search, `bursts`, is trained on them, and measured
with five other seeds in bursts alone.

A margin is claimed where the 95 % interval of the paired differences (`vulcan.searches.bootstrap`) is above zero.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vulcan.anvil import Policy, check
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.registry import find_task
from vulcan.searches.bootstrap import mean_interval
from vulcan.searches.config import complete_settings
from vulcan.task import Task

POLICIES = Path(__file__).parent / "policies"
SEARCHES = {
    "tiering": "vulcan search --task memory_tiering --state --start-from benchmarks/policies/tiering_regression.py "
    "--slow-tier cxl --budget-candidates 100 --tune 40 --simplify 0 --seed 1",
    "balancing": "vulcan search --task load_balancing --state --start-from benchmarks/policies/balancing_wait.py "
    "--load 0.5 --load 0.7 --load 0.9 --requests 60000 --budget-candidates 100 --tune 200 --seed 1",
    "bursts": "vulcan search --task load_balancing --state --start-from benchmarks/policies/balancing_wait.py "
    "--bursts 10 --load 0.7 --load 0.9 --requests 60000 --budget-candidates 100 --tune 40 --simplify 0 --seed 1",
}

WORKLOADS_SEED = 2511
HUGE_PAGES = "page_size=2097152,cache=4194304,loads=3000000"
PERIODS = (32, 128, 512)
MACHINES: Mapping[str, Mapping[str, Any]] = {
    "CXL, as trained": {"slow_tier": ["cxl"]},
    "NVM": {"slow_tier": ["nvm"]},
    "NVM, four threads, a fast tier of 25 %": {"slow_tier": ["nvm"], "threads": 4, "fast_size": ["25%"]},
}

SEEDS, OTHER_SEEDS = tuple(range(7101, 7106)), tuple(range(7201, 7206))
CLUSTERS: Mapping[str, Mapping[str, Any]] = {
    "20 servers, 4 balancers, as trained": {},
    "the same, bursts of ten times the rate": {"bursts": 10.0},
    "100 servers, 20 balancers": {"servers": 100, "balancers": 20},
    "100 servers, 100 balancers": {"servers": 100, "balancers": 100},
}
BURSTS: Mapping[str, Mapping[str, Any]] = {
    "20 servers, 4 balancers, bursts, as trained": {"bursts": 10.0},
    "100 servers, 20 balancers, bursts": {"servers": 100, "balancers": 20, "bursts": 10.0},
}


@dataclass(frozen=True)
class Contest:
    """A task's winner, its rivals, of which the first is the one to beat, and what is measured: by set and unit."""

    task: Task
    evaluator: Evaluator
    rivals: Sequence[str]
    sets: Mapping[str, Mapping[str, Sequence[Instance]]]


def fresh_workloads() -> list[str]:
    """Return 20 workloads in pages of 4 KiB and 12 in huge pages, with parameters drawn anew."""
    rng = random.Random(WORKLOADS_SEED)

    def graph(kind: str) -> dict[str, Any]:
        scale = rng.choice((15, 16) if kind == "betweenness" else (16, 17))
        return {"graph": rng.choice(("kronecker", "uniform")), "scale": scale, "degree": rng.randint(6, 20)}

    def table(pages: int, least: int) -> dict[str, Any]:
        hot = round(pages * rng.uniform(0.05, 0.2))
        moves = rng.choice((0, rng.randint(least, 6 * least), rng.randint(least, 6 * least)))
        return {
            "pages": pages,
            "hot_pages": hot,
            "hot_share": round(rng.uniform(0.7, 0.95), 2),
            "updates_a_move": moves,
        }

    def store(records: int, size: int, mixes: str, shifts: tuple[int, int]) -> dict[str, Any]:
        mix, theta = rng.choice(mixes), round(rng.uniform(0.8, 0.99), 3)
        told = {"records": records, "record_size": size, "mix": mix, "theta": theta}
        return told if rng.random() < 0.5 else {**told, "operations_a_shift": rng.randint(*shifts), "shift": 0.01}

    def warehouses(number: int, least: int) -> dict[str, Any]:
        moves = rng.choice((0, rng.randint(least, 5 * least), rng.randint(least, 5 * least)))
        return {"warehouses": number, "hot_share": round(rng.uniform(0.1, 0.8), 2), "transactions_a_move": moves}

    found = [("gups", table(rng.randint(4000, 10_000), 1_000_000)) for _ in range(4)]
    found += [(kind, graph(kind)) for kind in ("pagerank", "bfs", "betweenness") for _ in range(3)]
    found += [("ycsb", store(rng.randint(30_000, 60_000), 512, "abcdef", (4000, 20_000))) for _ in range(4)]
    found += [("tpcc", warehouses(rng.randint(8, 16), 10_000)) for _ in range(3)]
    huge = [("gups", table(rng.randint(768, 1280), 15_000_000)) for _ in range(4)]
    huge += [("ycsb", store(rng.randint(400_000, 600_000), 4096, "abcf", (100_000, 500_000))) for _ in range(4)]
    huge += [("tpcc", warehouses(rng.randint(600, 900), 100_000)) for _ in range(4)]
    told = []
    for k, (kind, values) in enumerate(found + huge):
        size = f"name={kind}-{k + 1}" if k < len(found) else f"name={kind}-huge-{k + 1},{HUGE_PAGES}"
        told.append(f"{kind}:{size},seed={300 + k}," + ",".join(f"{key}={value}" for key, value in values.items()))
    return told


def tiering() -> Contest:
    task = find_task("memory_tiering")
    evaluator = load_evaluator(task)
    sets = {}
    for machine, changes in MACHINES.items():
        given: dict[str, Any] = {**changes, "sample_period": list(PERIODS), "sample_seed": 7}
        given["trace"] = fresh_workloads()
        units: dict[str, list[Instance]] = {}
        for instance in evaluator.instances(complete_settings(task, given), replace(task.split, by="none")):
            units.setdefault(instance.name.partition("@")[0], []).append(instance)
        sets[machine] = units
    rivals = ("arms", "arms-like", "tpp", "memtis-like", "hemem", "static-oracle")
    return Contest(task, evaluator, rivals, sets)


def balancing(clusters: Mapping[str, Mapping[str, Any]] = CLUSTERS, seeds: Sequence[int] = SEEDS) -> Contest:
    task = find_task("load_balancing")
    evaluator = load_evaluator(task)
    sets = {}
    for cluster, changes in clusters.items():
        units = {}
        for seed in seeds:
            given = complete_settings(task, {**changes, "workload_seed": seed})
            units[f"seed {seed}"] = [i for i in evaluator.instances(given, task.split) if i.split == "test"]
        sets[cluster] = units
    rivals = ("c3", "least_loaded", "prequal", "shortest_queue")
    return Contest(task, evaluator, rivals, sets)


CONTESTS: Mapping[str, Callable[[], Contest]] = {
    "tiering": tiering,
    "balancing": balancing,
    "bursts": lambda: balancing(BURSTS, OTHER_SEEDS),
}
FORMS = {"tiering": "tiering_regression", "balancing": "balancing_wait", "bursts": "balancing_wait"}
FOUND = {"tiering": "tiering_found", "balancing": "balancing_found", "bursts": "balancing_bursts"}


def scores_of(contest: Contest, who: Policy | str, instances: Iterable[Instance]) -> list[float]:
    """Return the score of each instance by the task's first objective."""
    objective = contest.task.objectives[0]
    found = []
    for instance in instances:
        known = {name: contest.evaluator.evaluate_baseline(name, instance) for name in objective.references}
        if isinstance(who, str):
            metrics = contest.evaluator.evaluate_baseline(who, instance)
        else:
            metrics = contest.evaluator.evaluate(who, instance)
        found.append(objective.score(metrics, known))
    return found


def table_of(contest: Contest, name: str, policy: Policy) -> list[str]:
    """Return the lines of a Markdown table for each set, and of what the policy leads by in each unit."""
    lines = []
    for title, units in contest.sets.items():
        contest.evaluator.prepare([instance for instances in units.values() for instance in instances])
        means = {
            who: [statistics.fmean(scores_of(contest, policy if who == name else who, unit)) for unit in units.values()]
            for who in (name, *contest.rivals)
        }
        lines += ["", f"**{title}**, {len(units)} values", "", f"| | mean score | {name} ahead by | | ahead in |"]
        lines.append("|---|---|---|---|---|")
        for who, values in means.items():
            cells = [who, f"{statistics.fmean(values):.4f}", "", "", ""]
            if who != name:
                leads = [own - other for own, other in zip(means[name], values, strict=True)]
                interval = mean_interval(leads)
                assert interval is not None
                cells[2] = f"{statistics.fmean(leads):+.4f}"
                cells[3] = f"[{interval.low:+.4f}, {interval.high:+.4f}]"
                cells[4] = f"{sum(lead > 0 for lead in leads)} of {len(leads)}"
            lines.append(f"| {' | '.join(cells)} |")
        rival = contest.rivals[0]
        by_unit = sorted((own - other, unit) for unit, own, other in zip(units, means[name], means[rival], strict=True))
        lines += ["", f"against {rival}: " + ", ".join(f"{unit} {lead:+.4f}" for lead, unit in by_unit)]
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(CONTESTS))
    parser.add_argument("--form", action="store_true", help="the form by hand, in place of the search's winner")
    given = parser.parse_args(arguments)
    for name, contest in CONTESTS.items():
        if given.only in (None, name):
            policy = (FORMS if given.form else FOUND)[name]
            made = contest()
            source = (POLICIES / f"{policy}.py").read_text(encoding="utf-8")
            print("\n".join([f"## {name}", *table_of(made, policy, check(source, made.task))]), flush=True)


if __name__ == "__main__":
    main()
