"""The native simulator equals a slow one in plain Python, request for request."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from plain_prefix import SCORES, PlainTree, serve

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_prefix.simulate import BASELINES, BOUND, SERVER, simulate
from vulcan_serving.simulate import simulate as serve_all
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import PromptTrace, load_prompts
from vulcan_traces.prompts.prompt_trace import PromptTraceBuilder

TASK = find_task("prefix_cache")


def random_prompts(seed: int, requests: int = 250) -> PromptTrace:
    """Prompts that branch everywhere: blocks of 4 tokens from a small alphabet, outputs that others continue."""
    rng = np.random.default_rng(seed)
    builder = PromptTraceBuilder("random", 4)
    said: list[list[int]] = [[]]
    clock = 0.0
    for _ in range(requests):
        old = said[int(rng.integers(max(0, len(said) - 12), len(said)))]
        prompt = old[: int(rng.integers(0, len(old) + 1))] + rng.integers(0, 3, rng.integers(1, 9)).tolist()
        output = rng.integers(0, 3, rng.integers(0, 5)).tolist()
        said.append((prompt + output)[:24])
        clock += float(rng.exponential(1.0)) * (rng.random() < 0.7)
        builder.add(
            clock,
            4 * len(prompt) + int(rng.integers(0, 4)),
            4 * len(output),
            list(prompt),
            list(output),
            priority=int(rng.integers(0, 3)),
            turn=int(rng.integers(1, 4)),
        )
    return builder.build()


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hits_and_times_equal_those_of_a_plain_tree(name: str, seed: int) -> None:
    trace = random_prompts(seed)
    server = replace(SERVER, prefill_us=30_000.0)
    for capacity in (36, 60, 150):
        tree = PlainTree(trace, SCORES[name], trims=name == "vllm")
        found, waits = serve(trace, tree, capacity, server, load=0.8, decode_ms=100.0)
        result = simulate(name, trace, capacity * 4, server, load=0.8, decode_ms=100.0)
        assert result.found.tolist() == found
        assert np.allclose(result.waits, waits, rtol=1e-12)
        assert tree.evicted or capacity == 150


def test_a_cache_that_holds_everything_finds_all_that_came_before() -> None:
    trace = load_prompts("chat:requests=400,seed=5")
    seen: set[int] = set()
    expected = []
    for r in range(trace.requests):
        blocks = trace.blocks[trace.starts[r] : trace.starts[r + 1]].tolist()
        most = min(int(trace.prompt_blocks[r]), int(trace.prompt_tokens[r] - 1) // trace.block_tokens)
        expected.append(next((k for k in range(most) if blocks[k] not in seen), most))
        seen.update(blocks)
    result = simulate("lru", trace, trace.footprint + 2**22, decode_ms=0.0)  # outputs are there at once
    assert result.found.tolist() == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("host", [0, 40])
def test_no_policy_finds_more_than_the_bound(seed: int, host: int) -> None:
    trace = random_prompts(seed)
    every = [*BASELINES, *(check(source, TASK) for source in TASK.seed_policies().values())]
    for capacity, since in ((36, 0), (60, 100), (150, 0), (10_000, 0)):
        settings = {"load": 0.8, "host_capacity": 4 * host, "measure_from": since}
        most = simulate(BOUND, trace, 4 * capacity, **settings).metrics()["hit_tokens"]
        found = [simulate(who, trace, 4 * capacity, **settings).metrics() for who in every]
        reached = max(one["hit_tokens"] + one["host_share"] * one["prompt_tokens"] for one in found)
        assert reached <= most
        assert capacity < 10_000 or reached > 0.95 * most  # outputs that are still written are not found


def test_a_policy_by_blocks_drops_no_more_than_is_needed() -> None:
    trace = random_prompts(4)
    for mechanism in ("leaves", "blocks"):
        lru = check(
            f'MECHANISM = "{mechanism}"\n\n\ndef priority(now, node, server):\n    return node.last_access\n', TASK
        )
        for capacity in (36, 60):
            tree = PlainTree(trace, SCORES["lru"], trims=mechanism == "blocks")
            found, _ = serve(trace, tree, capacity, load=0.8)
            assert simulate(lru, trace, capacity * 4, load=0.8).found.tolist() == found


def test_host_memory_brings_back_what_left() -> None:
    trace = load_prompts("agent:requests=800,seed=7")
    capacity = trace.footprint // 10
    one = simulate("lru", trace, capacity, load=0.5)
    two = simulate("lru", trace, capacity, load=0.5, host_capacity=trace.footprint)
    assert not one.found_in_host.any()
    gained = two.metrics()["hit_share"] + two.metrics()["host_share"]
    assert gained > one.metrics()["hit_share"] + 0.1
    # with room for everything, all that was ever computed is found in one of the two
    everything = simulate("lru", trace, 2 * trace.footprint, load=0.5).metrics()["hit_share"]
    assert gained == pytest.approx(everything, abs=0.01)
    assert two.metrics()["ttft_ms"] < one.metrics()["ttft_ms"]


@pytest.mark.parametrize("spec", ["chat", "agent", "documents"])
def test_times_are_those_of_the_simulator_of_servers(spec: str) -> None:
    """A server with room for everything computes each prompt in one step, and one request is there at a time."""
    trace = load_prompts(f"{spec}:requests=300,seed=5")
    serving = ServingSpec(
        trace=spec, trace_format=None, block_tokens=trace.block_tokens, digest=trace.digest, requests=trace.requests,
        measure_from=0, measure_to=trace.requests, load=0.0, **{**asdict(SERVER), "memory": 2**27}, replicas=1,
        budget=2**18,
    )  # fmt: skip
    stretched = replace(trace, arrivals=1e3 * np.arange(trace.requests))
    run = serve_all(serving, ServingWorkload.of(serving, stretched, 1.0))
    result = simulate("lru", stretched, 2**27)
    same = result.found * trace.block_tokens == run.found  # vLLM does not keep the last token of an output
    assert same.mean() > 0.9
    assert np.allclose(result.waits[same], run.ttft[same], rtol=1e-9)
    assert run.found.any()


def test_a_request_larger_than_the_cache_runs_without_it() -> None:
    builder = PromptTraceBuilder("large", 4)
    for time in (0.0, 10.0, 20.0):
        builder.add(time, 9, 0, [1, 2])
    builder.add(30.0, 41, 0, list(range(10)))
    builder.add(40.0, 9, 0, [1, 2])
    result = simulate("lru", builder.build(), 16)
    assert result.found.tolist() == [0, 2, 2, 0, 2]
