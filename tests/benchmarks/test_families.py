"""Tables of families of recordings, and what is written of recordings in forms of their own."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import conversions, unseen
from benchmarks.families import SUITES, Family, tables
from vulcan.registry import known_tasks


def test_a_family_counts_once_and_is_left_out_in_turn() -> None:
    of_each = pd.MultiIndex.from_tuples([("one", "a"), ("one", "b"), ("two", "c")])
    scores = {("candidate", "found"): [0.9, 0.7, 0.1], ("baseline", "known"): [0.2, 0.4, 0.5]}
    means, lead = tables(pd.DataFrame(scores, index=of_each).T)
    assert means.columns == ("policy", "mean of families", "one (2)", "two (1)")
    assert means.rows[0] == ("**found**", "0.450", "0.800", "0.100")
    assert lead.rows[0] == ("found over known", "2", "0.050", "0.500", "-0.400")
    # by "two" the known policy is best, so that "one" gains nothing; by "one" the found one, which loses on "two"
    assert lead.rows[-1] == ("left out", "0", "-0.200", "0.000", "-0.400")


def test_recordings_are_written_as_tasks_read_them(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "one.gz", "wt") as file:
        file.write("4 4096 8192\n" * 50)
    counts = np.load(conversions.write_page_counts(tmp_path / "one.gz", tmp_path / "one"))
    assert (counts["loads"][1], counts["stores"][1], counts["epoch"][-1]) == (0, 100_000, 49)
    log = tmp_path / "nova.log"
    log.write_text('nova 2017-05-16 00:00:01.500 INFO "GET /v2" status: 200 len: 1893 time: 0.5\n')
    assert conversions.write_requests(log, tmp_path / "log").read_text().endswith(".0,500.0\n")
    (tmp_path / "sessions").mkdir()
    for name in "ab":
        (tmp_path / "sessions" / f"{name}.jsonl").write_text('{"timestamp": 7, "input": "how are you", "output": ""}')
    log = conversions.write_prompts(tmp_path / "sessions", tmp_path / "prompts")
    assert '{"timestamp": 5.0, "prompt": [0, 1, 2], ' in log.read_text()
    (tmp_path / "trace.txt").write_text("0.0 800.5\n400.0 800.5\n500.0 900\n900.0 900\n")
    link = conversions.write_link(tmp_path / "trace.txt", tmp_path / "trace").read_text()
    assert link == "time_ms,rate_kbps\n0,800.5\n500,900\n"


def test_every_task_is_searched_on_recordings_by_family(tmp_path: Path) -> None:
    assert {unseen.CACHES, *SUITES} == {*known_tasks()} - {"cache_program"}
    for name in "abcde":
        (tmp_path / name).touch()
    assert [name for name, _ in Family("?").files(tmp_path, tmp_path, 2)] == ["a", "d"]


def test_gains_are_of_families_where_there_are_four() -> None:
    def row(family: str, verdict: str, winner: float, gain: float) -> dict[str, object]:
        return {"family": family, "unit": f"{family} {gain}", "verdict": verdict, "winner": winner, "gain": gain}

    results = [row("a", "better", 0.2, 0.2), row("a", "better", -0.1, -0.1), row("b", "no better", 0.3, 0.05)]
    assert unseen.by_domain({"x": results}).rows == (
        ("x", "1 of 2", "-", "1 of 1", "+0.0500", "3 recordings", "-", "-0.1000"),
    )
    more = [*results, row("c", "undecided", 0.0, 0.05), row("d", "undecided", 0.1, 0.05)]
    assert unseen.by_domain({"x": more}).rows[0][:6] == ("x", "1 of 2", "1 of 2", "1 of 1", "+0.0500", "4 families")
