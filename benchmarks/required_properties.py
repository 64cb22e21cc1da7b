"""Cost of required properties in a search: `python -m benchmarks.required_properties [--quick]`.

For each built-in task, the share of candidates that is refused, the share of which it is not known, and processor
milliseconds per candidate, of all required properties together. `offline` are programs of the offline generator, each
made from earlier ones as in a search; `unguarded` are those it writes where nothing is required; `recorded` are the
model's programs of the recorded searches in tests/data. `method` counts what decided: the rules' certificate, the
search for a counterexample, or nothing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.proofs.verify import in_search
from vulcan.generator import OfflineEvolve
from vulcan.models import Parent, Request, extract_source
from vulcan.registry import find_task
from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store
from vulcan.task import Task

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ("recorded", "recorded_library/block_io", "recorded_library/loops", "recorded_library/skewed")
TASKS = (
    "active_queue_management", "cache_admission", "cache_eviction", "cache_queues", "congestion_control",
    "load_balancing", "memory_tiering", "prefix_cache", "spot_multi", "spot_single",
)  # fmt: skip
CANDIDATES, QUICK_CANDIDATES = 200, 20
GOAL = 5.0
"""Milliseconds a candidate, at the median."""


@dataclass
class Measured:
    """Verdicts on a group of candidates."""

    milliseconds: list[float] = field(default_factory=list)
    refused: int = 0
    unknown: int = 0
    methods: Counter[str] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        return sorted(self.milliseconds)[int(share * (len(self.milliseconds) - 1))]

    def row(self, task: str, source: str) -> str:
        count = len(self.milliseconds)
        methods = ", ".join(f"{name} {n}" for name, n in sorted(self.methods.items()))
        return (
            f"| {task} | {source} | {count} | {100 * self.refused / count:.1f} % | {100 * self.unknown / count:.1f} % "
            f"| {self.quantile(0.5):.1f} | {self.quantile(0.9):.1f} | {methods} |"
        )


def measure(policies: Iterable[Policy]) -> Measured:
    """Return the verdicts on everything required, as a search asks for them: nothing more once one is refuted."""
    found = Measured()
    for policy in policies:
        started = time.process_time()
        verdicts = list(in_search(policy))
        found.milliseconds.append(1000 * (time.process_time() - started))
        found.refused += any(verdict.outcome == "refuted" for verdict in verdicts)
        found.unknown += any(verdict.outcome == "unknown" for verdict in verdicts)
        found.methods.update(verdict.method for verdict in verdicts)
    return found


def generated(task: Task, count: int, writer: Task) -> list[Policy]:
    """Programs by the generator for `writer`, each from two earlier ones or the task's own."""
    generator, rng = OfflineEvolve(writer), random.Random(task.name)
    sources, made = list(task.seed_policies().values()), []
    for proposal in range(count):
        parents = tuple(Parent(i, s, 0.0) for i, s in enumerate(rng.sample(sources, min(2, len(sources)))))
        reply = generator.propose(Request(proposal, 0, (), parents, 1))
        source = extract_source(reply, task.signature.function, None, [other.function for other in task.others])
        sources.append(source)
        policy = check(source, task)
        if policy.constant is None:
            made.append(policy)
    return made


def recorded(task: Task) -> list[Policy]:
    """Return the distinct valid, non-constant policies that language models wrote in the recorded searches."""
    sources: dict[str, None] = {}
    for name in RECORDED:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "tests" / "data" / name / "run.db", folder)
            store = open_store(Path(folder))
            for event in store.events():
                if isinstance(event, CandidateJudged) and event.origin == "model":
                    sources[event.source] = None
            store.close()
    made = []
    for source in sources:
        try:
            policy = check(source, task)
        except Rejected:
            continue
        if policy.constant is None:
            made.append(policy)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CANDIDATES} candidates per task")
    parser.add_argument("--task", action="append", choices=TASKS, help="only this task; repeatable")
    given = parser.parse_args(arguments)
    count = QUICK_CANDIDATES if given.quick else CANDIDATES
    print("| task | candidates | of them | refused | unknown | ms, median | ms, p90 | method |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in given.task or TASKS:
        task = find_task(name)
        free = replace(task, properties=tuple(replace(p, required=False) for p in task.properties))
        for source, policies in (
            ("offline", generated(task, count, task)),
            ("unguarded", generated(task, count, free)),
            ("recorded", recorded(task) if name == "cache_eviction" else []),
        ):
            if policies:
                print(measure(policies).row(name, source), flush=True)


if __name__ == "__main__":
    main()
