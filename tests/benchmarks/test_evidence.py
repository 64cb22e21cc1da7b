"""The tables of the headline searches: what a real search says, winners beside what they compete with."""

from __future__ import annotations

from pathlib import Path

from locations import few_starts

from benchmarks.evidence import HEAD, HEADLINES, PAGE, Headline, find_result, page_table, table_of

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


def test_each_headline_has_a_table_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    places = [page_table(page, headline) for headline in HEADLINES]
    assert len({begin for begin, _ in places}) == len(HEADLINES)
    for begin, end in places:
        rows = page[begin:end].splitlines()
        assert rows[0] == HEAD
        assert sum("**winner, seed" in row for row in rows) in (2, 3)
