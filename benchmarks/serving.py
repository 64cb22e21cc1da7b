"""Schedulers and routers of model servers that searches find, where they took no part, beside the best baseline there.

    python -m benchmarks.serving OUT MOONCAKE [--candidates 60] [--seeds 1 2]

MOONCAKE is a directory with Mooncake's published traces. A search for each task, workload and seed at a load of 0.8, in
a directory of its own below OUT, where one that is finished is read; the tables are for docs/results/model-servers.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import vulcan
from benchmarks.harness import BenchmarkTable
from benchmarks.unseen import Case, search

TASKS = ("request_routing", "request_scheduling")
GENERATED = {
    **{kind: f"{kind}:requests=3000" for kind in ("chat", "agent", "documents")},
    "two classes": "mix:requests=3000,agent_share=0,documents_share=0",
}
LOAD, LOADS = 0.8, [0.5, 0.8, 1.1]
ELSEWHERE = {
    "held out": (1, "70b-8xa100", LOADS),
    "other requests": (2, "70b-8xa100", [LOAD]),
    "other server": (2, "70b-8xh100", [LOAD]),
}
"""The last fifth of the requests; of others, or the same ones with other predictions and draws; on other hardware."""


def cells(task: str, trace: str, found: Sequence[vulcan.Run], out: Path) -> Iterator[str]:
    """Yield the mean seconds to the first token with what was found, and with the best baseline, in each setting."""
    files = [out / f"seed_{number}.py" for number in range(1, len(found) + 1)]
    for file, run in zip(files, found, strict=True):
        file.write_text(run.best.source)
    for seed, server, loads in ELSEWHERE.values():
        there = trace.replace("SEED", str(seed))
        table = vulcan.evaluate(files, task, part="test", trace=there, load=loads, workload_seed=seed, server=server)
        for _, rows in table.groupby("instance", sort=False):
            seconds = rows.set_index(["kind", "policy"]).ttft_s
            best = seconds["baseline"].idxmin()
            ours = " / ".join(f"{seconds['candidate', file.stem]:.3g}" for file in files)
            yield f"**{ours}**, {seconds['baseline', best]:.3g} `{best}`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("mooncake", type=Path)
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    given = parser.parse_args()
    traces = {name: str(given.mooncake / f"{name}_trace.jsonl") for name in ("conversation", "synthetic")}
    traces |= {name: f"{spec},seed=SEED" for name, spec in GENERATED.items()}
    columns = ("requests", "verdicts", *(f"held out, {load}" for load in LOADS), *list(ELSEWHERE)[1:])
    rows: dict[str, list[tuple[str, ...]]] = {task: [] for task in TASKS}
    for name, trace in traces.items():
        for task in TASKS:
            found = []
            for seed in given.seeds:
                case = Case(name, "", {"trace": trace.replace("SEED", "1"), "load": [LOAD]}, name, seed)
                place = given.out / f"{task}-{name.replace(' ', '-')}-{seed}"
                found.append(vulcan.load(search(case, task, given.candidates, place)))
            verdicts = ", ".join(run.summary["verdict"] for run in found)
            rows[task].append((name, verdicts, *cells(task, trace, found, given.out)))
            print(task, *rows[task][-1], sep=" | ", flush=True)
    for task in TASKS:
        print("\n".join(BenchmarkTable(task, columns, tuple(rows[task])).lines()))


if __name__ == "__main__":
    main()
