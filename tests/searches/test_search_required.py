"""A property that a task requires: who breaks it is told by which input, and may mend the program."""

from __future__ import annotations

import re
from dataclasses import replace

from search_parts import TASK, Scripted, as_reply, config, evidence, lineup, of_kind, share

from vulcan.models.base import Request
from vulcan.scoring import Executor
from vulcan.searches.evidence import find_objective, make_scorer, open_run
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import CandidateJudged
from vulcan.task import Property

NEVER_TOO_MUCH = Property("fits", "holds", "no more than fits", claim="result <= room", required=True)
REQUIRING = replace(TASK, properties=(NEVER_TOO_MUCH,))
TOO_MUCH, MENDED = share(1.5), share(0.9)


def answer(request: Request) -> str:
    return as_reply(TOO_MUCH if request.turn == 0 else MENDED)


def test_what_breaks_a_required_property_is_rejected_with_a_counterexample_and_may_be_mended(
    children: Executor,
) -> None:
    chosen = config(rounds=1, samples=1, repairs=1)
    model, store = Scripted(answer), MemoryStore()
    open_run(REQUIRING, chosen, store, evidence(chosen), lambda _: None)
    scorer = make_scorer(find_objective(REQUIRING, chosen.objective), RunRecord.of(store.events()))
    Study(REQUIRING, chosen, store, scorer, children).run(lineup(model))

    rejected, mended = (j for j in of_kind(store, CandidateJudged) if j.proposal > len(TASK.seed_policies()))
    assert (rejected.verdict, rejected.rules, rejected.score) == ("rejected", ("property",), None)
    assert (mended.verdict, mended.source.strip()) == ("scored", MENDED.strip())
    assert mended.score is not None

    first, second = model.requests
    assert len(second.messages) == len(first.messages) + 2
    told = second.messages[-1].content
    assert rejected.feedback in told
    found = re.search(r"load (\S+), room (\S+) gives (\S+)", told)
    assert found, told
    load, room, result = map(float, found.groups())
    assert result == 1.5 * min(load, room) > room
