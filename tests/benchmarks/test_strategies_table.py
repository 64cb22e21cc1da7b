"""The tables of `benchmarks.strategies`, from searches that are made up."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from benchmarks.strategies import (
    ARCHIVE,
    EVOLVE,
    SEARCHES,
    Proposed,
    Search,
    changes,
    comparison,
    gains,
    shares_of_time,
)

SAID = "Written by the offline generator (offline/evolve, not a language model) "


@pytest.mark.parametrize(
    "done, found",
    [
        ("changed candidate 3: inserted a term,\n    then left out a part.", ("inserted a term", "left out a part")),
        (
            "crossed candidate 3 (the first) with candidate 4 (the second): put a part of the second into the first; "
            "then adjusted constants.",
            ("put a part of the second into the first", "adjusted constants"),
        ),
        ("wrote a new program from the task's features.", ("a new program",)),
    ],
)
def test_changes_are_read_from_a_programs_documentation(done: str, found: tuple[str, ...]) -> None:
    assert changes(f'"""{SAID}{done}"""\n\n\ndef priority(now):\n    return now\n') == found


def test_operators_are_ordered_by_mean_gain() -> None:
    proposals = [
        Proposed("fresh", (), "scored", 0.0, False),
        Proposed("mutate", (), "scored", 0.02, True),
        Proposed("mutate", (), "stopped", 0.0, False),
    ]
    assert gains(proposals, lambda p: (p.operator,))[2:] == [
        "| mutate | 2 | 50% | 50.0% | 100.00 | 50.0% |",
        "| fresh | 1 | 100% | 0.0% | 0.00 | 0.0% |",
    ]


def test_searches_are_compared_at_one_time() -> None:
    made = {
        name: Search(((0.0, 0.1), (1.0 + number, 0.2), (9.0, 0.3)), (), 10.0, 0.5 + number)
        for number, name in enumerate(SEARCHES)
    }
    copied = {name: Search.from_json(json.loads(json.dumps(asdict(search)))) for name, search in made.items()}
    assert copied == made
    found = {("gli", 1): copied}
    table = comparison(found, 2.5)
    assert table[0] == f"| trace | {' | '.join(SEARCHES)} |"
    assert table[2] == "| gli | 0.2000 | 0.2000 | 0.1000 | 0.1000 | 0.1000 | 0.1000 |"
    one, held_out = "0.1000 [0.1000, 0.1000]", "-3.0000 [-3.0000, -3.0000]"
    gained = f"| {EVOLVE} - policysmith | {one} | 1, 0 of 1 | {held_out} | 0, 1 of 1 |"
    assert gained in table


def test_the_time_to_a_score_is_a_share_of_all_the_time() -> None:
    slow = Search(((0.0, 0.1), (4.0, 0.2)), (), 5.0, 0.0)
    fast = Search(((0.0, 0.1), (1.0, 0.25)), (), 5.0, 0.0)
    none = Search(((0.0, 0.1), (4.5, 0.2)), (), 5.0, 0.0)
    found = {("gli", seed): {EVOLVE: best, ARCHIVE: slow} for seed, best in enumerate((fast, none))}
    assert shares_of_time(found, EVOLVE, 4.0) == ([0.25, 1.0], 1)
