"""Scores of other systems' candidates by Vulcan's evaluator, on the instances of a Vulcan search."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.peer_endpoint import without_markers
from vulcan.anvil import Policy
from vulcan.evaluator import SplitName, decisions_of, load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.reply import parse_source
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import InstanceMetrics
from vulcan.task import Json

SCORE = "/score"
"""Path of the request for a score: `{"source": ...}` is answered with the score, and whether the program is valid."""


@dataclass(frozen=True, slots=True)
class PeerCandidate:
    """A program that another system had scored.

    `seconds` is the processor time of checking and measuring it; `behaviour` what it measured, with its decisions on
    the evaluator's probe.
    """

    source: str
    verdict: Literal["scored", "rejected"]
    score: float | None
    feedback: str
    seconds: float
    behaviour: str = ""


class PeerScorer:
    """Vulcan's checker and evaluator for one task, objective and set of instances; safe to call from many threads."""

    def __init__(self, task: str, objective: str, settings: Mapping[str, Json], rejected_score: float) -> None:
        """Load the instances; a rejected program gets `rejected_score`, where a score is needed. Raises UserError."""
        self.task = find_task(task)
        self.rejected_score = rejected_score
        self.config = SearchConfig(
            task=task, settings=complete_settings(self.task, settings), objective=objective, racing=False, tune=0
        )
        self._evaluator = load_evaluator(self.task)
        evidence = load_evaluation_set(self.task, self.config, self._evaluator)
        store = MemoryStore()
        open_run(self.task, self.config, store, evidence, lambda _: None)
        self._scorer = make_scorer(find_objective(self.task, objective), RunRecord.of(store.events()))
        self._evaluator.prepare(evidence.instances)
        self._lock = threading.Lock()
        self.judged: list[PeerCandidate] = []

    def start(self) -> tuple[str, float]:
        """Return the source and score of the task's own policy that is best on the training instances."""
        scores = {source: self.score(source, "train") for source in self.task.seed_policies().values()}
        best = max(scores, key=lambda source: scores[source])
        return best, scores[best]

    def score(self, source: str, split: SplitName) -> float:
        """Return the mean score of a valid program on a split."""
        policy = parse_source(source, self.task).policy
        assert policy is not None
        return self._scorer.mean(split, self._measure(policy, split))

    def judge(self, text: str) -> PeerCandidate:
        """Check a program, score it on the training instances if it is valid, and keep the result."""
        with self._lock:
            began = time.thread_time()
            parsed = parse_source(without_markers(text), self.task)
            if not isinstance(parsed.policy, Policy):
                spent = time.thread_time() - began
                judged = PeerCandidate(parsed.source, "rejected", None, parsed.feedback, spent)
            else:
                metrics = self._measure(parsed.policy, "train")
                score, spent = self._scorer.mean("train", metrics), time.thread_time() - began
                behaviour = f"{decisions_of(self._evaluator, parsed.policy)} {metrics}"
                judged = PeerCandidate(parsed.source, "scored", score, "", spent, behaviour)
            self.judged.append(judged)
        return judged

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request for a score."""
        judged = self.judge(body["source"])
        score = self.rejected_score if judged.score is None else judged.score
        return {"score": score, "valid": judged.score is not None, "feedback": judged.feedback}

    def _measure(self, policy: Any, split: SplitName) -> InstanceMetrics:
        return tuple((i.name, dict(self._evaluator.evaluate(policy, i))) for i in self._scorer.of(split))
