"""Which member is chosen, which are followed, and which candidates become members."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import MRU, TASK, handmade, instance, usual

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.portfolio.model import FOLLOWED, TRIED, add_most
from vulcan.portfolio.selector import select, select_for
from vulcan.portfolio.workloads import prefixes_of
from vulcan_cache.simulator import CacheSimulator

NEW_LOOP = "loop:requests=6000,objects=530,name=new loop"


@pytest.mark.parametrize(("size", "capacity"), [("5%", 25), ("40%", 100)])
def test_policies_are_tried_with_a_cache_that_the_first_requests_overflow(size: str, capacity: int) -> None:
    """All 500 objects of this loop are asked for within the first 600 requests; a fifth of them is the most."""
    evaluator, whole = CacheSimulator(), instance("loop:requests=6000,objects=500", size)
    opening = evaluator.opening(whole, 600)
    assert opening.parameters["capacity"] == capacity
    assert (opening.parameters["measure_from"], opening.parameters["measure_to"]) == (300, 600)
    assert evaluator.opening(whole, 50).parameters["capacity"] == 10
    assert prefixes_of(evaluator, [whole], 600) == (600,)
    assert prefixes_of(evaluator, [whole], 100_000) == (1200,)


def test_members_are_tried_on_the_first_requests() -> None:
    """`mru` on a loop: the scores of training are wrong about both, and the trial puts it right."""
    wrong = {"hyperbolic": (0.1, 0.1, 0.1, 0.1), "mru": (0.0, 0.0, 0.0, 0.0)}
    library = replace(usual(), matrix={"object": replace(usual().matrix["object"], members=wrong)})
    (chosen,) = select_for(library, NEW_LOOP, {}, "object")
    assert (chosen.name, chosen.instance) == ("mru", "new loop@10%")
    simulator = CacheSimulator()
    opening = simulator.opening(instance(NEW_LOOP), 1200)
    fifo = simulator.evaluate_baseline("fifo", opening)["miss_ratio"]
    simulator.prepare([opening])
    missed = simulator.evaluate(check(MRU, TASK), opening)["miss_ratio"]
    assert dict(chosen.trials)["mru"] == pytest.approx(1 - missed / fifo)


def test_the_best_on_trial_are_followed_and_those_that_add_the_most_to_them() -> None:
    members = {f"p{n}": (0.1 * n, 0.0, 0.0, 0.0) for n in range(6)} | {
        "other": (0.0, 0.5, 0.0, 0.0),
        "late": (0.0, 0.0, 0.3, 0.0),
    }
    library = handmade(members, policies=dict.fromkeys(members, MRU))
    trials = {name: -float(n) for n, name in enumerate(members)}
    chosen = select(library, "object", "new", trials)
    assert chosen.name == "p0"
    assert chosen.to_follow == ("p0", "p1", "p2", "p3", "other", "late")
    assert (len(chosen.to_follow), TRIED) == (FOLLOWED, 4)
    with pytest.raises(UserError, match="no member"):
        select(library, "object", "new", {})


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
