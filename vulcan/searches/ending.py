"""How a search ends: on evidence that it did not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vulcan.evaluator import SplitName
from vulcan.scoring import Executor, Job
from vulcan.searches.config import SearchConfig
from vulcan.searches.refining import Refining
from vulcan.searches.score import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import Chosen, Confirmed


class Ending:
    """Refines the best candidate, measures the finalists on `validation`, and the winner, once, on `test`."""

    def __init__(
        self,
        config: SearchConfig,
        record: RunRecord,
        scorer: Scorer,
        executor: Executor,
        refining: Refining,
        emit: Callable[..., None],
    ) -> None:
        self._config = config
        self._record = record
        self._scorer = scorer
        self._executor = executor
        self._refining = refining
        self._emit = emit

    def run(self) -> None:
        if self._record.chosen is None and self._record.ranked():
            if not self._record.confirmed:
                self._emit(*self._refining.at_the_end())
                self._emit(*self._refining.simplified())
            self._choose()
        if self._record.chosen is not None and self._scorer.of("test"):
            self._confirm([self._record.chosen.candidate], "test")

    def _choose(self) -> None:
        ranked = self._record.ranked()
        winner: int = ranked[0].candidate
        split: SplitName = "train"
        if self._scorer.of("validation"):
            finalists = ranked[: self._config.finalists]
            confirmed = self._confirm([c.candidate for c in finalists], "validation")
            scored = [(c, s) for c in finalists if (s := confirmed[c.candidate]) is not None]
            if scored:  # of equals the shorter, then the better on train
                best, _ = max(scored, key=lambda pair: (pair[1], -(pair[0].size or 0)))
                winner, split = best.candidate, "validation"
        self._emit(Chosen(winner, split))

    def _confirm(self, candidates: Sequence[int], split: SplitName) -> dict[int, float | None]:
        """Scores on a split that the search does not see, in the order of the candidates."""
        instances, limit = self._scorer.of(split), self._config.limit
        todo = [c for c in candidates if (c, split) not in self._record.confirmed]
        jobs = {c: self._executor.submit(Job(c, self._record.candidates[c].source, instances, limit)) for c in todo}
        for candidate, future in jobs.items():
            outcome = future.result()
            score = self._scorer.mean(split, outcome.metrics) if outcome.status == "scored" else None
            self._emit(Confirmed(candidate, split, score, outcome.metrics))
        return {c: self._record.confirmed[c, split].score for c in candidates}
