"""Comparison of searches that differ in their seed alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vulcan.documents.report import SeedRow, SeedsDocument
from vulcan.documents.run import Conclusion, Gain
from vulcan.results.run import comparison_of
from vulcan.searches.bootstrap import selection_bias
from vulcan.searches.evidence import SPLITS
from vulcan.searches.scorer import Scorer
from vulcan.searches.verdict import RunVerdict, verdict_of
from vulcan.store import RunRecord
from vulcan.store.events import BaselineMeasured
from vulcan.terminal_text import count


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The search with one seed: its row, and what the winners are compared by.

    `baseline` is the best one on the split validation, or on train where nothing is held out, and `units` are the
    winner's scores on the instances, or the blocks of time, of validation.
    """

    row: SeedRow
    verdict: RunVerdict | None
    fingerprint: str = ""
    baseline: BaselineMeasured | None = None
    units: tuple[float, ...] = ()


def seeds_document(results: Sequence[SeedResult]) -> SeedsDocument:
    """Return what searches with several seeds say together.

    The best is the one whose winner is the best on validation. The verdict is the one on it, after what the choice
    among the seeds adds by luck.
    """
    results = sorted(results, key=lambda result: result.row["seed"])
    winners = [result for result in results if result.row["candidate"] is not None]
    measured = [result for result in winners if result.row["validation"] is not None]
    best = max(measured, key=lambda result: result.row["validation"] or 0.0, default=None)
    if best is not None:
        conclusion, last = _concluded(best, measured)
    else:
        conclusion = next((result.row["verdict"] for result in results if result.row["verdict"] is not None), None)
        last = ["Nothing was held out to choose among the winners by." if winners else "No search has a winner."]
    return {
        "seeds": [result.row for result in results],
        "best": None if best is None else best.row["run"],
        "verdict": conclusion,
        "sentences": [*_spread(winners), *last],
    }


def seed_result(run: Path, record: RunRecord, scorer: Scorer | None) -> SeedResult:
    """Return what a finished search is compared by with those of other seeds."""
    compared = comparison_of(record, scorer)
    verdict = None if compared is None else verdict_of(compared)
    row: SeedRow = {
        "seed": int(record.config["seed"]),
        "run": str(run),
        "candidate": None,
        "train": None,
        "validation": None,
        "test": None,
        "verdict": None if verdict is None else verdict.conclusion,
        "sentence": None if verdict is None else verdict.sentence,
    }
    if compared is None or record.chosen is None:
        return SeedResult(row, verdict)
    winner = record.chosen.candidate
    row["candidate"] = winner
    row["train"], row["validation"], row["test"] = (compared.mean(winner, split) for split in SPLITS)
    held_out = bool(compared.scorer.of("validation"))
    fingerprint = record.candidates[winner].fingerprint or record.candidates[winner].source
    units = compared.units(winner, "validation") if held_out else None
    known = record.best_baseline(compared.deciding)
    return SeedResult(row, verdict, fingerprint, known, tuple(units or ()))


def _spread(winners: Sequence[SeedResult]) -> Iterator[str]:
    """Yield what varies among the winners."""
    known = next((result.baseline for result in winners if result.baseline is not None), None)
    for split in SPLITS[:2]:
        scores = [score for result in winners if (score := result.row[split]) is not None]
        if not scores:
            continue
        low, high = min(scores), max(scores)
        ending = ""
        if known is not None and split == known.split:
            ending = f"; the best baseline, {known.policy}, has {known.score:.4f}"
        yield f"The winners' scores on {split} go from {low:.4f} to {high:.4f}, {high - low:.4f} apart{ending}."
    different = len({result.fingerprint for result in winners})
    if len(winners) > 1:
        programs = f"{different} different programs" if different > 1 else "the same program"
        yield f"The {count(len(winners), 'winner')} are {programs}."


def _concluded(best: SeedResult, measured: Sequence[SeedResult]) -> tuple[Conclusion | None, list[str]]:
    """Return the conclusion for the best of several winners, and the sentences that say it."""
    row = best.row
    name = f"Best on validation: candidate {row['candidate']} of {row['run']} (seed {row['seed']})"
    gain = _gain_of(best.verdict)
    if best.verdict is None or gain is None:
        return None, [f"{name}."]
    if best.verdict.conclusion == "no better":
        return "no better", [f"{name}.", best.verdict.sentence]
    alike = {result.units for result in measured if len(result.units) == len(best.units)}
    among = selection_bias(sorted(alike))
    luck = gain["gain"] - gain["shrunk"] + among
    low = gain["interval"]["low"] - among if gain["interval"] is not None else None
    seeds = count(len(measured), "seed")
    chosen = f"{name}, {gain['gain']:.4f} above {gain['over']}, of which {luck:.4f} is put down to choosing the best"
    if best.verdict.conclusion == "undecided":
        return "undecided", [f"{chosen}.", best.verdict.sentence]
    if low is None or low <= 0:
        return "undecided", [f"{chosen}.", f"Undecided: chosen as the best of {seeds}, its gain may be chance."]
    return "better", [f"{chosen}.", f"Better, also as the best of {seeds}: take it with `vulcan export {row['run']}`."]


def _gain_of(verdict: RunVerdict | None) -> Gain | None:
    gains = verdict.gains if verdict is not None else ()
    return next((gain for gain in gains if gain["split"] == "validation"), None)
