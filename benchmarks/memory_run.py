"""One policy over one trace file by the way that `vulcan eval` goes, watched: decode, open, score in the jailed child.

`python -m benchmarks.memory_run FILE MECHANISM` prints one JSON document: the largest resident set of this process and
of the scoring child (which has the pages of the trace that it reads, though they are the page cache's), and the
largest share of memory that both had at a time, pages they share counted once.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

from benchmarks.engine_workloads import under
from benchmarks.memory_objects import PRIORITY, RANKED, resident
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.scoring import JailedEvaluator, Job, Setup
from vulcan.searches.config import complete_settings
from vulcan.task import Split

_LOOK_EVERY = 0.1


class Watched:
    """The largest sum of the proportional set sizes of this process and the child, looked at now and then."""

    def __init__(self) -> None:
        self.pids: list[int | str] = ["self"]
        self.largest = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_EVERY):
            self.largest = max(self.largest, sum(_proportional(pid) for pid in self.pids))


def _proportional(pid: int | str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def run(file: str, mechanism: str, plan: str) -> dict[str, Any]:
    watched = Watched()
    task = find_task("cache_eviction")
    settings = complete_settings(task, {"trace": [file], "cache_size": ["10%"]})
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    (instance,) = load_evaluator(task).instances(settings, Split(by="none"))
    seconds["decode and open"] = time.perf_counter() - began
    decoded = resident("VmHWM")
    began = time.perf_counter()
    child = JailedEvaluator(Setup("cache_eviction", (instance,)))
    child.start()
    watched.pids.append(cast(int, child.pid))
    seconds["child ready"] = time.perf_counter() - began
    outcome = child.run(Job(1, under(mechanism, PRIORITY.format(RANKED[plan])), (instance,), 3000.0))
    assert outcome.status == "scored", outcome
    seconds["simulate"] = outcome.seconds
    childs = resident("VmHWM", cast(int, child.pid))
    watched.end()
    child.close()
    return {
        "requests": instance.parameters["measure_to"],
        "metrics": outcome.metrics[0][1],
        "seconds": seconds,
        "peak_bytes": {"search": decoded, "child": childs, "together": watched.largest},
    }


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:4])))
