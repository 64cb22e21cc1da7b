"""The tables of `benchmarks.strategies`, from searches that are made up."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from benchmarks.strategies import SEARCHES, Proposed, Search, changes, comparison, gains

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


def test_searches_are_compared_when_the_fastest_was_done() -> None:
    made = {
        name: Search(((0.0, 0.1), (5.0, 0.2), (9.0, 0.3)), (), 10.0 - number, 0.5)
        for number, name in enumerate(SEARCHES)  # the last takes 7 s
    }
    copied = {name: Search.from_json(json.loads(json.dumps(asdict(search)))) for name, search in made.items()}
    assert copied == made
    assert comparison({("gli", 1): copied})[2] == "| gli | 0.2000 | 0.2000 | 0.2000 | 0.2000 |"
