"""The verdict on a search, from stored scores alone: what is recommended, and for which evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from vulcan.evaluator import BaselineKind, Instance, SplitName
from vulcan.registry import find_task
from vulcan.searches.scorer import Scorer
from vulcan.searches.target import not_carried, plain_name
from vulcan.searches.verdict import Comparison, RunVerdict, verdict_of
from vulcan.store import RunRecord
from vulcan.store.events import (
    BaselineMeasured,
    CandidateJudged,
    CandidateProposed,
    FinalistScored,
    HeldOutMeasured,
    InstanceMetrics,
    InstancesPrepared,
    RunStopped,
    WinnerChosen,
)
from vulcan.task import Objective

OBJECTIVE = Objective("value", "value", "a value", lambda metrics, _: metrics["value"], lowest=0.0, highest=1.0)
SEED, FOUND = 1, 2
EVEN = (0.0, 0.01, -0.01, 0.02, -0.02, 0.0)


def metrics(level: float, spread: Sequence[float]) -> InstanceMetrics:
    return tuple((str(n), {"value": level + offset}) for n, offset in enumerate(spread))


def verdict(
    winner: int | None,
    validation: Mapping[int | str, float],
    spread: Sequence[float] = EVEN,
    noise: Sequence[float] = (),
    held_out: HeldOutMeasured | None = None,
    before: Mapping[str, float] = MappingProxyType({}),
    target: str | None = None,
    starts: Mapping[int, str] = MappingProxyType({SEED: "lru"}),
    left: Collection[str] = (),
) -> RunVerdict | None:
    """The verdict where policies have these scores on validation; `noise` is added to those of what was found.

    Baselines have the same score on train, or that of `before`.
    """
    splits: list[SplitName] = ["train", *(["validation"] if validation else [])]  # type: ignore[list-item]
    prepared = [{"name": str(n), "split": s, "parameters": {}} for s in splits for n in range(len(spread))]
    record = RunRecord.of([InstancesPrepared(tuple(prepared))])
    record.config = {"target": target}
    for name, level in {"lru": 0.5, **{k: v for k, v in validation.items() if isinstance(k, str)}}.items():
        kind: BaselineKind = "not carried" if plain_name(name) in left else "baseline"
        for split in splits:
            score = before.get(name, level) if split == "train" else level
            record.add(BaselineMeasured(name, kind, split, score, metrics(score, spread)))
    for number, level in ((SEED, 0.4), (FOUND, 0.6)):
        record.add(CandidateProposed(number, number - 1, "seed", (), 1, ""))
        origin: Any = "seed" if number == SEED else "model"
        record.add(CandidateJudged(number, number, 0, "", f"f{number}", "scored", "", (), 1, 1, None, level,
                                   metrics(level, spread), origin=origin))  # fmt: skip
    for number in (SEED, FOUND):
        if (level := validation.get(number)) is not None:
            found = metrics(level, [a + b for a, b in zip(spread, noise or [0] * len(spread), strict=True)])
            own = found if number == FOUND else metrics(level, spread)
            mean = sum(values["value"] for _, values in own) / len(own)
            record.add(FinalistScored(number, "validation", mean, own))
    if winner is not None:
        record.add(WinnerChosen(winner, "validation" if validation else "train"))
    record.held_out = held_out
    record.add(RunStopped("finished"))
    scorer = Scorer(OBJECTIVE, [Instance(**instance) for instance in prepared])  # type: ignore[arg-type]
    return verdict_of(Comparison(record, scorer, starts))


def of(*given: Any, **more: Any) -> RunVerdict:
    found = verdict(*given, **more)
    assert found is not None
    return found


def test_a_winner_above_the_best_baseline_beyond_doubt_is_better() -> None:
    found = of(FOUND, {"lru": 0.5, SEED: 0.45, FOUND: 0.6}, noise=(0.01, -0.01, 0.02, -0.02, 0.0, 0.0))
    assert (found.conclusion, found.candidate, found.second) == ("better", FOUND, None)
    assert found.sentence.startswith("Better: candidate 2 is 0.1000 above the best baseline, lru, on validation")
    (gain,) = (gain for gain in found.gains if gain["split"] == "validation")
    assert (gain["over"], gain["kind"], gain["units"], gain["count"]) == ("lru", "baseline", "instances", 6)
    assert gain["gain"] == pytest.approx(0.1)
    assert gain["interval"] is not None
    assert 0.05 < gain["interval"]["low"] < 0.1 < gain["interval"]["high"] < 0.15
    assert f"{gain['interval']['low']:.4f} to {gain['interval']['high']:.4f}" in found.sentence


def test_a_winner_below_the_best_baseline_is_not_recommended() -> None:
    found = of(FOUND, {"lru": 0.5, SEED: 0.45, FOUND: 0.1})
    assert (found.conclusion, found.kind, found.policy, found.second) == ("no better", "baseline", "lru", FOUND)
    assert found.candidate == SEED  # the policy of its name that the search began with
    other = of(FOUND, {"arc": 0.55, "lru": 0.5, SEED: 0.45, FOUND: 0.5})
    assert (other.policy, other.candidate, other.second) == ("arc", None, FOUND)
    assert other.doubt == "no gain on validation"


def test_a_policy_that_the_search_began_with_competes_for_the_choice() -> None:
    found = of(FOUND, {"lru": 0.5, SEED: 0.7, FOUND: 0.6})
    assert (found.conclusion, found.kind, found.policy, found.candidate) == ("no better", "start", "start: lru", SEED)
    assert "lru, which it began with, has 0.7000 on validation" in found.sentence
    itself = of(SEED, {"lru": 0.5, SEED: 0.7})
    assert (itself.conclusion, itself.policy, itself.second) == ("no better", "start: lru", None)


def test_little_evidence_decides_nothing_and_says_what_to_add() -> None:
    noisy = of(FOUND, {"lru": 0.5, FOUND: 0.52}, noise=(0.04, -0.04, 0.02, -0.02, 0.03, -0.03))
    assert (noisy.conclusion, noisy.kind, noisy.candidate, noisy.second) == ("undecided", "candidate", FOUND, None)
    assert noisy.sentence.endswith(f"candidate {FOUND} is recommended as the better bet; lru is the safe choice.")
    assert "may be chance" in noisy.sentence
    assert "times as much of the instances of the split validation" in noisy.to_add
    small = of(FOUND, {"lru": 0.5, FOUND: 0.52}, noise=(0.2, -0.2, 0.1, -0.1, 0.15, -0.15))
    assert small.conclusion == "no better"
    assert "too little to tell from chance" in small.sentence
    few = of(FOUND, {"lru": 0.5, FOUND: 0.6}, spread=(0.0, 0.0))
    assert (few.conclusion, few.to_add[:9], few.candidate, few.second) == ("undecided", "workloads", SEED, FOUND)
    doubts = ["interval contains zero", "interval contains zero", "too few workloads for an interval"]
    assert [verdict.doubt for verdict in (noisy, small, few)] == doubts
    none = of(FOUND, {})
    assert none.conclusion == "undecided"
    assert "held-out data" in none.to_add


def windows(gains: Sequence[float], train: Sequence[float] = ()) -> HeldOutMeasured:
    """Blocks of time of the only instance, on which what was found gains this over a baseline with 0.5."""
    blocks, measured = [], []
    for split, found in (("validation", gains), ("train", train)):
        names = tuple(f"0 window {n}" for n in range(len(found)))
        own = tuple((name, {"value": 0.5 + gain}) for name, gain in zip(names, found, strict=True))
        known = tuple((name, {"value": 0.5}) for name in names)
        blocks += [(split, "0", names)] if found else []
        measured += [(FOUND, split, own), ("lru", split, known)]
    return HeldOutMeasured((), tuple(blocks), tuple(measured))  # type: ignore[arg-type]


def test_blocks_of_time_decide_where_there_is_one_instance() -> None:
    steady = of(FOUND, {"lru": 0.5, FOUND: 0.6}, spread=(0.0,), held_out=windows([0.1, 0.12, 0.08, 0.1] * 2))
    assert steady.conclusion == "better"
    (gain,) = (gain for gain in steady.gains if gain["split"] == "validation")
    assert (gain["units"], gain["count"]) == ("windows", 8)
    lost = of(
        FOUND, {"lru": 0.5, FOUND: 0.56}, spread=(0.0,), held_out=windows([0.3, 0.25, 0.2, 0.1, 0.0, -0.1, -0.1, -0.17])
    )
    assert lost.conclusion == "no better"


def test_a_winner_that_a_quarter_of_train_speaks_against_is_not_yet_better() -> None:
    gains = [0.1, 0.12, 0.08, 0.1] * 2

    def after(train: Sequence[float]) -> RunVerdict:
        return of(FOUND, {"lru": 0.5, FOUND: 0.6}, spread=(0.0,), held_out=windows(gains, train))

    assert after([0.0, 0.0, -0.1, 0.2, 0.1, 0.1, 0.3, 0.2]).conclusion == "better"  # quarters, not eighths
    assert after([-0.1, -0.1, 0.2]).conclusion == "better"  # too short to have quarters
    found = after([0.3, 0.2, -0.1, 0.05, 0.1, 0.1, 0.3, 0.2])
    assert (found.conclusion, found.candidate) == ("undecided", FOUND)
    assert "but 0.0250 below it in a quarter of train" in found.sentence
    assert found.doubt == "a loss in a quarter of train"


def test_a_search_without_a_winner_names_the_best_baseline() -> None:
    found = of(None, {"lru": 0.5})
    assert (found.conclusion, found.policy, found.candidate) == ("no better", "lru", SEED)


def test_settings_of_one_workload_are_one_piece_of_evidence() -> None:
    """Six instances of two traces: each gains the same, and two are too few to be sure of others."""
    record = RunRecord.of([])
    of_two = [Instance(str(n), "validation", {"digest": str(n % 2)}) for n in range(6)]
    compared = Comparison(record, Scorer(OBJECTIVE, of_two), {})
    assert compared.in_windows("validation")
    of_six = [Instance(str(n), "validation", {"digest": str(n)}) for n in range(6)]
    assert not Comparison(record, Scorer(OBJECTIVE, of_six), {}).in_windows("validation")


def test_the_known_policy_that_holds_is_recommended_not_that_of_the_last_stretch() -> None:
    """`lru` is ahead on validation by less than `arc` was on train."""
    found = of(FOUND, {"lru": 0.55, "arc": 0.5, FOUND: 0.4}, before={"arc": 0.7})
    assert (found.conclusion, found.policy) == ("no better", "arc")
    assert found.sentence.endswith("Recommended is arc, the best known policy on train and validation together.")
    # on train all the others had an outage
    others = {"lru": 0.55, "2q": 0.54, "s3-fifo": 0.53}
    assert (
        of(FOUND, {**others, "arc": 0.4, FOUND: 0.4}, before={**dict.fromkeys(others, 0.3), "arc": 0.9}).policy == "lru"
    )


def test_a_winner_ahead_by_too_little_is_recommended_where_it_is_best_on_train_too() -> None:
    """What was found has 0.6 on train."""
    noise = (0.2, -0.2, 0.1, -0.1, 0.15, -0.15)
    bet = of(FOUND, {"lru": 0.5, FOUND: 0.52}, noise=noise)
    assert (bet.conclusion, bet.kind, bet.candidate, bet.second) == ("no better", "candidate", FOUND, None)
    assert bet.sentence.endswith("the best on train and validation together; lru is the safe choice.")
    before = of(FOUND, {"lru": 0.5, FOUND: 0.52}, noise=noise, before={"lru": 0.7})
    assert (before.conclusion, before.policy, before.second) == ("no better", "lru", FOUND)
    behind = of(FOUND, {"lru": 0.5, FOUND: 0.49}, noise=noise)
    assert (behind.conclusion, behind.policy, behind.second) == ("no better", "lru", FOUND)


def test_a_winner_behind_on_train_is_no_better_however_far_ahead_on_validation() -> None:
    """What was found has 0.6 on train, where it was chosen."""
    steady = (0.01, -0.01, 0.02, -0.02, 0.0, 0.0)
    assert of(FOUND, {"lru": 0.5, FOUND: 0.55}, noise=steady, before={"lru": 0.6}).conclusion == "better"
    found = of(FOUND, {"lru": 0.5, FOUND: 0.55}, noise=steady, before={"lru": 0.66})
    assert (found.conclusion, found.policy, found.second) == ("no better", "lru", FOUND)
    assert "is 0.0500 above it, but 0.0600 below it on train" in found.sentence
    assert of(FOUND, {"lru": 0.5, FOUND: 0.58}, noise=steady, before={"lru": 0.66}).candidate == FOUND


def test_a_policy_that_the_target_cannot_carry_is_named_and_not_compared_with() -> None:
    """SQLite has no queues; 2Q has no program, is compared with, and GDSF recommended."""
    left = not_carried(find_task("cache_eviction"), "sqlite")
    assert "s3fifo" in left and not left & {"gdsf", "2q"} and not not_carried(find_task("cache_eviction"), None)
    more: Any = {"target": "sqlite", "starts": {SEED: "gdsf"}, "left": left}
    scores: dict[int | str, float] = {"s3-fifo": 0.7, "arc": 0.65, "2q": 0.6, "gdsf": 0.55}
    worse = of(FOUND, {**scores, FOUND: 0.5}, **more)
    unclear = of(FOUND, {**scores, FOUND: 0.62}, spread=(0.0, 0.0), **more)
    assert (worse.conclusion, unclear.conclusion) == ("no better", "undecided")
    note = "Not compared: s3-fifo, which sqlite cannot carry, has 0.7000 on validation."
    recommended = "Recommended is gdsf, the best known policy that sqlite carries on train and validation together."
    until = "Until then gdsf, the best known policy that sqlite carries, is recommended."
    for found, advised in ((worse, recommended), (unclear, until)):
        assert "the best baseline, 2q," in found.sentence
        assert (found.policy, found.candidate) == ("gdsf", SEED)
        assert found.sentence.endswith(f"{advised} {note}")
    better = of(FOUND, {**scores, FOUND: 0.65}, noise=(0.01, -0.01, 0.02, -0.02, 0.0, 0.0), **more)
    assert (better.conclusion, better.sentence.endswith(note)) == ("better", True)
