"""Comparison of searches that differ in their seed alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vulcan.results.run import comparison_of, scorer_of
from vulcan.searches.bootstrap import selection_bias
from vulcan.searches.verdict import Comparison, RunVerdict, verdict_of
from vulcan.store import RunRecord
from vulcan.store.runs import open_store


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What the search of one seed found; scores are the winner's, None where there is none."""

    seed: int
    run: Path
    winner: int | None
    fingerprint: str
    train: float | None
    validation: float | None
    verdict: RunVerdict | None
    units: tuple[float, ...]
    """The winner's scores on the instances, or the blocks of time, of the split validation."""


def seed_results(runs: Sequence[Path]) -> list[SeedResult]:
    """Read the results of finished searches. Raises UserError."""
    found = []
    for run in runs:
        with closing(open_store(run)) as store:
            record = RunRecord.of(store.events())
        compared = comparison_of(run, record, scorer_of(record))
        found.append(_result(run, record, compared))
    return found


def _result(run: Path, record: RunRecord, compared: Comparison | None) -> SeedResult:
    seed = int(record.config["seed"])
    if compared is None or record.chosen is None:
        verdict = None if compared is None else verdict_of(compared)
        return SeedResult(seed, run, None, "", None, None, verdict, ())
    winner = record.chosen.candidate
    units = compared.units(winner, "validation") if compared.scorer.of("validation") else None
    return SeedResult(
        seed,
        run,
        winner,
        record.candidates[winner].fingerprint or "",
        compared.mean(winner, "train"),
        compared.mean(winner, "validation"),
        verdict_of(compared),
        tuple(units or ()),
    )


def sentences(results: Sequence[SeedResult]) -> Iterator[str]:
    """Yield what varies among the searches, and which of the winners to take."""
    winners = [result for result in results if result.winner is not None]
    for split in ("train", "validation"):
        scores = [score for result in winners if (score := getattr(result, split)) is not None]
        if scores:
            low, high = min(scores), max(scores)
            yield f"The winners' scores on {split} go from {low:.4f} to {high:.4f}, {high - low:.4f} apart."
    different = len({result.fingerprint for result in winners})
    if winners:
        yield (
            f"{different} of {len(winners)} winners are different programs."
            if different > 1
            else ("All winners are the same program.")
        )
    measured = [result for result in winners if result.validation is not None]
    if not measured:
        yield "Nothing was held out to choose among the winners by."
        return
    best = max(measured, key=lambda result: result.validation or 0.0)
    name = f"Best on validation: candidate {best.winner} of {best.run} (seed {best.seed})"
    gain = next((g for g in best.verdict.gains if g.split == "validation"), None) if best.verdict else None
    if gain is None or best.verdict is None:
        yield f"{name}."
        return
    alike = {result.units for result in measured if len(result.units) == len(best.units)}
    bias = selection_bias(sorted(alike))
    left = gain.shrunk - bias
    yield f"{name}, {gain.gain:.4f} above {gain.over}; {gain.gain - left:.4f} of that is put down to the choice."
    low = gain.interval.low - (gain.gain - left) if gain.interval is not None else None
    if best.verdict.conclusion != "better":
        yield f"Its verdict stands: {best.verdict.sentence}"
    elif low is None or low <= 0:
        yield "Undecided: chosen among several seeds, its gain may be chance."
    else:
        yield f"Better, also after the choice among {len(measured)} seeds: take it with `vulcan export {best.run}`."
