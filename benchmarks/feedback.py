"""What findings are worth to a language model: recorded searches whose prompts had scores alone, or findings too.

    python -m benchmarks.feedback [DIRECTORY]

Reads the runs below tests/data/recorded_feedback, or another directory, and runs nothing. "Beat" are the replies whose
program, as it was written, scores higher on train than every policy that its prompt showed as a parent. A round's
score is the best on train by then, tuned policies included. "Test" are scores on held-out requests: of the winner, of
the best baseline there, and of the best policy that the search began with.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vulcan.results.run import run_document
from vulcan.searches.costs import Costs
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged, CandidateProposed, Event
from vulcan.store.runs import open_store

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data" / "recorded_feedback"


@dataclass(frozen=True)
class RecordedSearch:
    """What became of one search."""

    replies: int
    beat: int
    best_by_round: tuple[float, ...]
    winner: float
    baseline: float
    start: float
    verdict: str


def read(run: Path) -> RecordedSearch:
    """Read a finished run."""
    with closing(open_store(run)) as store:
        events = list(store.events())
        document = run_document(run, RunRecord.of(events), Costs.of(store.calls()))
    replies, beat, best_by_round = progress(events)
    test, winner = document["test"], document["best"]
    assert winner is not None and test["score"] is not None and test["best_baseline"] is not None
    return RecordedSearch(
        replies,
        beat,
        best_by_round,
        test["score"],
        test["best_baseline"]["score"],
        max(test["starts"].values()),
        str(document["verdict"]),
    )


def progress(events: list[Event]) -> tuple[int, int, tuple[float, ...]]:
    """Return replies, how many of them beat their parents, and the best score by each round."""
    proposed = {e.proposal: e for e in events if isinstance(e, CandidateProposed) and e.round}
    judged = [e for e in events if isinstance(e, CandidateJudged)]
    scores = {e.candidate: e.score for e in judged if e.score is not None}
    written = {e.proposal: e.score for e in judged if e.origin == "model"}  # of repaired programs, the last
    beat = sum(
        (score := written.get(number)) is not None and all(score > scores.get(p, score) for p in proposal.parents)
        for number, proposal in proposed.items()
    )
    best: dict[int, float] = {}
    for event in judged:
        number = proposed[event.proposal].round if event.proposal in proposed else 0
        number = max(number, *best, 0)
        best[number] = max(scores.get(event.candidate, -1.0), *best.values(), -1.0)
    return len(proposed), beat, tuple(score for number, score in sorted(best.items()) if number)


def main(given: list[str]) -> None:
    directory = Path(given[0]) if given else RECORDED
    runs = sorted(path.parent for path in directory.glob("*/run.db"))
    found = {run.name: read(run) for run in runs}
    rounds = max((len(search.best_by_round) for search in found.values()), default=0)
    columns = ["search", "replies", "beat", *(f"round {n + 1}" for n in range(rounds)), "test", "baseline", "start"]
    print(f"| {' | '.join([*columns, 'verdict'])} |\n|{'---|' * (len(columns) + 1)}")
    for name, search in found.items():
        numbers = [*search.best_by_round, search.winner, search.baseline, search.start]
        share = f"{search.beat} ({search.beat / max(search.replies, 1):.0%})"
        cells = [name, str(search.replies), share, *(f"{x:.4f}" for x in numbers), search.verdict]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
