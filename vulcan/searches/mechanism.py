"""The choice of a task's mechanism before a search: short pilot searches, one under each.

What the policies of a task are good for depends on how they are used, and prompts say how; so the mechanism is chosen
before the first prompt, by scores on the training instances alone. A search by the offline generator is its own pilot:
it begins under each mechanism, and goes on under the best from where that pilot ended. What a language model will find
is not known before it is asked, so the generator searches in its place, and those candidates are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.scoring import LocalExecutor, Setup
from vulcan.searches.config import MECHANISM, SearchConfig, mechanism_choices
from vulcan.searches.evidence import EvaluationSet, find_objective, make_scorer, open_run
from vulcan.searches.model_pool import OFFLINE, open_model_pool
from vulcan.searches.session import check_config
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord, Store
from vulcan.store.events import Event, RunStarted
from vulcan.task import Task

PILOT = 40
"""Most proposals of a pilot search."""

MIN_PILOT = 4
"""Fewest proposals of a pilot: a shorter search keeps the mechanism of its setting, unless it is told to choose."""


@dataclass(frozen=True)
class Opening:
    """The configuration of a search once its mechanism is chosen, and the pilot that it goes on from, if any."""

    config: SearchConfig
    pilot: Store | None = None


def awaits_mechanism(config: SearchConfig, task: Task) -> bool:
    """Check whether a search has yet to choose its mechanism. Raises UserError for a task that has no choice."""
    if not config.choose_mechanism or config.mechanisms:
        return False
    if not mechanism_choices(task):
        raise UserError(f"--choose-mechanism: task {task.name!r} has no mechanisms to choose from; leave it out")
    return True


def go_on_from(pilot: Store, config: SearchConfig, store: Store) -> None:
    """Write what the pilot did into the store of a run of this configuration, in which nothing was searched yet."""

    def of_run(event: Event) -> Event:
        return replace(event, config=config.to_json()) if isinstance(event, RunStarted) else event

    store.recover()  # which begins its journal, so that this is in there too
    events = [(time, of_run(event)) for _, time, event in pilot.numbered()]
    store.restore(events, [(events[-1][0], call) for call in pilot.calls()], ())


def chooses(config: SearchConfig, task: Task) -> bool:
    """Check whether a search whose user named no mechanism chooses one, where no option says so."""
    if config.choose_mechanism is not None or config.strategy != "evolve" or not config.offline:
        return False
    names = mechanism_choices(task)
    return bool(names) and pilot_length(config, len(names)) >= MIN_PILOT


def pilot_length(config: SearchConfig, mechanisms: int) -> int:
    """Return the number of proposals of each pilot: two pilots take at most two fifths of the search."""
    planned = config.rounds * config.samples
    if config.budget_candidates is not None:
        planned = min(planned, config.budget_candidates)
    return min(PILOT, planned // (2 * mechanisms + 1))


def with_mechanism(
    config: SearchConfig, task: Task, workers: int, report: Callable[[str], None] = lambda _: None
) -> Opening:
    """Return the search with the best mechanism and the scores under each, if it is to be chosen.

    `report` is told of each pilot once its instances are loaded. Raises UserError for a task that has no choice.
    """
    if not awaits_mechanism(config, task):
        return Opening(config)
    names = mechanism_choices(task)
    proposals = pilot_length(config, len(names)) if config.offline else PILOT
    piloted = (len(names) - 1) * proposals if config.offline else 0
    pilots: dict[str, Store] = {}
    for name in names:
        one = replace(under(config, name), piloted=piloted)
        if not config.offline:
            one = replace(one, model=(OFFLINE,), strategy="evolve", tune=0)
        evidence = check_config(task, one)
        report(f"a short search under the mechanism {name}")
        pilots[name] = _piloted(one, task, evidence, proposals, workers)
    scores = {name: _best_score(pilot, name) for name, pilot in pilots.items()}
    best = best_mechanism(task, scores)
    chosen = replace(under(config, best), mechanisms=scores, piloted=piloted)
    return Opening(chosen, pilots[best] if config.offline else None)


def best_mechanism(task: Task, scores: Mapping[str, float]) -> str:
    """Return the mechanism to go on under, by the best score of a pilot under each; ties go to the first."""
    gains = {mechanism.name: mechanism.late_gain for mechanism in task.signature.mechanisms}
    return max(scores, key=lambda name: scores[name] + gains.get(name, 0.0) * abs(scores[name]))


def under(config: SearchConfig, mechanism: str) -> SearchConfig:
    """Return the configuration with this mechanism."""
    return replace(config, settings={**config.settings, MECHANISM: mechanism})


def _piloted(config: SearchConfig, task: Task, evidence: EvaluationSet, proposals: int, workers: int) -> Store:
    """Search for that many proposals, and return the store of the search."""
    store = MemoryStore()
    open_run(task, config, store, evidence, lambda _: None)
    scorer = make_scorer(find_objective(task, config.objective), RunRecord.of(store.events()))
    with (
        LocalExecutor(Setup(config.task, evidence.everything), workers) as executor,
        closing(open_model_pool(task, config)) as models,
    ):
        study = Study(config.offered(task), config, store, scorer, executor)
        study.repeat(proposals, {})
        study.begin()
        while (proposal := study.ask()) is not None or study.evaluations:
            if proposal is None:
                study.wait_for_scores()
            else:
                study.tell(proposal, models.propose(proposal))
    return store


def _best_score(pilot: Store, mechanism: str) -> float:
    ranked = RunRecord.of(pilot.events()).ranked()
    if not ranked or ranked[0].score is None:
        raise UserError(f"--choose-mechanism: no policy has a score under {mechanism!r}")
    return ranked[0].score
