"""Blocks a second of the prefix cache engine, and minutes of model servers a second.

    python -m benchmarks.prefix_engine [--quick] [--check] [--json]

A block is one of a prompt or of its output, which the tree has to match or insert. The workloads are a generated mix
of chats, agents, documents and calls of an interface, and Mooncake's conversation trace where it is there; the cache is
5 % of the different blocks. Schedulers and routers serve the same requests, at a load of 0.9, before one and four
servers.
"""

from __future__ import annotations

import statistics
from functools import partial

from benchmarks.harness import DATA, Goal, arguments, finish, interleaved
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
BLOCKS_PER_SECOND = 1e6
"""Of the slowest: a million, of "millions of blocks a second"."""


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


if __name__ == "__main__":
    main()
