"""Page accesses a second of the tiering engine, and of the recorder behind it.

The engine runs over counts: an access costs nothing, and a page in an interval does. So both are shown, the policies
being the ones shipped with the task and the native baselines, on one workload of 8,192 pages and one of 16,896 recorded
ones if they are there. The recorder runs the algorithms themselves; it counts every access, those that hit its cache
too. All contestants run in one process, in turn; figures are medians over turns.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness import DATA, BenchmarkResult, BenchmarkTable, Goal, medians, run_suite
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_tiering.simulate import KNOWN, sample_accesses, simulate
from vulcan_traces.memory import PageCounts, load_page_counts
from vulcan_traces.memory.kernels.gups import run_gups
from vulcan_traces.memory.kernels.recorder import TOUCHES, new_recorder

RECORDED = DATA / "mem" / "pagecounts" / "own_kv.npz"

TASK = find_task("memory_tiering")


def measure(quick: bool) -> BenchmarkResult:
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

    took = medians(contestants | {"recorder, gups": record}, 3 if quick else 9)
    rates = {name: counts.accesses / took[name] / 1e6 for name, counts in sizes.items()}
    cells = {name: counts.intervals * counts.pages / took[name] / 1e6 for name, counts in sizes.items()}
    recorder_rate = recorded_accesses / took["recorder, gups"] / 1e6
    rows = [(name, f"{rate:.0f}", f"{cells[name]:.1f}", f"{took[name] * 1e3:.1f}") for name, rate in rates.items()]
    rows.append(("recorder, gups", f"{recorder_rate:.0f}", "", f"{took['recorder, gups'] * 1e3:.1f}"))
    goals = (
        Goal("slowest policy, million page accesses a second", min(v for k, v in rates.items() if "policy" in k), 20,
             in_quick=False),
        Goal("recorder, million page accesses a second", recorder_rate, 20, in_quick=False),
    )  # fmt: skip
    columns = ("engine", "million accesses a second", "million pages x intervals a second", "ms")
    return BenchmarkResult((BenchmarkTable("Tiering", columns, tuple(rows)),), goals)


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
    run_suite(__doc__ or "", measure)
