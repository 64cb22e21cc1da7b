"""SGLang admits the requests that the simulator admits, where what others still compute and write is not asked for.

These need the package sglang with PyTorch, and are skipped without; `make test-sglang` runs them.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from plain_server import spec_of

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_serving import layout
from vulcan_serving.simulate import ServingRun, simulate
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import PromptTrace, load_prompts

if importlib.util.find_spec("sglang") is None:
    pytest.skip("sglang is not installed: make test-sglang", allow_module_level=True)

from sglang_scheduling import SglangServer

TASK = find_task("request_scheduling")
TRACES = {"mix:requests=40,seed=11": 8.0, "documents:requests=40,seed=11": 3.0}
"""Generated requests, and how many come a second."""

PLENTY = 1000.0


def in_tokens(trace: PromptTrace) -> PromptTrace:
    """The same requests in blocks of one token, as SGLang's pages are by default."""
    size, rows = trace.block_tokens, []
    own = trace.block_count * size
    totals = trace.prompt_tokens + trace.output_tokens
    for i, total in enumerate(totals.tolist()):
        blocks = trace.blocks[trace.starts[i] : trace.starts[i + 1]]
        known = (blocks[:, None] * size + np.arange(size)).reshape(-1)
        rows.append(np.concatenate([known, np.arange(own, own + total - len(known))]))
        own += total
    starts = np.concatenate([[0], np.cumsum(totals)])
    return replace(trace, block_tokens=1, starts=starts, blocks=np.concatenate(rows), prompt_blocks=trace.prompt_tokens)


def served(name: str, policy: str, share: float) -> tuple[SglangServer, ServingRun]:
    """Serve requests with memory for so many of the largest one, by both."""
    trace = in_tokens(load_prompts(name))
    largest = int((trace.prompt_tokens + trace.output_tokens).max())
    spec = spec_of(trace, "8b-h100", memory=int(share * largest), max_running=64)
    workload = ServingWorkload.of(spec, trace, trace.requests / TRACES[name] / float(trace.arrivals[-1]))
    server = SglangServer(spec, workload, policy)
    server.run()
    scheduler = check(TASK.seed_policies()["longest_prefix"], TASK) if policy == "lpm" else None
    return server, simulate(spec, workload, scheduler, record=10_000_000)


def steps_of(run: ServingRun) -> list[list[tuple[int, int, int]]]:
    made: dict[int, list[tuple[int, int, int]]] = {}
    for _, step, i, tokens, found in run.steps.tolist():
        if tokens != layout.PREEMPTION:
            made.setdefault(step, []).append((i, tokens, found))
    return [sorted(each) for each in made.values()]


@pytest.mark.parametrize("name", TRACES)
def test_each_step_has_the_same_requests_and_tokens_first_come_first_served(name: str) -> None:
    server, run = served(name, "fcfs", PLENTY)
    assert steps_of(run) == [sorted(each) for each in server.steps]
    assert run.first.tolist() == pytest.approx([server.first[i] for i in range(len(run.first))], rel=1e-9)


@pytest.mark.parametrize("share", [1.2, 2.0, 4.0, PLENTY])
@pytest.mark.parametrize("policy", ["fcfs", "lpm"])
@pytest.mark.parametrize("name", TRACES)
def test_with_its_own_estimates_of_memory_and_evictions_the_times_differ_by_little(
    name: str, policy: str, share: float
) -> None:
    server, run = served(name, policy, share)
    waits = np.array([server.first[i] for i in range(len(run.first))]) - run.workload.arrivals
    ours, theirs = steps_of(run), [sorted(each) for each in server.steps]
    same = next((k for k, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), len(ours))
    change = waits.mean() / run.ttft.mean() - 1
    print(
        f"\n{name}, {policy}, {share:g}: {same} of {len(ours)} steps, {change:+.1%}, {run.preempted.sum()} and", end=""
    )
    print(f" {server.retracted} made room", end="")
    assert abs(change) < 0.1
    if share == PLENTY and same < len(ours):  # what a step computes, and unfinished answers, only the simulator finds
        assert sum(found for *_, found in ours[same]) > sum(found for *_, found in server.steps[same])
