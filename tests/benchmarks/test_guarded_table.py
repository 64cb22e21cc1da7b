"""Winners of the traces that ruin them stay within the bound when guarded, in every range, and the table says so."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import guarded
from benchmarks.guarded import (
    COLUMNS,
    SAFE,
    BoundExceededError,
    GuardedLine,
    compare,
    held_out_of,
    searched,
    summary,
    table,
    worst_range,
    write_generated,
)
from benchmarks.verdicts import TRACES
from vulcan.anvil import check
from vulcan.registry import find_task

TASK = find_task("cache_eviction")
MRU = "def priority(now, obj, cache, ghost):\n    return -obj.last_access\n"
LFU = "def priority(now, obj, cache, ghost):\n    return obj.count\n"
ABOUT: dict[str, Any] = {"trace": "a", "seed": 1, "verdict": "better"}


def lines_of(source: str, kind: str, directory: Path) -> list[GuardedLine]:
    file = write_generated(kind, 1, directory)
    settings = {"trace": [str(file)], "columns": COLUMNS, "cache_size": ["5%"]}
    return list(compare(check(source, TASK), held_out_of(settings), **ABOUT))


@pytest.mark.parametrize("kind", TRACES)
def test_guarded_policies_stay_within_the_bound_where_they_fail(kind: str, tmp_path: Path) -> None:
    """`compare` raises where any range exceeds it; a policy that keeps what is popular is one of such winners."""
    for source in (LFU, MRU):
        found = lines_of(source, kind, tmp_path)
        assert [line.safe for line in found] == list(SAFE)
        for line in found:
            assert line.requests == 24_000
            assert line.loss <= line.bound
            assert max(0, line.loss) <= line.guarded_range <= line.range_bound <= line.bound
            if source == MRU:
                assert line.winner_range > 2 * line.guarded_range


def test_a_policy_of_the_first_part_is_ruined_by_a_change_and_the_guard_helps(tmp_path: Path) -> None:
    for kind in ("change at 60 %", "change at 80 %"):
        (by_lru, _) = lines_of(LFU, kind, tmp_path)
        assert by_lru.winner_range > 5 * by_lru.guarded_range
        assert by_lru.guarded < by_lru.winner


def test_the_winner_of_a_search_is_compared(tmp_path: Path) -> None:
    file = write_generated("drift", 1, tmp_path)
    settings = {"trace": [str(file)], "columns": COLUMNS, "cache_size": ["5%"], "tune": 0, "simplify": 0}
    found = list(searched("drift", 1, settings, 3, tmp_path / "runs"))
    assert [(line.trace, line.safe, line.requests) for line in found] == [("drift", safe, 24_000) for safe in SAFE]
    assert found[0].alone == lines_of(LFU, "drift", tmp_path)[0].alone
    assert all(line.loss <= line.bound for line in found)


def test_the_worst_range_is_found() -> None:
    rng = random.Random(1)
    for _ in range(50):
        more = np.array([rng.choice((-1, 0, 1)) for _ in range(rng.randrange(1, 40))])
        ranges = [(int(more[i:j].sum()), i, j) for i in range(len(more) + 1) for j in range(i, len(more) + 1)]
        found, length = worst_range(more)
        assert found == max(total for total, _, _ in ranges)
        assert (found, length) in {(total, j - i) for total, i, j in ranges}


def test_an_exceeded_bound_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "TOLERANCE", 0.9)  # what is left of the bound for the cacheful is below 0
    with pytest.raises(BoundExceededError, match="safe='lru'"):
        lines_of(MRU, "scans", tmp_path)


def line(**changed: Any) -> GuardedLine:
    base = GuardedLine(
        trace="drift",
        seed=1,
        safe="lru",
        verdict="better",
        requests=1_000,
        winner=500,
        alone=300,
        guarded=320,
        bound=60.0,
        winner_range=250,
        guarded_range=40,
        range_bound=55.0,
        switches=3,
    )
    return replace(base, **changed)


def test_the_table_has_the_worst_of_each_trace_and_the_summary_all() -> None:
    lines = [
        line(),
        line(seed=2, winner=280, guarded=290, winner_range=5, guarded_range=45, range_bound=50.0, switches=1),
        line(safe="s3-fifo", winner=250, guarded=255),
    ]
    assert table(lines).splitlines()[2:] == [
        "| drift | lru | 300 | +200 | +20 | 60 | 250 | 45 | 50 | 3 |",
        "| drift | s3-fifo | 300 | -50 | -45 | 60 | 250 | 40 | 55 | 3 |",
    ]
    by_lru, by_s3_fifo = summary(lines).splitlines()
    assert by_lru.startswith(
        "lru: of 2 winners 1 lose to it alone, 1 guarded; misses lost 200 alone, 20 guarded; won 20 "
    )
    assert "at most 90% of its bound; where the winner is better the guard takes +10 misses of it" in by_lru
    assert "won 50 alone, 45 guarded" in by_s3_fifo
    assert GuardedLine(**asdict(lines[0])) == lines[0]
