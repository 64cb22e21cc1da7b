"""Compiles the kernels of all simulators into the user's cache, so that workers of the tests do not each do it again.

python tests/compile_kernels.py

The cache's directory is named after a hash of all kernels' sources: where it has the mark of an earlier run, nothing is
stale and nothing is done. Else all is measured, in an empty cache of traces and baselines: what is found there runs no
kernel, which the workers would then compile one by one.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vulcan.evaluator import load_evaluator
from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.registry import find_task, known_tasks
from vulcan.searches.config import complete_settings
from vulcan_traces.memory.workloads import KINDS

LONGEST_FIRST = ("vulcan_link", "vulcan_tiering", "vulcan_cache", "vulcan_serving")
TRACES = "traces"
MARK = "compiled for tests"
SETTINGS = {"memory_tiering": {"trace": [f"{kind}:intervals=20,loads=1000" for kind in KINDS]}}
"""Where to run all default workloads would take as long as to compile what they need: a little of each kind."""


def compile_together(names: Sequence[str]) -> None:
    """Goes through tasks of one simulator, one by one: two at once would both compile it."""
    for name in names:
        compile_for(name)


def compile_for(name: str) -> None:
    """Goes through all that is compiled when a search begins, baselines included."""
    if name == TRACES:
        return read_a_trace()
    task = find_task(name)
    evaluator = load_evaluator(task)
    settings = complete_settings(task, SETTINGS.get(name, {}))
    first = next(i for i in evaluator.instances(settings, task.split) if i.split == "train")
    evaluator.prepare([first])
    for baseline in evaluator.baselines():
        evaluator.evaluate_baseline(baseline, first)
    evaluator.prepare_findings([first])


def read_a_trace() -> None:
    """From a text, for numbers of objects are kernels' work; and a fingerprint, which has kernels of its own."""
    from vulcan_traces import load_trace
    from vulcan_traces.fingerprint.measure import fingerprint

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "trace.csv"
        file.write_text("time,id,size\n" + "".join(f"{n},{n % 97},{1 + n % 5}\n" for n in range(2_000)))
        fingerprint(load_trace(file))


if __name__ == "__main__":
    keep_compiled_kernels_in_cache()
    mark = Path(os.environ["NUMBA_CACHE_DIR"]) / MARK
    if not mark.exists():
        with tempfile.TemporaryDirectory() as empty:
            os.environ["VULCAN_CACHE_DIR"] = empty
            simulators: dict[str, list[str]] = {simulator: [] for simulator in LONGEST_FIRST} | {TRACES: [TRACES]}
            for name in known_tasks():
                simulators.setdefault(find_task(name).evaluator.partition(".")[0], []).append(name)
            with multiprocessing.get_context("spawn").Pool() as pool:
                pool.map(compile_together, simulators.values(), chunksize=1)
        mark.touch()
