"""Which candidates become members."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.portfolio.model import add_most

scores = st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=6), st.integers(1, 4))
def test_the_next_member_adds_the_most(table: list[tuple[list[float], list[float]]], most: int) -> None:
    by_objective = [{f"p{n}": tuple(rows[o]) for n, rows in enumerate(table)} for o in (0, 1)]

    def worth(names: tuple[str, ...]) -> float:
        return float(np.mean([np.max([by_name[name] for name in names], axis=0) for by_name in by_objective]))

    chosen = add_most(by_objective, most)
    assert len(set(chosen)) == len(chosen) == min(most, len(table))
    for n in range(1, len(chosen) + 1):
        others = [name for name in by_objective[0] if name not in chosen[: n - 1]]
        best = max(worth((*chosen[: n - 1], name)) for name in others)
        assert worth(tuple(chosen[:n])) == pytest.approx(best)
