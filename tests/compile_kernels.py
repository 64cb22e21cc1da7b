"""Compiles the kernels of all simulators into the user's cache, so that workers of the tests do not each do it again.

python tests/compile_kernels.py
"""

from __future__ import annotations

import multiprocessing

from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task, known_tasks
from vulcan.searches.config import complete_settings

LONGEST_FIRST = ("active_queue_management", "memory_tiering", "cache_eviction")


def compile_for(name: str) -> None:
    """Goes through all that is compiled when a search begins, baselines included."""
    task = find_task(name)
    evaluator = load_evaluator(task)
    first = next(i for i in evaluator.instances(complete_settings(task, {}), task.split) if i.split == "train")
    evaluator.prepare([first])
    for baseline in evaluator.baselines():
        evaluator.evaluate_baseline(baseline, first)


if __name__ == "__main__":
    names = sorted(known_tasks(), key=lambda name: (name not in LONGEST_FIRST, name))
    with multiprocessing.get_context("spawn").Pool() as pool:
        pool.map(compile_for, names, chunksize=1)
