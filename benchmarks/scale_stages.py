"""Processor time of a search's driver per candidate, by stage, excluding the dispatch to a worker."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.throughput import Here
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.scoring import Job, Outcome
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.study import Study
from vulcan.store import RunRecord
from vulcan.store.sqlite import SQLiteStore

TRACE = "zipf:requests=20000,objects=2000,alpha=0.9,seed=1"


@dataclass(frozen=True)
class Stages:
    """Seconds a candidate: `draft` until its prompt is there, `keep` from the reply to the rows of the store.

    Its check is part of `keep`, where the study takes the reply.
    """

    draft: float
    keep: float


class Apart(Here):
    """Scores where it is asked to, and knows how long that took the thread that asked."""

    seconds = 0.0

    def submit(self, job: Job) -> Future[Outcome]:
        began = time.thread_time()
        try:
            return super().submit(job)
        finally:
            self.seconds += time.thread_time() - began


def measured_stages(quick: bool) -> Stages:
    """Return a search in this process, with the offline generator's own time and that of scoring left out."""
    candidates = 40 if quick else 150
    task = find_task("cache_eviction")
    config = SearchConfig(
        task=task.name, settings=complete_settings(task, {"trace": [TRACE]}), objective="object",
        tune=0, simplify=0, racing=False, budget_candidates=candidates,
    )  # fmt: skip
    evaluator = load_evaluator(task)
    evidence = load_evaluation_set(task, config, evaluator)
    evaluator.prepare(evidence.everything)
    executor = Apart(evaluator)
    with tempfile.TemporaryDirectory() as directory, closing(open_model_pool(task, config)) as lineup:
        store = SQLiteStore(Path(directory) / "run.db", create=True)
        open_run(task, config, store, evidence, lambda _: None)
        scorer = make_scorer(find_objective(task, config.objective), RunRecord.of(store.events()))
        study = Study(task, config, store, scorer, executor)
        study.begin()
        study.wait_for_scores()
        draft = keep = 0.0

        def apart(step: Callable[[], Any]) -> tuple[Any, float]:
            began, scoring = time.thread_time(), executor.seconds
            done = step()
            return done, time.thread_time() - began - (executor.seconds - scoring)

        while True:
            proposal, seconds = apart(study.ask)
            draft += seconds
            if proposal is None:
                _, seconds = apart(study.wait_for_scores)
                keep += seconds
                if (proposal := study.ask()) is None:
                    break
            reply = lineup.propose(proposal)
            _, seconds = apart(lambda proposal=proposal, reply=reply: study.tell(proposal, reply))
            keep += seconds
        store.close()
        return Stages(draft / study.completed, keep / study.completed)
