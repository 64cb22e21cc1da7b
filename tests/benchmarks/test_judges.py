"""The page of judges keeps what is not measured again, and says so."""

from __future__ import annotations

from benchmarks.judges import MARK, PAGE, TESTS, page

TITLES = ("prefix-cache-evolve", "Caffeine's simulator")


def test_what_is_not_measured_again_stays_and_is_named() -> None:
    old = PAGE.read_text(encoding="utf-8")
    kept = page(old, {title: [] for title in TITLES}, set())
    assert kept.replace(f"{MARK} {', '.join((*TESTS, *TITLES))}.", "") == "\n".join(
        "" if line.startswith("Measured last,") else line for line in old.split("\n")
    )
    assert all(f"| {name}" in old for name in TESTS)


def test_a_new_table_takes_the_place_of_the_old_one() -> None:
    old = PAGE.read_text(encoding="utf-8")
    table = ["| policy | score |", "|---|---:|", "| mine | 1.000 |"]
    new = page(old, {TITLES[0]: table, TITLES[1]: []}, {TITLES[0], *TESTS})
    assert "\n".join(table) in new and f"{MARK} {TITLES[1]}." in new
    assert new.count("|---|") == old.count("|---|") and new.count("## ") == old.count("## ")
