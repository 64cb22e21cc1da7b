"""Blocks a second of the prefix cache engine, also beside SGLang's `RadixCache`, and minutes of servers a second.

    python -m benchmarks.prefix_engine [--quick] [--check] [--json]

A block is one of a prompt or of its output, which the tree has to match or insert. The workloads are a generated mix
of chats, agents, documents and calls of an interface, and Mooncake's conversation trace where it is there; the cache is
5 % of the different blocks. `RadixCache` runs in an environment with SGLang (`make test-sglang` makes one) behind the
same modelled server in plain Python; of it the times of its own calls count alone, without those for making keys.
Schedulers and routers serve the same requests, at a load of 0.9, before one and four servers.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATA, Goal, arguments, finish, interleaved
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_prefix.simulate import simulate
from vulcan_serving.simulator import RoutingSimulator, SchedulingSimulator
from vulcan_traces.prompts import PromptTrace, load_prompts

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "evaluators" / "vulcan_prefix"))

TASK = find_task("prefix_cache")
MOONCAKE = DATA / "cache" / "mooncake" / "conversation_trace.jsonl"
MIX = "mix:requests=10000,seed=1"
SHARE, LOAD = 0.05, 0.5
BLOCKS_PER_SECOND = 1e6
"""Of the slowest: a million, of "millions of blocks a second"."""

CALLS_OF_THE_TREE = ("match", "insert", "pin", "release", "evictable", "evict")


def main() -> None:
    options = arguments("blocks per second of the prefix cache engine")
    traces = {"mix": load_prompts(MIX)}
    if MOONCAKE.is_file():
        traces["Mooncake"] = load_prompts(str(MOONCAKE))
    continued = check(TASK.seed_policies()["continued"], TASK)
    policies: dict[str, Policy | str] = {"lru": "lru", "vllm": "vllm", "continued": continued}
    contestants = {
        f"{name}, {label}": partial(run, policy, trace)
        for name, trace in traces.items()
        for label, policy in policies.items()
    }
    seconds = {
        name: statistics.median(took) for name, took in interleaved(contestants, 3 if options.quick else 9).items()
    }
    table = [f"{'engine':26}{'requests':>10}{'blocks':>12}{'ms':>10}{'Mblocks/s':>12}"]
    speeds = {}
    for name, took in seconds.items():
        trace = traces[name.partition(",")[0]]
        speeds[name] = len(trace.blocks) / took
        table.append(f"{name:26}{trace.requests:10}{len(trace.blocks):12}{took * 1e3:10.2f}{speeds[name] / 1e6:12.2f}")
    slowest = min(speeds.values())
    goals = [Goal("slowest, blocks per second of the prefix cache engine", slowest, BLOCKS_PER_SECOND, margin=0.5)]
    rates = served(3 if options.quick else 9)
    table += ["", *(f"{name:26}{rate:10,.0f} minutes of servers a second" for name, rate in rates.items())]
    goals.append(Goal("minutes of model servers per second", min(rates.values()), 200))
    if find_spec("sglang") is None:
        what = "SGLang's RadixCache: sglang is not installed; make test-sglang makes an environment"
        table += ["", f"left out: {what}"]
    else:
        rows, times = beside_radix_cache({"mix": traces["mix"]} if options.quick else traces, continued)
        table += ["", *rows]
        goals.append(Goal("times SGLang's RadixCache, the least", min(times.values()), 50))
    finish(options, table, goals)


def run(policy: Policy | str, trace: PromptTrace) -> list[int]:
    """Return the blocks found at each request."""
    capacity = int(SHARE * trace.block_count)
    found: list[int] = simulate(policy, trace, capacity * trace.block_tokens, load=LOAD).found.tolist()
    return found


def served(repetitions: int) -> dict[str, float]:
    """Return the minutes of servers that are simulated in a second, with a scheduler and with a router."""
    runs, minutes = {}, {}
    for simulator, name in ((SchedulingSimulator(), "feedback_queues"), (RoutingSimulator(), "weighted_scorers")):
        task = find_task(simulator.task)
        settings = complete_settings(task, {"trace": [str(MOONCAKE) if MOONCAKE.is_file() else MIX], "load": [0.9]})
        (instance,) = simulator.instances(settings, Split(by="none"))
        simulator.prepare([instance])
        spec, workload = simulator.at(instance)
        runs[name] = partial(simulator.decide, check(task.seed_policies()[name], task), spec, workload)
        minutes[name] = spec.replicas / 60 * float(runs[name]().last.max())
    return {name: minutes[name] / statistics.median(took) for name, took in interleaved(runs, repetitions).items()}


def beside_radix_cache(traces: dict[str, PromptTrace], continued: Policy) -> tuple[list[str], dict[str, float]]:
    """Return a table of processor seconds of both with the same policy, one after the other, and their ratios."""
    import sglang_replay
    from exported_modules import exported
    from plain_prefix import serve

    rows = [f"{'the same requests':26}{'RadixCache, s':>15}{'engine, s':>12}{'times':>9}{'found alike at':>18}"]
    times = {}
    with tempfile.TemporaryDirectory() as directory:
        module = exported(continued, "sglang", Path(directory), "continued")
        for name, trace in traces.items():
            for label, policy in {"lru": "lru", "continued": continued}.items():
                clock = sglang_replay.use_clock()
                module.time = clock
                trees: list[Any] = []
                module.register(name="vulcan_continued", describe=lambda node, trees=trees: trees[0].describe(node))
                strategy = label if policy == label else "vulcan_continued"
                capacity = int(SHARE * trace.block_count)
                trees.append(sglang_replay.SglangTree(trace, capacity, strategy, clock))
                spent = timed(trees[0])
                theirs, _ = serve(trace, trees[0], capacity, load=LOAD)
                began = time.process_time()
                ours = run(policy, trace)
                took = time.process_time() - began
                times[f"{name}, {label}"] = spent[0] / took
                alike = int(np.sum(np.array(ours) == np.array(theirs)))
                rows.append(
                    f"{f'{name}, {label}':26}{spent[0]:15.2f}{took:12.4f}{spent[0] / took:9.0f}"
                    f"{f'{alike} of {len(ours)}':>18}"
                )
    return rows, times


def timed(tree: Any) -> list[float]:
    """Count the processor seconds of the tree's calls in the first element of the list that is returned.

    Making keys of blocks is part of the calls, and taken off: a server has the tokens.
    """
    spent = [0.0]

    def counted(call: Callable[..., Any], sign: int = 1) -> Callable[..., Any]:
        @wraps(call)
        def measured(*given: Any) -> Any:
            began = time.process_time()
            try:
                return call(*given)
            finally:
                spent[0] += sign * (time.process_time() - began)

        return measured

    for name in CALLS_OF_THE_TREE:
        setattr(tree, name, counted(getattr(tree, name)))
    tree.key = counted(tree.key, -1)
    return spent


if __name__ == "__main__":
    main()
