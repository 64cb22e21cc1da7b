"""Progress of a running search: counted from its events, and put into words."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vulcan.documents.run import OpenedData, Progress
from vulcan.store.events import CandidateJudged, CandidateRefined, Event
from vulcan.terminal_text import count

if TYPE_CHECKING:
    from vulcan.searches.config import SearchConfig
    from vulcan.searches.study import Study


NO_FAILURES = ("scored", "stopped", "duplicate", "same-decisions")
"""Verdicts that are not failures."""

REFINED = ("tuned", "simplified")
"""Origins of candidates that are judged with the refinement that they come from."""

RECENT = 120.0
"""Window in seconds that the pace is measured over, as it changes during a search."""


@dataclass(frozen=True, slots=True)
class _Moment:
    at: float
    completed: int
    dollars: float
    tokens: int


class ProgressTracker:
    """A counter of a search's events, which another thread may read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `clock`, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._study: Study | None = None
        self._best: tuple[int, float] | None = None
        self._baseline: tuple[str, float] | None = None
        self._verdicts: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._moments: deque[_Moment] = deque()
        self._began = clock()
        self._latest = self._began
        self._refined = 0.0, 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the display was opened."""
        return self._clock() - self._began

    def begin(self, study: Study) -> None:
        """Load the state of a run that may already hold candidates."""
        best, baseline = study.record.ranked()[:1], study.record.best_baseline("train")
        with self._lock:
            self._study = study
            self._best = (best[0].candidate, best[0].score or 0.0) if best else None
            self._baseline = (baseline.policy, baseline.score) if baseline else None
            self._verdicts = Counter(c.verdict for c in study.record.candidates.values())
            self._rules = Counter(rule for c in study.record.candidates.values() for rule in set(c.rules))
            self._moments.clear()
            self._moments.append(self._now(study))
            self._latest = self._clock()

    def add(self, event: Event) -> bool:
        """Count an event; return whether it brought a new best candidate."""
        with self._lock:
            if isinstance(event, CandidateRefined):
                seconds, cost = self._refined
                done = float(event.evaluations) if event.cost is None else event.cost
                self._refined = seconds + self._clock() - self._latest, cost + done
            if not isinstance(event, CandidateJudged) or event.origin not in REFINED:  # one is judged when it is over
                self._latest = self._clock()
            if self._study is None or not isinstance(event, CandidateJudged):
                return False
            self._verdicts[event.verdict] += 1
            self._rules.update(set(event.rules))
            now = self._now(self._study)
            if now.completed == self._moments[0].completed:  # the task's own policies, which do not count for the pace
                self._moments.clear()
            self._moments.append(now)
            if event.verdict != "scored" or event.score is None:
                return False
            if self._best is not None and event.score <= self._best[1]:
                return False
            self._best = (event.candidate, event.score)
            return True

    def snapshot(self) -> Progress | None:
        """Return the state of the search; None before it has begun.

        `seconds_left` is of this session: until the plan or the first budget is exhausted, at the pace of the last two
        minutes, and what follows is done: tuning, simplification, the finalists, blocks of time, once this session has
        timed a tuning.
        """
        with self._lock:
            study = self._study
            if study is None:
                return None
            now = self._now(study)
            while len(self._moments) > 1 and self._moments[1].at < now.at - RECENT:
                self._moments.popleft()
            before = self._moments[0]
            elapsed = now.at - before.at
            per_second = (now.completed - before.completed) / elapsed if elapsed > 1 else 0.0
            left = min(_seconds_left(study, before, now, now.at - self._began), default=None)
            if left is not None:
                left += self._seconds_of_end(study)
            best, known = self._best, self._baseline
            return {
                "completed": now.completed,
                "total": study.total,
                "best": None if best is None else {"candidate": best[0], "score": best[1]},
                "best_baseline": None if known is None else {"policy": known[0], "score": known[1]},
                "gap": None if best is None or known is None else best[1] - known[1],
                "candidates_per_minute": 60 * per_second or None,
                "verdicts": dict(self._verdicts.most_common()),
                "rules": dict(self._rules.most_common()),
                "dollars": now.dollars,
                "budget_dollars": study.config.budget_dollars,
                "tokens": now.tokens,
                "unpriced_calls": study.costs.unpriced,
                "seconds_left": left,
            }

    def _seconds_of_end(self, study: Study) -> float:
        """Return the seconds that follow the last proposal, or what is left of them; 0 where nothing was timed."""
        from vulcan.searches.finalize import cost_left  # slow to import

        seconds, cost = self._refined
        if not cost:
            return 0.0
        left = cost_left(study.config, study.record, study.scorer, study.total) * seconds / cost
        passed = self._clock() - self._latest if study.completed >= study.total else 0.0
        return max(0.0, left - passed)

    def _now(self, study: Study) -> _Moment:
        costs = study.costs
        return _Moment(self._clock(), study.completed, costs.dollars, costs.tokens_in + costs.tokens_out)


def _seconds_left(study: Study, before: _Moment, now: _Moment, session: float) -> Iterator[float]:
    """Yield the estimated seconds until the plan and each budget are exhausted, where they can be estimated."""
    elapsed = now.at - before.at
    config: SearchConfig = study.config
    used: list[tuple[float, float, float | None]] = [
        (now.completed - before.completed, now.completed, study.total),
        (now.dollars - before.dollars, now.dollars, config.budget_dollars),
        (now.tokens - before.tokens, now.tokens, config.budget_tokens),
    ]
    if study.completed >= study.total:
        yield 0.0
    for recently, so_far, limit in used:
        if limit is not None and recently > 0 and elapsed > 1:
            yield max(0.0, (limit - so_far) * elapsed / recently)
    if config.budget_minutes is not None:
        yield max(0.0, 60 * config.budget_minutes - session)


def opening_text(opened: OpenedData) -> str:
    """Say which run is opened; one whose prompts are answered by hand (`--model ask`) has no models."""
    answered = f", model {', '.join(opened['model'])}" if opened["model"] else ""
    if opened["replay_of"] is not None:
        answered = f", the replies of {opened['replay_of']}"
    return f"run {opened['run']}: task {opened['task']}, {count(opened['instances'], 'instance')}{answered}"


MAX_RULES = 3
"""Number of violated rules to list, the most frequent, next to the number of rejections."""


def progress_parts(progress: Progress) -> list[str]:
    """Return completion, pace, time left and cost as text, most important first."""
    parts = [f"{progress['completed']}/{progress['total']} candidates"]
    if progress["candidates_per_minute"] is not None:
        parts.append(f"{progress['candidates_per_minute']:.0f} per minute")
    if progress["seconds_left"]:
        parts.append(f"{duration(progress['seconds_left'])} left")
    if progress["dollars"] or progress["unpriced_calls"] or progress["budget_dollars"] is not None:
        budget = "" if progress["budget_dollars"] is None else f" of ${progress['budget_dollars']:.2f}"
        unknown = f" + {progress['unpriced_calls']} calls of unknown price" if progress["unpriced_calls"] else ""
        parts.append(f"${progress['dollars']:.2f}{budget}{unknown}")
    return parts


def score_parts(progress: Progress) -> list[str]:
    """Return the best candidate, the strongest baseline and the gap as text."""
    parts = []
    if (best := progress["best"]) is not None:
        parts.append(f"best {best['score']:.4f} (candidate {best['candidate']})")
    if (known := progress["best_baseline"]) is not None:
        parts.append(f"best baseline {known['score']:.4f} ({known['policy']})")
    if progress["gap"] is not None:
        parts.append(f"gap {progress['gap']:+.4f}")
    return parts


def failure_parts(progress: Progress) -> list[str]:
    """Return the failures by verdict, most frequent first, with the rules most often violated."""
    parts = []
    for verdict, times in progress["verdicts"].items():
        if verdict in NO_FAILURES:
            continue
        rules = ", ".join(f"{rule} {n}" for rule, n in list(progress["rules"].items())[:MAX_RULES])
        parts.append(f"{times} {verdict} ({rules})" if verdict == "rejected" and rules else f"{times} {verdict}")
    return parts


def duration(seconds: float) -> str:
    """Format a duration roughly, as `40 s`, `12 min` or `3 h 10 min`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
