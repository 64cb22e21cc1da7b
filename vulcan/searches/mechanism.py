"""The choice of a task's mechanism before a search: short pilot searches by the offline generator, one under each.

What the policies of a task are good for depends on how they are used, and prompts say how; so the mechanism is chosen
before the first prompt, by scores on the training instances alone.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.scoring import Executor, LocalExecutor, Setup
from vulcan.searches.config import MECHANISM, SearchConfig, mechanism_choices
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import OFFLINE, open_model_pool
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.task import Task

PILOT = 40
"""Candidates of a pilot search: with 25 it misjudged three of six searches on real traces, with 40 none."""


def with_mechanism(config: SearchConfig, task: Task, workers: int) -> SearchConfig:
    """Return the configuration with the best mechanism and the scores under each, if it is to be chosen.

    Ties go to the first that the task names. Raises UserError for a task that has no choice.
    """
    if not config.choose_mechanism or config.mechanisms:
        return config
    if not (names := mechanism_choices(task)):
        raise UserError(f"--choose-mechanism: task {task.name!r} has no mechanisms to choose from; leave it out")
    scores = {name: _piloted(under(config, name), task, workers) for name in names}
    best = max(names, key=lambda name: scores[name])
    return replace(under(config, best), mechanisms=scores)


def under(config: SearchConfig, mechanism: str) -> SearchConfig:
    """Return the configuration with this mechanism."""
    return replace(config, settings={**config.settings, MECHANISM: mechanism})


def _piloted(config: SearchConfig, task: Task, workers: int) -> float:
    evidence = load_evaluation_set(task, config, load_evaluator(task))
    with LocalExecutor(Setup(config.task, evidence.everything), workers) as executor:
        return pilot(config, task, evidence, executor)


def pilot(config: SearchConfig, task: Task, evidence: EvaluationSet, executor: Executor) -> float:
    """Return the best training score of a short search by the offline generator. Raises UserError if it has none."""
    short = replace(
        config, model=(OFFLINE,), strategy="evolve", offline_parents="best", budget_candidates=PILOT, tune=0, simplify=0
    )
    store = MemoryStore()
    open_run(task, short, store, evidence, lambda _: None)
    scorer = make_scorer(find_objective(task, short.objective), RunRecord.of(store.events()))
    study = Study(short.offered(task), short, store, scorer, executor)
    with closing(open_model_pool(task, short)) as models:
        study.begin()
        while (proposal := study.ask()) is not None or study.evaluations:
            if proposal is None:
                study.wait_for_scores()
            else:
                study.tell(proposal, models.propose(proposal))
    if not (ranked := study.record.ranked()) or ranked[0].score is None:
        raise UserError(f"--choose-mechanism: no policy has a score under {config.settings[MECHANISM]!r}")
    return ranked[0].score
