"""Page accesses a second of the tiering engine, of the recorder behind it, and how samples of pages rank candidates.

The engine runs over counts: an access costs nothing, and a page in an interval does. So both are shown, the policies
being the ones shipped with the task and the native baselines, on one workload of 8,192 pages and one of 16,896 recorded
ones if they are there. The recorder runs the algorithms themselves; it counts every access, those that hit its cache
too. All contestants run in one process, in turn; figures are medians over turns.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.harness import DATA, Goal, arguments, finish, interleaved
from vulcan.anvil import Policy, Rejected, check
from vulcan.evaluator import Instance
from vulcan.generator import OfflineEvolve
from vulcan.models import Request
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_tiering.page_sample import KEEP, ONE_IN
from vulcan_tiering.simulate import KNOWN, sample_accesses, simulate
from vulcan_tiering.simulator import TieringSimulator
from vulcan_traces.memory import PageCounts, load_page_counts
from vulcan_traces.memory.kernels.gups import run_gups
from vulcan_traces.memory.kernels.recorder import TOUCHES, new_recorder

RECORDED = DATA / "mem" / "pagecounts" / "own_kv.npz"

TASK = find_task("memory_tiering")


def main() -> None:
    options = arguments(__doc__ or "")
    repetitions = 3 if options.quick else 9
    specs = {"gups": "gups:updates_a_move=2000000,seed=1"}
    if RECORDED.is_file():
        specs["recorded kv"] = str(RECORDED)
    contestants: dict[str, Callable[[], object]] = {}
    sizes: dict[str, PageCounts] = {}
    for label, spec in specs.items():
        for name, run in _engine(load_page_counts(spec)).items():
            contestants[f"{label}, {name}"] = run
            sizes[f"{label}, {name}"] = load_page_counts(spec)
    recorded_accesses = 0

    def record() -> None:
        nonlocal recorded_accesses
        recorder = new_recorder(2048 * 4096, 4096, 2**17, 20, 50_000, 1)
        run_gups(recorder, 2048 * 512, 200 * 512, 0.9, 100_000)
        recorded_accesses = int(recorder.at[TOUCHES])

    contestants["recorder, gups"] = record
    seconds = interleaved(contestants, repetitions)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    rates = {name: counts.accesses / medians[name] / 1e6 for name, counts in sizes.items()}
    cells = {name: counts.intervals * counts.pages / medians[name] / 1e6 for name, counts in sizes.items()}
    recorder_rate = recorded_accesses / medians["recorder, gups"] / 1e6
    table = [
        f"{name:34} {rates[name]:9.0f} M accesses/s {cells[name]:8.1f} M pages x intervals/s   "
        f"{medians[name] * 1e3:8.1f} ms"
        for name in rates
    ]
    table += [f"{'recorder, gups':34} {recorder_rate:9.0f} M accesses/s"]
    ranking = _ranking(30 if options.quick else 100)
    table += ["", f"samples of pages, {ranking['candidates']:.0f} offline candidates on the training workloads:"]
    table += [
        f"one page in {factor}: rank correlation {ranking[f'correlation {factor}']:.4f}, the best candidate is number "
        f"{ranking[f'best {factor}']:.0f}, {ranking[f'ms {factor}']:.1f} ms per candidate"
        for factor in (1, ONE_IN)
    ]
    goals = [
        Goal("slowest policy, million page accesses a second", min(v for k, v in rates.items() if "policy" in k), 20,
             in_quick=False),
        Goal("recorder, million page accesses a second", recorder_rate, 20, in_quick=False),
        Goal("rank correlation of the rung with full runs", ranking[f"correlation {ONE_IN}"], 0.95),
        Goal("place of the best candidate on the rung, as a share", ranking[f"best {ONE_IN}"] / ranking["candidates"],
             KEEP, at_least=False),
    ]  # fmt: skip
    finish(options, table, goals)


def _engine(counts: PageCounts) -> dict[str, Callable[[], object]]:
    samples = sample_accesses(counts, 32, 1)
    capacity = counts.pages // 10
    limit = capacity // 2
    policies = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}

    def policy(name: str) -> Callable[[], object]:
        return lambda: simulate(policies[name], counts, samples, capacity, migration_limit=limit)

    def baseline(name: str) -> Callable[[], object]:
        return lambda: simulate(name, counts, samples, capacity, migration_limit=limit)

    made = {f"policy {name}": policy(name) for name in policies}
    return made | {f"native {name}": baseline(name) for name in KNOWN if name != "omniscient"}


def _ranking(candidates: int) -> dict[str, float]:
    """Scores of offline candidates on full instances and on samples of pages."""
    evaluator = TieringSimulator()
    instances = [i for i in evaluator.instances(complete_settings(TASK, {}), TASK.split) if i.split == "train"]
    policies = _offline(candidates)
    found: dict[str, float] = {"candidates": float(len(policies))}
    full: list[float] = []
    for factor in (1, ONE_IN):
        cheaper = [evaluator.sampled(i, factor) if factor > 1 else i for i in instances]
        evaluator.prepare(cheaper)
        times: list[float] = []

        def score(policy: Policy, cheaper: list[Instance] = cheaper, times: list[float] = times) -> float:
            began = time.perf_counter()
            metrics = [evaluator.evaluate(policy, instance) for instance in cheaper]
            times.append(time.perf_counter() - began)
            touched = [evaluator.evaluate_baseline("first-touch", instance) for instance in cheaper]
            return statistics.mean(math.log(t["seconds"] / m["seconds"]) for t, m in zip(touched, metrics, strict=True))

        scores = [score(policy) for policy in policies]
        full = full or scores
        ranks = [np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (full, scores)]
        found[f"correlation {factor}"] = float(np.corrcoef(*ranks)[0, 1])
        found[f"best {factor}"] = float(1 + sum(s > scores[int(np.argmax(full))] for s in scores))
        found[f"ms {factor}"] = statistics.median(times) * 1e3
    return found


def _offline(count: int) -> list[Policy]:
    generator = OfflineEvolve(TASK)
    made: list[Policy] = []
    number = 0
    while len(made) < count:
        text = generator.propose(Request(number, 0, (), (), seed=7)).text
        number += 1
        try:
            made.append(check(text.split("```python\n")[1].split("```")[0], TASK))
        except Rejected:
            continue
    return made


if __name__ == "__main__":
    main()
