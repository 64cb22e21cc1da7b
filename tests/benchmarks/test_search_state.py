"""Of the searches that `benchmarks.search_state` compares only those with `--state` have policies that keep any."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.search import InThisProcess
from benchmarks.search_state import TASK, searched
from vulcan.evaluator import load_evaluator
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import load_evaluation_set

TRACE = "zipf:objects=300,requests=4000,alpha=0.8,seed=3"


def test_only_searches_with_state_have_policies_that_keep_state() -> None:
    settings = complete_settings(TASK, {"trace": [TRACE], "cache_size": ["10%"]})
    config = SearchConfig(
        task=TASK.name, settings=settings, objective="object", budget_candidates=4, tune=0, simplify=0, seed=1
    )
    evidence = load_evaluation_set(TASK, config, load_evaluator(TASK))
    without, with_state = (
        searched(evidence, replace(config, state=state), InThisProcess(evidence.everything, TASK))
        for state in (False, True)
    )
    assert not without.stateful
    assert with_state.scored + with_state.same > without.scored + without.same
