"""The tables of the headline searches: what a real search says, winners beside what they compete with."""

from __future__ import annotations

import json
from pathlib import Path

from locations import few_starts

from benchmarks.evidence import HEAD, HEADLINES, PAGE, Headline, compare, find_result, page_table, table_of
from benchmarks.recordings import RECORDINGS, differences, unpack
from vulcan.registry import find_task

TRACE = "zipf:requests=4000,objects=400,alpha=0.9,seed=3,sizes=lognormal"
SMALL = Headline(
    "small", few_starts(), ("--trace", TRACE, "--cache-size", "10%", "--budget-candidates", "12", "--tune", "0"),
)  # fmt: skip


def test_a_table_has_the_winners_and_the_best_of_the_others(tmp_path: Path) -> None:
    results = {seed: find_result(SMALL, seed, tmp_path) for seed in (1, 2)}
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table_of(SMALL, results)]
    assert head == ["policy", "train", "validation", "test", "verdict"]
    by_name = {row[0]: row for row in rows}
    for seed, document in results.items():
        winner = by_name.pop(f"**winner, seed {seed}**")
        assert winner[1:4] == [f"{document[split]['score']:.4f}" for split in ("train", "validation", "test")]
        assert winner[4] == f"*{document['verdict']}*"
    held_out = results[1]["test"]
    best = max(held_out["baselines"], key=held_out["baselines"].get)
    assert by_name[best][3] == f"{held_out['baselines'][best]:.4f}"
    assert sum(name.endswith("(oracle)") for name in by_name) == 2
    assert [float(row[3]) for row in rows] == sorted((float(row[3]) for row in rows), reverse=True)


def test_a_finished_search_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "small-7.json").write_text(json.dumps({"verdict": "undecided"}))
    assert find_result(SMALL, 7, tmp_path) == {"verdict": "undecided"}
    assert len(list(tmp_path.iterdir())) == 1


def test_headlines_name_tasks_and_have_names_of_their_own() -> None:
    assert len({headline.name for headline in HEADLINES}) == len(HEADLINES)
    for headline in HEADLINES:
        assert find_task(headline.task).name == headline.task


def test_each_headline_has_a_table_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    places = [page_table(page, headline) for headline in HEADLINES]
    assert len({begin for begin, _ in places}) == len(HEADLINES)
    for begin, end in places:
        rows = page[begin:end].splitlines()
        assert rows[0] == HEAD
        assert sum("**winner, seed" in row for row in rows) == 3


def test_what_differs_from_the_page_is_said() -> None:
    score = {"score": 0.5, "baselines": {"lru": 0.25}}
    document = {"verdict": "better", "train": score, "validation": score, "test": score}
    headline = Headline("loops", "cache_eviction", trace="loops")
    page = "\n".join(["", "**loops.** Prose.", "", *table_of(headline, {1: document, 2: document}), "", "More.", ""])
    assert compare(page, headline, {1: document, 2: document}) == []
    assert compare(page, headline, {2: document}) == []
    worse = {**document, "test": {"score": 0.5, "baselines": {"lru": 0.125}}}
    assert [line for line in compare(page, headline, {1: worse}) if line.startswith(("-|", "+|"))] == [
        "-| lru | 0.2500 | 0.2500 | 0.2500 |  |",
        "+| lru | 0.2500 | 0.2500 | 0.1250 |  |",
    ]


def test_a_recording_differs_from_another_and_not_from_itself(tmp_path: Path) -> None:
    one, other = (unpack(recording.archive, tmp_path / recording.name) for recording in RECORDINGS[:2])
    assert differences(one, one) == []
    assert [line.split()[0] for line in differences(one, other)] == ["event", "call"]
