"""How a search looks while it runs: a listener to its events, and nothing more."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vulcan.cli.output import tell

if TYPE_CHECKING:
    from vulcan.searches.study import Study

from vulcan.store.events import Chosen, Confirmed, Event, Judged, Refined

_NO_FAILURES = ("scored", "stopped", "duplicate", "same-decisions")
_LINE_EVERY = 15.0  # seconds, where the output is no terminal


class Progress:
    """Shows the best score against the best baseline, the pace, what was rejected and the cost.

    On a terminal one line is kept up to date; elsewhere plain lines are written, at each improvement of note and now
    and then. `quiet` shows nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._study: Study | None = None
        self._baseline: tuple[str, float] | None = None
        self._best: tuple[int, float] | None = None
        self._verdicts: Counter[str] = Counter()
        self._begun_with = 0
        self._began = self._last_line = time.monotonic()

    def preparing(self, what: str) -> None:
        """See `vulcan.searches.session.Display`."""
        if self._live is not None:
            self._live.update(f"preparing {what}")

    def begin(self, study: Study) -> None:
        """See `vulcan.searches.session.Display`."""
        self._study = study
        self._begun_with = study.settled
        best, baseline = study.record.ranked()[:1], study.record.best_baseline("train")
        self._best = (best[0].candidate, best[0].score or 0.0) if best else None
        self._baseline = (baseline.policy, baseline.score) if baseline else None
        self._began = time.monotonic()

    def __call__(self, event: Event) -> None:
        match event:
            case Judged():
                self._judged(event)
            case Refined(candidate, by, _, result) if result is not None:
                self._line(f"candidate {candidate} {by}: it became candidate {result}")
            case Confirmed(candidate, "test", score):
                shown = "failed" if score is None else f"{score:.4f}"
                self._line(f"candidate {candidate} scores {shown} on the split test")
            case Chosen(candidate, split):
                self._line(f"candidate {candidate} is the winner, chosen on the split {split}")
            case _:
                pass
        self._refresh()

    def _judged(self, event: Judged) -> None:
        self._verdicts[event.verdict] += 1
        if event.score is not None and (self._best is None or event.score > self._best[1]):
            self._best = (event.candidate, event.score)
            if self._live is None:
                self._line(self._status())
        elif self._live is None and time.monotonic() - self._last_line > _LINE_EVERY:
            self._line(self._status())

    def _status(self) -> str:
        if self._study is None:
            return "preparing"
        parts = [f"{self._study.settled}/{self._study.total} candidates"]
        if self._best is not None:
            parts.append(f"best {self._best[1]:.4f} (candidate {self._best[0]})")
        if self._baseline is not None:
            parts.append(f"best baseline {self._baseline[1]:.4f} ({self._baseline[0]})")
        elapsed = time.monotonic() - self._began
        settled = self._study.settled - self._begun_with
        if settled and elapsed > 1:
            parts.append(f"{60 * settled / elapsed:.0f} a minute")
        bad = {verdict: n for verdict, n in self._verdicts.items() if verdict not in _NO_FAILURES}
        parts.extend(f"{n} {verdict}" for verdict, n in sorted(bad.items()))
        if self._study.costs.dollars or self._study.costs.unpriced:
            parts.append(self._study.costs.spelled())
        return " | ".join(parts)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._status())

    def _line(self, text: str) -> None:
        self._last_line = time.monotonic()
        if self._quiet:
            return
        if self._live is not None:
            self._live.console.print(text, highlight=False, markup=False)
        else:
            tell(text)

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console

            self._live = Console(stderr=True).status("preparing")
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
