"""`vulcan eval`: what its rows and means say, however the policies are called."""

from __future__ import annotations

from statistics import fmean

import pytest
from console import LRU, ZIPF, Console

TWO_SIZES = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", "5%", "--cache-size", "20%")


def test_a_policy_called_as_a_baseline_is_averaged_alone(vulcan: Console) -> None:
    (vulcan.directory / "belady.py").write_text(LRU)
    document = vulcan.document("eval", "belady.py", *TWO_SIZES)
    for kind in {row["kind"] for row in document["rows"] if row["policy"] == "belady"}:
        rows = [r for r in document["rows"] if (r["policy"], r["kind"]) == ("belady", kind)]
        (mean,) = (m for m in document["means"] if (m["policy"], m["kind"]) == ("belady", kind))
        assert len(rows) == 2
        for metric in ("score", "miss_ratio"):
            assert mean[metric] == fmean(r[metric] for r in rows)


@pytest.mark.parametrize(("size", "says"), [("110%", "nothing is ever evicted"), ("2", "no object fits")])
def test_a_cache_of_no_use_is_said_and_refused_by_a_search(vulcan: Console, size: str, says: str) -> None:
    (vulcan.directory / "mine.py").write_text(LRU)
    where = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", size)
    measured = vulcan("eval", "mine.py", *where)
    assert measured.returncode == 0
    assert says in measured.stderr
    refused = vulcan("search", *where, "--budget-candidates", "3", "--executor", "local")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert says in refused.stderr
    assert "choose a " in refused.stderr
    assert not (vulcan.directory / "runs").exists()
