"""The table of policies: equal ones stand once, and an oracle below a baseline says that it is no bound."""

from __future__ import annotations

from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st
from locations import recorded_run

from vulcan.results.run import NO_BOUND, distinct, standings
from vulcan.store import RunRecord
from vulcan.store.events import BaselineMeasured
from vulcan.store.runs import open_store

KINDS = st.sampled_from(["candidate", "baseline", "oracle", "start"])
ROWS = st.lists(st.tuples(KINDS, st.sampled_from("123"), st.sampled_from("12")), max_size=12)


@given(ROWS)
def test_every_policy_stands_in_the_table_or_beside_an_equal_one(found: list[tuple[str, str, str]]) -> None:
    rows = [(f"p{n}", *row) for n, row in enumerate(found)]
    shown, equal = distinct(rows, tuple)
    groups = [group.split(" = ") for group in equal.removeprefix("Equal in every digit: ").rstrip(".").split("; ")]
    figures = {name: row for name, _, *row in rows}
    for name, kind, *row in rows:
        (group,) = [group for group in groups if name in group] or [[name]]
        assert all(figures[other] == row for other in group)
        assert sum(one[0] in group for one in shown) == 1
        assert kind != "candidate" or group == [name]
    others = [tuple(row) for _, kind, *row in shown if kind != "candidate"]
    assert len(set(others)) == len(others)


def test_an_oracle_below_a_baseline_is_no_bound() -> None:
    with closing(open_store(recorded_run())) as store:
        record = RunRecord.of(store.events())
    best = record.best_baseline("test")
    assert best is not None and record.chosen is not None
    for name, score in (("high", best.score + 0.1), ("low", best.score - 0.1)):
        record.add(BaselineMeasured(name, "oracle", "test", score, ()))
    kinds = {line.policy: line.kind for line in standings(record, None, record.chosen.candidate)}
    assert (kinds["high"], kinds["low"], kinds[best.policy]) == ("oracle", NO_BOUND, "baseline")
