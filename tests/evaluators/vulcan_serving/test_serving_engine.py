"""The engine against the same in plain Python, and laws that hold of every run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import few
from plain_server import serve, spec_of

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_serving.simulate import pace, simulate, without_waiting
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import load_prompts

SCHEDULING, ROUTING = find_task("request_scheduling"), find_task("request_routing")
KEEPING = """
class policy:
    seen = 0.0
    tokens = 0.0


def on_first_token(now, request, engine):
    policy.seen = policy.seen + (now - request.arrived) + engine.waiting


def on_preempt(now, request, engine):
    policy.tokens = policy.tokens + request.cached + engine.free


def score(now, request, engine):
    return request.cached - request.prompt * (policy.seen % 2) + policy.tokens % 3 - engine.step


def preempt(now, request, engine):
    return request.computed - 3 * request.generated + engine.budget % 7 * request.preempted


def reserve(now, engine):
    return 64 * (engine.running % 3)
"""
HEARING = """
class policy:
    seen = 0.0


def on_report(now, replica, router):
    policy.seen = (policy.seen + replica.age_ms + replica.used + replica.sent) % 1000


def on_first_token(now, replica, router, answer):
    policy.seen = (policy.seen + answer.ttft + answer.cached + replica.prefill) % 1000


def on_finish(now, replica, router, answer):
    policy.seen = (policy.seen + answer.total + answer.generated + replica.held + router.unfinished) % 1000


def score(now, replica, router, request):
    first = replica.prefix - replica.prefill - replica.held / 8 + 50 * replica.same
    return first + policy.seen * replica.chance - replica.waiting - replica.queue * replica.drawn
"""


def world(
    kind: str = "agent", requests: int = 150, load: float = 1.3, **changes
) -> tuple[ServingSpec, ServingWorkload]:
    trace = load_prompts(f"{kind}:requests={requests},seed=3")
    priorities = np.arange(trace.requests) * 7 % 3
    trace = replace(trace, priorities=priorities)
    spec = spec_of(trace, "8b-h100", load, **{"budget": 700, **changes})
    return spec, ServingWorkload.of(spec, trace, pace(spec, trace) / load)


def largest(requests: int = 150, kind: str = "agent") -> int:
    trace = load_prompts(f"{kind}:requests={requests},seed=3")
    return int((trace.prompt_tokens + trace.output_tokens).max()) + 128


CASES = [
    ({}, None),
    ({"memory": 1.1}, None),
    ({"memory": 1.5, "max_running": 7}, None),
    ({"memory": 1.3, "prefill": "whole", "budget": 200_000}, None),
    ({"memory": 1.2}, "priority"),
    ({"memory": 1.1, "prefill": "whole", "budget": 200_000}, "priority"),
    ({"memory": 1.5, "replicas": 3}, "shortest_remaining"),
    ({"memory": 1.2, "patience_s": 5.0}, "shortest_remaining"),
    ({"memory": 1.5}, "token_counter"),
    ({"memory": 1.2, "patience_s": 20.0}, "keeping"),
    ({"memory": 1.2, "replicas": 2, "max_running": 9}, "keeping"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "policy"), few(CASES, 6))
def test_schedules_are_those_of_plain_python(changes, policy):
    memory = int(changes.get("memory", 4.0) * largest(kind="chat"))
    spec, workload = world("chat", **(changes | {"memory": memory}))
    source = {"keeping": KEEPING, **SCHEDULING.seed_policies()}.get(policy)
    run = simulate(spec, workload, check(source, SCHEDULING) if source else None, record=200_000)
    requests, replicas, steps = serve(spec, workload, scheduler=source)
    assert run.first.tolist() == [request.first for request in requests]
    assert run.last.tolist() == [request.last for request in requests]
    assert run.preempted.tolist() == [request.preempted for request in requests]
    assert run.replica.tolist() == replicas
    assert sorted(map(tuple, run.steps.tolist())) == sorted(steps)
    if changes.get("memory", 4.0) < 1.25:
        assert run.preempted.sum() > 0


PLAIN = [
    source for source in ROUTING.seed_policies().values() if "class replica" not in source and ".perc" not in source
]
"""Without statistics and fields of entities, which are no plain Python."""


@pytest.mark.parametrize(
    ("source", "routers"), few([(HEARING, 1), (HEARING, 3), *((source, 2) for source in PLAIN)], 4)
)
def test_routes_are_those_of_plain_python(source, routers):
    spec, workload = world(replicas=4, routers=routers, delay_ms=15.0, memory=2 * largest(), load=1.0)
    run = simulate(spec, workload, None, check(source, ROUTING))
    requests, replicas, _ = serve(spec, workload, router=source)
    assert run.replica.tolist() == replicas
    assert run.last.tolist() == [request.last for request in requests]


@pytest.mark.parametrize("kind", few(["chat", "agent", "documents", "mix"], 2))
@pytest.mark.parametrize("memory", [1.05, 3.0])
def test_laws_of_every_run(kind, memory):
    """Each token is computed once and again after preemption, steps keep their budget, and nobody beats the bound."""
    size = int(memory * largest(600, kind))
    spec, workload = world(kind, 600, replicas=2, memory=size, max_running=40, patience_s=30.0)
    best = without_waiting(spec, workload)
    for name, source in SCHEDULING.seed_policies().items():
        run = simulate(spec, workload, check(source, SCHEDULING), record=400_000)
        given = run.steps[run.steps[:, 3] > 0]
        once = workload.trace.prompt_tokens + workload.outputs - 1 - run.found
        again = run.computed - once
        assert (again[run.preempted == 0] == 0).all(), name
        assert np.array_equal(np.bincount(given[:, 2], given[:, 3], len(once)), run.computed), name
        step = given[:, 0] * 10**9 + given[:, 1]
        _, number = np.unique(step, return_inverse=True)
        assert np.bincount(number, given[:, 3]).max() <= spec.budget, name
        assert np.bincount(number).max() <= spec.max_running, name
        assert (run.first - workload.arrivals >= best.ttft - 1e-9).all() and (run.last >= best.last - 1e-6).all(), name
        assert (run.found <= best.found).all() and (run.found < workload.trace.prompt_tokens).all(), name


def test_waiting_is_bounded_by_patience():
    """Whatever the policy prefers, after that time a request waits for those alone that came before it."""
    spec, workload = world("documents", 600, load=1.2, memory=3 * largest(600, "documents"))
    last = "def score(now, request, engine):\n    return request.arrived\n"
    fcfs = simulate(spec, workload).metrics()["longest_wait_s"]
    for source in (last, f"{last}def reserve(now, engine):\n    return engine.capacity\n"):
        worst = check(source, SCHEDULING)
        waits = [
            simulate(replace(spec, patience_s=patience), workload, worst).metrics()["longest_wait_s"]
            for patience in (0.0, 60.0, 1e-3)
        ]
        assert waits[0] > 2 * waits[1] and waits[1] < fcfs + 60 and waits[2] == pytest.approx(fcfs, rel=0.05)


def test_known_lengths_and_streams_of_randomness():
    """What is drawn for one thing does not depend on another, and nothing of it on the policy."""
    spec, workload = world(replicas=3, routers=2)
    trace = workload.trace
    assert (workload.known.predicted == workload.outputs).all()
    other = ServingWorkload.of(replace(spec, lengths="unknown"), trace, 1.0)
    assert (other.predicted == 0).all() and np.array_equal(other.drawn, workload.drawn)
    ratio = np.log(ServingWorkload.of(spec, load_prompts("api:requests=4000"), 1.0).predicted)
    truth = np.log(ServingWorkload.of(spec, load_prompts("api:requests=4000"), 1.0).outputs)
    assert np.std(ratio - truth) == pytest.approx(0.5, abs=0.05)
