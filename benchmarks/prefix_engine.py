"""Blocks a second of the prefix cache engine, and minutes of model servers a second.

    python -m benchmarks.prefix_engine [--quick] [--check] [--json]

A block is one of a prompt or of its output, which the tree has to match or insert. The workloads are a generated mix
of chats, agents, documents and calls of an interface, and Mooncake's conversation trace where it is there; the cache is
5 % of the different blocks. Schedulers and routers serve the same requests, at a load of 0.9, before one and four
servers.
"""

from __future__ import annotations

from functools import partial

from benchmarks.harness import DATA, BenchmarkResult, BenchmarkTable, Goal, medians, run_suite
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_prefix.simulate import simulate
from vulcan_serving.simulator import RoutingSimulator, SchedulingSimulator
from vulcan_traces.prompts import PromptTrace, load_prompts

TASK = find_task("prefix_cache")
MOONCAKE = DATA / "cache" / "mooncake" / "conversation_trace.jsonl"
MIX = "mix:requests=10000,seed=1"
SHARE, LOAD = 0.05, 0.5


def measure(quick: bool) -> BenchmarkResult:
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
    rows, speeds = [], {}
    for name, took in medians(contestants, 3 if quick else 9).items():
        trace = traces[name.partition(",")[0]]
        blocks = len(trace.blocks)
        speeds[name] = blocks / took
        rows.append((name, str(trace.requests), str(blocks), f"{took * 1e3:.2f}", f"{speeds[name] / 1e6:.2f}"))
    rates = served(3 if quick else 9)
    goals = (
        Goal("slowest, blocks per second of the prefix cache engine", min(speeds.values()), 1e6, margin=0.5),
        Goal("minutes of model servers per second", min(rates.values()), 200),
    )
    servers = tuple((name, f"{rate:,.0f}") for name, rate in rates.items())
    columns = ("engine", "requests", "blocks", "ms", "million blocks a second")
    tables = (
        BenchmarkTable("Prefix caches", columns, tuple(rows)),
        BenchmarkTable("Model servers", ("policy", "minutes a second"), servers),
    )
    return BenchmarkResult(tables, goals)


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
    return {name: minutes[name] / took for name, took in medians(runs, repetitions).items()}


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
