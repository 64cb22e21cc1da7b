"""Several models in one search: which is asked follows from what had settled, and one stands in for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from search_parts import Scripted, as_reply, config, contents, judged, lineup, of_kind, opened, share

from vulcan.models.base import Reply, Request
from vulcan.models.ensemble import FIRST_TRIES
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateProposed

MODELS = ("good", "bad")


def several(**changes: object) -> SearchConfig:
    plain = {"model": MODELS, "strategy": "evolve", "rounds": 6, "samples": 10, "in_flight": 4, "diff": "never"}
    return config(**{**plain, "objective": "calm", "advice_every": 0, **changes})


class Named(Scripted):
    """A scripted model with a name and a price."""

    def __init__(self, name: str, answered: Callable[[Request], str | None], dollars: float = 0.25) -> None:
        super().__init__(answered)
        self.name = name
        self._dollars = dollars

    def propose(self, request: Request) -> Reply:
        return replace(super().propose(request), dollars=self._dollars)


def nearer(request: Request) -> str:
    """Better than its best parent, by a little."""
    best = max((p.score for p in request.parents), default=-1.37)
    return as_reply(share(0.685 - round(best * 0.48, 6)))


def useless(request: Request) -> str:
    return as_reply(share(5 + request.proposal))


def models() -> tuple[Named, Named]:
    return Named("good", nearer), Named("bad", useless)


@pytest.fixture(scope="module")
def whole(children: Executor) -> MemoryStore:
    store = MemoryStore()
    opened(store, several(), children).run(lineup(*models()), parallel=1)
    return store


def chosen_models(store: MemoryStore) -> list[str]:
    return [p.model for p in of_kind(store, CandidateProposed) if p.round > 0]


def test_each_is_tried_and_then_the_one_that_gains_is_asked_more_often(whole: MemoryStore) -> None:
    asked = chosen_models(whole)
    assert Counter(asked[:10])["good"] >= FIRST_TRIES <= Counter(asked[:10])["bad"]
    assert Counter(asked[10:])["good"] > 3 * Counter(asked[10:])["bad"]
    assert {c.by for c in whole.calls()} == set(MODELS)
    by = {c.proposal: c.by for c in whole.calls()}
    assert [by[p.proposal] for p in of_kind(whole, CandidateProposed) if p.round > 0] == asked


@pytest.mark.parametrize("parallel", [2, 6])
def test_the_same_replies_give_the_same_choices(whole: MemoryStore, children: Executor, parallel: int) -> None:
    store = MemoryStore()
    opened(store, several(), children).run(lineup(*models()), parallel=parallel)
    assert contents(store) == contents(whole)


def test_a_repair_is_asked_of_who_wrote_what_is_to_be_mended(children: Executor) -> None:
    store = MemoryStore()
    first, second = Named("good", lambda r: "no" if r.turn == 0 else nearer(r)), Named("bad", useless)
    opened(store, several(rounds=1), children).run(lineup(first, second), parallel=1)
    assert {r.model for r in first.requests if r.turn == 1} == {"good"}
    assert {c.by for c in store.calls() if c.turn == 1} == {"good"}
    assert not any(r.turn for r in second.requests)


def test_one_that_is_not_available_is_covered_by_the_other(children: Executor) -> None:
    store = MemoryStore()
    opened(store, several(rounds=1), children).run(
        lineup(Named("good", nearer), Named("bad", lambda _: None)), parallel=2
    )
    assert "no-reply" not in {v.verdict for v in judged(store)}
    assert "bad" in chosen_models(store)
    assert {c.by for c in store.calls()} == {"good"}
