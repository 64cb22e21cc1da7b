"""vLLM's own scheduler gives the same requests the same tokens in the same steps as the simulator.

These need the package vllm with PyTorch, and are skipped without; `make test-serving` runs them.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from plain_server import spec_of
from real_data import real_data

from vulcan.anvil import Policy, check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_serving import layout
from vulcan_serving.simulate import ServingRun, pace, simulate
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import PromptTrace, load_prompts

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vllm is not installed: make test-serving", allow_module_level=True)

from vllm_replay import Step, VllmServer

TASK = find_task("request_scheduling")

BUDGETS = {"chunked": 2048, "whole": 140_000}


def workload_of(trace: PromptTrace, prefill: str, memory: int, rate: float) -> tuple[ServingSpec, ServingWorkload]:
    """Requests with priorities, at so many a second."""
    spec = spec_of(trace, "8b-h100", memory=memory, budget=BUDGETS[prefill], max_running=64, prefill=prefill)
    drawn = np.random.default_rng(7).integers(-3, 4, trace.requests)
    trace = replace(trace, priorities=drawn.astype(trace.priorities.dtype))
    return spec, ServingWorkload.of(spec, trace, trace.requests / rate / float(trace.arrivals[-1]))


def steps_of(run: ServingRun) -> list[Step]:
    """The record of steps, a row a step."""
    made: dict[int, Step] = {}
    for _, step, i, tokens, found in run.steps.tolist():
        out, given = made.setdefault(step, ([], []))
        if tokens == layout.PREEMPTION:
            out.append(i)
        else:
            given.append((i, tokens, found))
    return list(made.values())


def assert_same(server: VllmServer, run: ServingRun) -> None:
    """Both gave the same in each step, and were done with each request at the same times."""
    expected, found = [each for each in server.steps if any(each)], steps_of(run)
    different = next((k for k, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    if different is not None:
        assert found[different] == expected[different], f"step {different} of {len(expected)}"
    assert len(found) == len(expected)
    assert run.first.tolist() == [server.first[i] for i in range(len(run.first))]
    assert run.last.tolist() == [server.last[i] for i in range(len(run.last))]


POLICIES = {
    "counts": """
def score(now, request, engine):
    wait = now - request.arrived
    work = 0.001 * (request.prompt - request.cached) + request.turn
    return wait + 0.01 * engine.waiting - work + engine.budget * 1e-4

def preempt(now, request, engine):
    return request.generated - 0.1 * request.computed + 0.01 * request.cached + 50.0 * (request.first_token > now - 1.0)

def reserve(now, engine):
    return 0.01 * engine.capacity + 64.0 * engine.running
""",
    "statistics": """
def score(now, request, engine):
    return request.preempted.max() - request.predicted + 100.0 * request.kind + 5.0 * (request.session > 0.0)

def preempt(now, request, engine):
    return -request.ttft_goal - 10.0 * request.tpot_goal
""",
    "events": """
class policy:
    pace = 0.0
    seen = 0.0

class request:
    admissions = 0.0

def on_arrival(now, request, engine):
    policy.seen = policy.seen + engine.running + 0.1 * request.cached + 100.0 * engine.step

def on_admit(now, request, engine):
    request.admissions = request.admissions + 1.0
    policy.seen = policy.seen * 0.99 + engine.free * 0.001 + engine.budget * 0.01

def on_first_token(now, request, engine):
    policy.pace = policy.pace * 0.9 + 0.1 * (now - request.arrived) + 0.001 * engine.running

def on_preempt(now, request, engine):
    policy.pace = policy.pace + 0.1 * request.generated + 0.001 * engine.waiting + 0.0001 * engine.free

def on_finish(now, request, engine):
    policy.seen = policy.seen * 0.9 - 0.01 * request.generated + 0.01 * engine.running + 0.0001 * engine.free

def score(now, request, engine):
    return (request.prompt % 7.0) * policy.pace + (request.prompt % 11.0) * policy.seen - 3.0 * request.admissions

def preempt(now, request, engine):
    return (request.prompt % 5.0) * policy.pace + (request.prompt % 13.0) * policy.seen + engine.step
""",
    **{name: TASK.seed_policies()[name] for name in ("shortest_remaining", "feedback_queues", "token_counter")},
}


def replayed(trace: PromptTrace, policy: str, memory: int, prefill: str, rate: float) -> tuple[VllmServer, ServingRun]:
    spec, workload = workload_of(trace, prefill, memory, rate)
    server = VllmServer(spec, workload, policy)
    server.run()
    scheduler: Policy | None = None if policy == "fcfs" else check(TASK.seed_policies()[policy], TASK)
    return server, simulate(spec, workload, scheduler, record=10_000_000)


TRACES = {"mix:requests=40,seed=11": 8.0, "chat:requests=40,output=500,seed=5": 40.0}
"""Generated requests, the second of which outgrow the memory, and how many come a second."""


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("prefill", BUDGETS)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_each_step_has_the_same_requests_and_tokens(policy: str, share: float, prefill: str, name: str) -> None:
    trace = load_prompts(name)
    largest = int((trace.prompt_tokens + trace.output_tokens).max())
    server, run = replayed(trace, policy, int((1 + share) * largest), prefill, TRACES[name])
    assert_same(server, run)
    assert run.preempted.any() or share > 0.5 or name.startswith("mix")


def scheduler_class(policy: Policy, name: str, patience: float, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """Export the policy to a module, and return the name of its class."""
    provenance = Provenance(TASK.name, name, "", "", "", settings={"patience": patience})
    (text,) = find_exporter("vllm-scheduler", TASK).export(policy, provenance).values()
    module = f"vllm_{name}_{patience:.0f}"
    (folder / f"{module}.py").write_text(text)
    patch.syspath_prepend(folder)
    return f"{module}.PolicyScheduler"


@pytest.mark.parametrize("patience", [0.0, 3.0])
@pytest.mark.parametrize("name", POLICIES)
def test_an_exported_scheduler_gives_the_same_requests_the_same_tokens(
    name: str, patience: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = check(POLICIES[name], TASK)
    exported = scheduler_class(policy, name, patience, tmp_path, monkeypatch)
    trace = load_prompts("chat:requests=50,output=500,seed=5")
    largest = int((trace.prompt_tokens + trace.output_tokens).max())
    spec, workload = workload_of(trace, "chunked", int(1.2 * largest), 40.0)
    spec = replace(spec, patience_s=patience)
    server = VllmServer(spec, workload, scheduler_class=exported)
    monkeypatch.setattr(f"{exported.partition('.')[0]}.time", server.clock)
    server.run()
    run = simulate(spec, workload, policy, record=10_000_000)
    assert run.preempted.any()
    assert_same(server, run)


FOUND = """
FLOOR = 1.96
EXPONENT = 0.262
EXPONENT_2 = 3.73


class request:
    before = 0


def on_arrival(now, request, engine):
    request.before += (engine.free - request.before) ** EXPONENT_2


def score(now, request, engine):
    work = request.prompt + request.generated - request.cached
    return min(-work / (request.before + FLOOR) ** EXPONENT, 1e300)
"""
"""What a search on Mooncake's conversations found, with its names shortened."""


def held_out(folder: Path, load: float) -> tuple[ServingSpec, ServingWorkload]:
    """The last fifth of Mooncake's conversations, before one replica that is empty at first."""
    lines = real_data("cache", "mooncake", "conversation_trace.jsonl").read_text().splitlines(keepends=True)
    (folder / "last.jsonl").write_text("".join(lines[len(lines) * 4 // 5 :]))
    trace = load_prompts(str(folder / "last.jsonl"))
    spec = spec_of(trace, "70b-8xa100", load, patience_s=120.0)
    return spec, ServingWorkload.of(spec, trace, pace(spec, trace) / load)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", ["fcfs", "longest_prefix", "feedback_queues", "shortest_remaining", "shortest_prompt", "found"]
)
def test_an_order_gains_in_vllm_what_it_gains_in_the_simulator(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, workload = held_out(tmp_path, 0.8)
    policy, exported = None, None
    if order != "fcfs":
        policy = check(FOUND if order == "found" else TASK.seed_policies()[order], TASK)
        exported = scheduler_class(policy, order, spec.patience_s, tmp_path, monkeypatch)
    run = simulate(spec, workload, policy, record=10_000_000)
    print(f"\n{order}: {describe(run.first - workload.arrivals)}", end="")
    for counts_itself in (False, True):
        server = VllmServer(spec, workload, scheduler_class=exported, counts_itself=counts_itself)
        if exported:
            monkeypatch.setattr(f"{exported.partition('.')[0]}.time", server.clock)
        server.run()
        waits = np.array([server.first[i] for i in range(len(workload.arrivals))]) - workload.arrivals
        print(f"; {describe(waits)}, {1e3 * server.computing / len(server.steps):.2f} ms a step", end="")
        if not counts_itself:
            assert_same(server, run)
    assert waits.mean() < 2 * run.ttft.mean()


def describe(waits: NDArray[np.float64]) -> str:
    return f"{waits.mean():.2f} s, 99th {np.percentile(waits, 99):.1f}"
