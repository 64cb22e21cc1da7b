"""What lessons say of a server is what its balancer knows and what would happen there, by other means."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_cluster import Shown, finish, run

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_load.lessons import EVERY, lesson_of
from vulcan_load.simulate import simulate
from vulcan_load.spec import Cluster
from vulcan_load.workload import ServiceWorkload

TASK = find_task("load_balancing")


class Balancers:
    """The state of the lesson's program, as its handlers keep it, and the situations that it would see."""

    def __init__(self, workload: ServiceWorkload, chosen: list[int]) -> None:
        self.workload, self.chosen = workload, chosen
        self.known: dict[tuple[int, int], dict[str, float]] = {}
        self.of_all = dict.fromkeys(range(workload.cluster.balancers), 0.0)
        self.ends: list[list[float]] = [[] for _ in range(workload.cluster.servers)]
        self.situations: list[tuple[float, ...]] = []
        self.times: list[float] = []

    def at(self, b: int, s: int) -> dict[str, float]:
        return self.known.setdefault((b, s), {"others": 0.0, "at": 0.0, "service": 5.0, "answered": 0.0})

    def watch(self, event: str, b: int, s: int, now: float, shown: Shown, _: float) -> None:
        own = self.at(b, s)
        taken = now if event == "on_complete" else now - shown["age_ms"]
        if event == "on_complete" or (event == "on_report" and taken > own["at"]):
            flying = shown["true"] if event == "on_complete" else shown["in_flight"]
            own["others"], own["at"] = max(0.0, flying - shown["mine"]), taken
            self.of_all[b] += 0.02 * (own["others"] - self.of_all[b])
        if event == "on_complete":
            own["service"] += 0.1 * (shown["alone"] - own["service"])
        if event == "on_complete" or (event == "on_dispatch" and shown["mine"] == 0):
            own["answered"] = now

    def decide(self, i: int, shown: list[Shown], drawn: list[int]) -> int:
        workload, cluster = self.workload, self.workload.cluster
        now, b, s = float(workload.arrivals[i]), int(workload.balancer[i]), drawn[-1]
        if i % EVERY == 0:
            own, mine = self.at(b, s), shown[s]["mine"]
            age = now - own["at"]
            others = self.of_all[b] + (own["others"] - self.of_all[b]) * math.exp(-age / (3 * own["service"]))
            silent = (now - own["answered"]) / own["service"] if mine else 0.0
            self.situations.append((mine, others, mine + others, own["service"], age, silent))
            cores = [0.0] * cluster.cores
            for r in (r for r in range(i) if self.chosen[r] == s):
                core = cores.index(min(cores))
                begin = max(float(workload.arrivals[r]), cores[core])
                cores[core] = finish(workload, s, begin, float(workload.work[r]))
            self.times.append(finish(workload, s, max(now, min(cores)), float(workload.work.mean())) - now)
        return self.chosen[i]


@pytest.mark.parametrize(
    "given",
    [{"machines": "noisy", "load": 0.9}, {"delay_ms": 30.0, "cores": 1}, {"machines": "mixed", "delay_ms": 0.0}],
)
def test_a_situation_is_what_a_balancer_knows_and_the_time_what_would_pass_there(given: dict[str, Any]) -> None:
    workload = ServiceWorkload.of(Cluster(servers=5, balancers=2, probes=2, requests=300, seed=4, **given))
    result = simulate("power_of_two", workload)
    found = lesson_of(workload, result.chosen, result.latencies)
    plain = Balancers(workload, result.chosen.tolist())
    latencies, _ = run(workload, plain.decide, plain.watch)
    assert latencies == pytest.approx(result.latencies.tolist())
    assert found.situations == pytest.approx(np.array(plain.situations))
    assert found.gains == pytest.approx(np.array(plain.times))


def test_what_follows_the_training_data_of_a_log_changes_nothing_and_fits_are_policies(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    times, lengths = np.cumsum(drawn.exponential(1.0, 6000)), drawn.pareto(2.5, 6000) * 15 + 1
    found = []
    for later in (1.0, 5.0):
        longer = np.where(np.arange(6000) < 3600, 1.0, later)
        rows = (f"{now / 1e3},{took / 1e3}" for now, took in zip(times, lengths * longer, strict=True))
        log = tmp_path / f"{later}.csv"
        log.write_text("\n".join(["arrival_s,duration_s", *rows]))
        evaluator: Any = load_evaluator(TASK)
        settings = complete_settings(TASK, {"trace": [str(log)], "machines": ["mixed"], "load": [0.8]})
        train, *_ = evaluator.instances(settings, Split(by="time"))
        found.append(evaluator.lessons(train, "p99_ms")[0])
    assert np.array_equal(found[0].situations, found[1].situations)
    assert np.array_equal(found[0].gains, found[1].gains)
    run_of = evaluator.at(train)
    reference = evaluator.run("least_loaded", *run_of).metrics()["p99_ms"]
    programs = fitted_programs(TASK, found[:1])
    assert min(evaluator.run(check(p, TASK), *run_of).metrics()["p99_ms"] for p in programs) < reference


def test_where_servers_share_their_cores_there_is_no_lesson() -> None:
    evaluator = load_evaluator(TASK)
    settings = complete_settings(TASK, {"discipline": "sharing", "requests": 500})
    train, *_ = evaluator.instances(settings, Split(by="time"))
    assert list(evaluator.lessons(train, "p99_ms")) == []
