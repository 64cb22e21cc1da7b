"""The simulator of load balancing against queueing theory, and against the same by other means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from effort import ALL, examples
from plain_cluster import Shown, around, run
from split_mix import split_mix
from stateful_programs import stateful_programs

from vulcan.anvil import Policy, check
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Objective
from vulcan_load.simulate import BASELINES, simulate
from vulcan_load.spec import Cluster
from vulcan_load.workload import SHAPE, SPREAD, ServiceWorkload, pareto_moment, recorded_requests, unit_work
from vulcan_traces.request_log import read_request_log

MANY = 400_000
FRESH = {"delay_ms": 0.0, "balancers": 1}


def erlang_c(servers: int, load: float) -> float:
    """The probability of waiting in M/M/c (Erlang, 1917)."""
    offered = servers * load
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_random_choice_makes_independent_single_server_queues(load: float) -> None:
    """Of M/M/1 the time in the system is exponential with mean E[S] / (1 - load)."""
    cluster = Cluster(servers=20, cores=1, load=load, service="exponential", requests=MANY, seed=5)
    result = simulate("random", ServiceWorkload.of(cluster))
    mean = 10.0 / (1 - load)
    assert result.metrics()["mean_ms"] == pytest.approx(mean, rel=0.04)
    assert result.percentile(0.5) == pytest.approx(mean * math.log(2), rel=0.04)
    assert result.percentile(0.99) == pytest.approx(mean * math.log(100), rel=0.06)
    assert result.metrics()["utilisation"] == pytest.approx(load, rel=0.02)


def test_heavy_tailed_work_waits_as_pollaczek_and_khinchine_say() -> None:
    """Of M/G/1 the mean wait is rate E[S^2] / (2 (1 - load))."""
    load = 0.6
    cluster = Cluster(servers=20, cores=1, load=load, service="pareto", requests=1_000_000, seed=7)
    result = simulate("random", ServiceWorkload.of(cluster))
    second = 100.0 * pareto_moment(2) / pareto_moment(1) ** 2
    wait = load / 10.0 * second / (2 * (1 - load))
    assert result.metrics()["mean_ms"] == pytest.approx(10.0 + wait, rel=0.06)


@pytest.mark.parametrize(("cores", "load"), [(2, 0.8), (8, 0.9)])
def test_cores_share_their_server_s_queue(cores: int, load: float) -> None:
    """Each server is M/M/c: the mean wait is C(c, load) E[S] / (c (1 - load))."""
    cluster = Cluster(servers=10, cores=cores, load=load, service="exponential", requests=MANY, seed=3)
    mean = 10.0 + erlang_c(cores, load) * 10.0 / (cores * (1 - load))
    assert simulate("random", ServiceWorkload.of(cluster)).metrics()["mean_ms"] == pytest.approx(mean, rel=0.04)


def test_least_work_on_equal_servers_is_one_queue() -> None:
    """Sent to where it is done first, a request waits as in M/M/c with all cores: the choice is the central queue's."""
    cluster = Cluster(servers=6, cores=2, load=0.9, service="exponential", requests=MANY, seed=11)
    workload = ServiceWorkload.of(cluster)
    result = simulate("least_work", workload)
    mean = 10.0 + erlang_c(12, 0.9) * 10.0 / (12 * 0.1)
    assert result.metrics()["mean_ms"] == pytest.approx(mean, rel=0.04)
    free = [0.0] * 12  # the central queue on the very same requests
    for i, now in enumerate(workload.arrivals[:20_000].tolist()):
        core = min(range(12), key=lambda c: free[c])
        free[core] = max(now, free[core]) + float(workload.work[i])
        assert free[core] - now == pytest.approx(result.latencies[i], abs=1e-6)


def test_two_choices_are_mitzenmachers() -> None:
    """The two are asked, whatever reports say: E[T] = sum over i of load ** (2**i - 2) service times (supermarket)."""
    load = 0.9
    cluster = Cluster(servers=200, cores=1, load=load, service="exponential", probes=2, requests=MANY, seed=2)
    mean = 10.0 * sum(load ** (2**i - 2) for i in range(1, 40))
    assert simulate("power_of_two", ServiceWorkload.of(cluster)).metrics()["mean_ms"] == pytest.approx(mean, rel=0.04)


def test_processor_sharing_does_not_care_how_work_is_distributed() -> None:
    """Of M/G/1-PS the mean time is E[S] / (1 - load), whatever the distribution (Kleinrock, 1967)."""
    for service in ("exponential", "bimodal"):
        cluster = Cluster(
            servers=20, cores=1, load=0.7, service=service, requests=MANY, seed=5, discipline="sharing"
        )  # fmt: skip
        assert simulate("random", ServiceWorkload.of(cluster)).metrics()["mean_ms"] == pytest.approx(33.3, rel=0.05)


def test_prequal_has_the_shortest_tail() -> None:
    """Wydrowski et al., NSDI 2024, figure 6: ahead of random, round robin, least loaded and two choices in the tail."""
    cluster = Cluster(load=0.9, servers=100, balancers=100, machines="mixed", requests=40_000)
    workload = ServiceWorkload.of(cluster)
    tails = {who: simulate(who, workload).percentile(0.99) for who in BASELINES}
    assert min(tails, key=lambda who: tails[who]) == "prequal"


def test_an_idle_queue_sends_to_idle_servers() -> None:
    """Join-idle-queue (Lu et al., 2011): with one balancer and no delay no request waits while a server is idle."""
    cluster = Cluster(cores=1, load=0.5, service="exponential", requests=50_000, **FRESH)
    result = simulate("join_idle_queue", ServiceWorkload.of(cluster)).metrics()["mean_ms"]
    assert 10.0 < result < 10.5


def test_bursts_keep_the_mean_rate_and_lengthen_the_tail() -> None:
    even, burst = (ServiceWorkload.of(Cluster(bursts=bursts, requests=200_000)) for bursts in (1.0, 10.0))
    assert burst.arrivals[-1] == pytest.approx(even.arrivals[-1], rel=0.05)
    assert simulate("least_loaded", burst).percentile(0.99) > 1.5 * simulate("least_loaded", even).percentile(0.99)


@pytest.mark.parametrize("objective", find_task("load_balancing").objectives, ids=lambda one: one.name)
def test_a_tenth_less_is_one_number_at_every_load_and_length(objective: Objective) -> None:
    for load, requests in ((0.5, 20_000), (0.9, 20_000), (0.9, 100_000)):
        workload = ServiceWorkload.of(Cluster(load=load, machines="mixed", requests=requests))
        least, c3 = (simulate(who, workload).metrics() for who in ("least_loaded", "c3"))
        scores = [
            objective.score({objective.metric: k * c3[objective.metric]}, {"least_loaded": least}) for k in (1, 0.9)
        ]
        assert scores[1] - scores[0] == pytest.approx(-math.log(0.9))
    long, short = scores[0], objective.score(*beside_least_loaded(Cluster(load=0.9, machines="mixed", requests=20_000)))
    assert short == pytest.approx(long, abs=0.08)


def beside_least_loaded(cluster: Cluster) -> tuple[Mapping[str, float], Mapping[str, Mapping[str, float]]]:
    workload = ServiceWorkload.of(cluster)
    return simulate("c3", workload).metrics(), {"least_loaded": simulate("least_loaded", workload).metrics()}


def test_who_is_asked_for_reports_does_not_depend_on_how_many_numbers_are_drawn_at_a_time(monkeypatch) -> None:
    whole = ServiceWorkload.of(Cluster(requests=1000))
    monkeypatch.setattr("vulcan_load.workload.MAX_DRAWS", 1234)
    assert np.array_equal(ServiceWorkload.of(Cluster(requests=1000)).probed, whole.probed)


@pytest.mark.parametrize("discipline", ["queue", "sharing"])
def test_what_knows_more_waits_less(discipline: str) -> None:
    workload = ServiceWorkload.of(Cluster(load=0.9, service="exponential", requests=100_000, discipline=discipline))
    knowing = ("least_work", "shortest_queue") if discipline == "queue" else ("shortest_queue", "least_work")
    means = [simulate(who, workload).metrics()["mean_ms"] for who in (*knowing, "power_of_two", "random")]
    assert means == sorted(means)
    assert means[-1] > 2 * means[0]


@pytest.mark.parametrize("service", ["pareto", "exponential", "bimodal", "constant"])
def test_work_has_the_mean_that_is_said(service: str) -> None:
    draw = np.random.default_rng(1)
    assert unit_work(service, draw.random(2_000_000), draw.random(2_000_000)).mean() == pytest.approx(1.0, rel=0.01)


def test_the_bounded_pareto_is_bounded() -> None:
    ends = unit_work("pareto", np.array([0.0, 1.0]), np.zeros(2))
    assert ends[1] / ends[0] == pytest.approx(SPREAD)
    assert pareto_moment(1) == pytest.approx(SHAPE / (SHAPE - 1), rel=0.05)


@pytest.mark.parametrize("machines", ["mixed", "noisy"])
def test_speeds_have_the_mean_1(machines: str) -> None:
    workload = ServiceWorkload.of(Cluster(machines=machines, servers=200, load=0.5, requests=20_000))
    end = float(workload.arrivals[-1])
    lengths = np.diff(np.minimum(np.append(workload.changes, np.full((200, 1), np.inf), axis=1), end), axis=1)
    assert (lengths * workload.speeds).sum() / (200 * end) == pytest.approx(1.0, rel=0.1)


CASES = [
    Cluster(
        servers=5, cores=2, balancers=3, load=0.9, machines=machines, probes=2, delay_ms=delay, seed=s,
        requests=700 if ALL else 200, discipline=discipline, bursts=bursts,
    )
    for s, (machines, delay, discipline, bursts) in enumerate([
        ("even", 0.0, "queue", 1.0), ("mixed", 3.0, "sharing", 1.0), ("noisy", 20.0, "queue", 6.0),
        ("noisy", 5.0, "sharing", 1.0),
    ])
]  # fmt: skip


@pytest.mark.parametrize("cluster", CASES, ids=lambda c: c.machines)
@pytest.mark.parametrize(
    "who", ["random", "round_robin", "least_loaded", "power_of_two", "power_of_two_own", "shortest_queue"]
)
def test_plain_python_does_the_same(cluster: Cluster, who: str) -> None:
    workload = ServiceWorkload.of(cluster)
    turns = [0] * cluster.balancers

    def decide(i: int, shown: list[Shown], drawn: list[int]) -> int:
        first, second = drawn[:2]
        b = int(workload.balancer[i])
        if who == "random":
            return first
        if who == "round_robin":
            turns[b] += 1
            return (b * cluster.servers // cluster.balancers + turns[b] - 1) % cluster.servers
        if who == "least_loaded":
            return around([one["mine"] for one in shown], first)
        if who == "shortest_queue":
            return around([one["true"] for one in shown], first)
        if who == "power_of_two_own":
            return second if shown[second]["mine"] < shown[first]["mine"] else first
        return second if shown[second]["true"] < shown[first]["true"] else first

    latencies, chosen = run(workload, decide)
    result = simulate(who, workload)
    assert result.chosen.tolist() == chosen
    assert result.latencies.tolist() == pytest.approx(latencies, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("cluster", CASES, ids=lambda cluster: cluster.machines)
def test_a_policy_sees_what_plain_python_sees(cluster: Cluster) -> None:
    """Every feature takes part, and so do the statistics of a server's reports."""
    source = (
        "def score(now, server, servers):\n"
        "    flying = 3 * server.in_flight + 2 * server.sent + server.mine + servers.unanswered / servers.count\n"
        "    return -(flying + server.latency_ms / 50 + server.age_ms / 30 + now / 1e6 + server.id / 1e3)\n"
    )
    workload = ServiceWorkload.of(cluster)
    unanswered = [0] * cluster.balancers

    def decide(i: int, shown: list[Shown], drawn: list[int]) -> int:
        now, total = float(workload.arrivals[i]), sum(one["mine"] for one in shown)
        unanswered[int(workload.balancer[i])] = int(total)
        scores = [
            -(3 * one["in_flight"] + 2 * one["sent"] + one["mine"] + total / cluster.servers
              + one["latency_ms"] / 50 + one["age_ms"] / 30 + now / 1e6 + s / 1e3)
            for s, one in enumerate(shown)
        ]  # fmt: skip
        return around([-value for value in scores], drawn[0])

    _, chosen = run(workload, decide)
    policy = check(source, find_task("load_balancing"))
    assert simulate(policy, workload).chosen.tolist() == chosen


def recorded(cluster: Cluster, who: str, folder: Path, columns: str = "time,duration,server") -> ServiceWorkload:
    """Requests that `who` balanced, as their servers would log them."""
    workload = ServiceWorkload.of(cluster)
    result = simulate(who, workload)
    rows = zip(workload.arrivals.tolist(), result.latencies.tolist(), result.chosen.tolist(), strict=True)
    lines = (f"{now / 1e3!r},{took / 1e3!r},{server}" for now, took, server in rows)
    (folder / "log.csv").write_text("\n".join([columns, *lines]))
    return workload


@pytest.mark.parametrize("cores", [1, 3])
def test_work_is_found_again_in_a_log_whoever_balanced(cores: int, tmp_path: Path) -> None:
    """What a request waited is no work: its server began when fewer than so many of those before it were left."""
    drawn = recorded(Cluster(servers=6, cores=cores, load=0.9, requests=2000), "random", tmp_path)
    log = read_request_log(str(tmp_path / "log.csv"))
    arrivals, work = recorded_requests(log, 0, 2000, cores)
    assert arrivals == pytest.approx(drawn.arrivals - drawn.arrivals[0], abs=1e-6)
    assert work == pytest.approx(drawn.work, abs=1e-6)
    assert log.servers == 6 and log.durations.mean() > 1.5 * work.mean()


def test_a_log_is_cut_along_time_and_decided_by_windows(tmp_path: Path) -> None:
    task = find_task("load_balancing")
    recorded(Cluster(servers=6, cores=2, load=0.6, requests=50_000), "random", tmp_path)
    evaluator: Any = load_evaluator(task)
    given = complete_settings(task, {"trace": [str(tmp_path / "log.csv")], "cores": [2], "delay": [1.0]})
    found = evaluator.instances(given, task.split)
    assert [(i.split, i.parameters.get("first", 0), i.parameters["requests"]) for i in found] == [
        ("train", 0, 30_000), ("validation", 30_000, 10_000), ("test", 40_000, 10_000),
    ]  # fmt: skip
    assert {i.parameters["servers"] for i in found} == {6}
    assert evaluator.spec_of(found[0]).load == pytest.approx(0.6, rel=0.05)
    assert evaluator.notes(found[0]) == ()
    windows = evaluator.windows(found[1], 8)
    assert [evaluator.spec_of(one).measured for one in windows][0::7] == [slice(1000, 2125), slice(8875, 10_000)]
    means = [evaluator.evaluate_baseline("c3", one)["mean_ms"] for one in windows]
    assert len(set(means)) == 8  # each block is measured alone, though one load is for all
    assert sum(means) / 8 == pytest.approx(evaluator.evaluate_baseline("c3", found[1])["mean_ms"])
    one_core = evaluator.instances({**given, "cores": [1], "load": [0.5]}, task.split)[0]
    assert "give more --cores" in evaluator.notes(one_core)[0]


def test_one_cluster_is_drawn_as_often_as_a_verdict_needs() -> None:
    task = find_task("load_balancing")
    given = {"machines": ["even"], "load": [0.8], "cores": [1], "delay": [5.0]}
    found = load_evaluator(task).instances(complete_settings(task, given), task.split)
    seeds = [i.parameters["seed"] for i in found]
    assert len(set(seeds)) == len(seeds)
    assert [sum(i.split == part for i in found) for part in ("train", "validation")] == [1, 8]


class PlainBalancers:
    """Balancers of plain Python, each with the policy's reference; told of events by `plain_cluster`."""

    def __init__(self, policy: Policy, workload: ServiceWorkload) -> None:
        self.workload = workload
        cluster = workload.cluster
        self.runs = [policy.reference(cluster.seed + b) for b in range(cluster.balancers)]
        self.chance = [[0.0] * cluster.servers for _ in self.runs]
        self.latency, self.alone, self.left = ([0.0] * cluster.balancers for _ in range(3))
        nothing = dict.fromkeys(("in_flight", "latency_ms", "age_ms", "sent", "mine", "unanswered"), 0.0)
        for b, reference in enumerate(self.runs):
            for s in range(cluster.servers):
                reference.observe(s, self.features(b, s, 0.0, nothing))

    def features(self, b: int, s: int, now: float, shown: Shown) -> dict[str, float]:
        return {
            **{f"server.{name}": shown[name] for name in ("in_flight", "latency_ms", "age_ms", "sent", "mine")},
            "now": now, "server.id": s, "server.chance": self.chance[b][s], "request.latency_ms": self.latency[b],
            "request.service_ms": self.alone[b], "request.in_flight": self.left[b],
            "servers.balancers": self.workload.cluster.balancers, "servers.count": self.workload.cluster.servers,
            "servers.unanswered": shown["unanswered"],
        }  # fmt: skip

    def watch(self, event: str, b: int, s: int, now: float, shown: Shown, latency: float) -> None:
        if event == "on_complete":
            self.latency[b], self.alone[b], self.left[b] = latency, shown["alone"], shown["true"]
        features = self.features(b, s, now, shown)
        if event == "on_complete":
            self.runs[b].observe_occasion("completion", features)
        if event == "on_report":
            self.runs[b].observe(s, features)
        self.runs[b].handle(event, features, s)

    def decide(self, i: int, shown: list[Shown], drawn: list[int]) -> int:
        b, servers = int(self.workload.balancer[i]), self.workload.cluster.servers
        scores = []
        for j in range(servers):
            s = (drawn[0] + j) % servers
            self.chance[b][s] = chance(self.workload.cluster.seed, i * servers + s)
            scores.append(self.runs[b](self.features(b, s, float(self.workload.arrivals[i]), shown[s]), s))
        return (drawn[0] + scores.index(max(scores))) % servers


def chance(seed: int, number: int) -> float:
    """A number from 0 to 1, of 53 bits."""
    return (split_mix(seed, number) >> 11) / 2**53


def test_policies_with_state_decide_as_plain_python() -> None:
    task = find_task("load_balancing")
    for number, policy in enumerate(stateful_programs(task, Random(3), examples(72))):
        small = replace(CASES[number % len(CASES)], requests=100, servers=5, seed=number)
        workload = ServiceWorkload.of(small)
        plain = PlainBalancers(policy, workload)
        assert simulate(policy, workload).chosen.tolist() == run(workload, plain.decide, plain.watch)[1], policy.source


def test_a_constant_is_a_random_choice_and_another_constant_the_same() -> None:
    workload = ServiceWorkload.of(Cluster(requests=2000))
    task = find_task("load_balancing")
    made = [
        simulate(check(f"def score(now, server, servers):\n    return {n} + 0 * now\n", task), workload) for n in (1, 7)
    ]
    random = simulate("random", workload)
    assert made[0].decisions == made[1].decisions == random.decisions


def test_chance_is_uniform_and_other_for_each() -> None:
    """The lowest of 20 numbers that are drawn anew picks every server about as often."""
    workload = ServiceWorkload.of(Cluster(requests=20_000))
    policy = check("def score(now, server, servers):\n    return -server.chance\n", find_task("load_balancing"))
    counts = np.bincount(simulate(policy, workload).chosen, minlength=20)
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"load": 1.0}, "load is 1:"),
        ({"servers": 1}, "servers is 1"),
        ({"probes": 21}, "probes is 21: must be from 2 to 20"),
        ({"delay_ms": -1.0}, "delay_ms"),
    ],
)
def test_what_cannot_be_is_one_line(change: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        replace(Cluster(), **change)  # type: ignore[arg-type]
