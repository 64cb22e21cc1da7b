"""Page accesses a second of the tiering engine, and of the recorder behind it.

The engine runs over counts: an access costs nothing, and a page in an interval does. So both are shown, the policies
being the ones shipped with the task and the native baselines, on one workload of 8,192 pages and one of 16,896 recorded
ones if they are there. The recorder runs the algorithms themselves; it counts every access, those that hit its cache
too. All contestants run in one process, in turn; figures are medians over turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from benchmarks.harness import DATA, Goal, arguments, finish, interleaved
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_tiering.simulate import KNOWN, sample_accesses, simulate
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
    goals = [
        Goal("slowest policy, million page accesses a second", min(v for k, v in rates.items() if "policy" in k), 20,
             in_quick=False),
        Goal("recorder, million page accesses a second", recorder_rate, 20, in_quick=False),
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


if __name__ == "__main__":
    main()
