"""Check of a task's objectives."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from vulcan.searches.scorer import Scorer
from vulcan.testing.check import CheckFailed, Subject

_TOLERANCE = 1e-9


def objective(subject: Subject) -> str:
    """Check that scores are finite, refer to existing baselines, and are higher for better policies.

    An objective after the first may be unfit for the settings, and is then passed over.
    """
    known = subject.baselines
    for declared in subject.task.objectives:
        for reference in declared.references:
            if reference not in known:
                raise CheckFailed(
                    f"the objective {declared.name!r} compares with {reference!r}, which is no baseline",
                    f"name one of {', '.join(known)}",
                )
    rows = {} if subject.is_program else subject.of_seeds
    everything = {**rows, **subject.of_baselines}
    for declared in subject.task.objectives:
        scorer = Scorer(declared, subject.measured)
        for reference in declared.references:
            for (split, name), found in subject.of_baselines[reference].items():
                scorer.add_reference(reference, split, ((name, found),))  # type: ignore[arg-type]
        where = f"the objective {declared.name!r}"
        if declared is not subject.task.objectives[0] and declared.unfit(subject.settings):
            continue
        scores = {
            who: fmean(
                subject.calling(where, scorer.on_instance, i.split, i.name, measured[i.split, i.name])
                for i in subject.measured
            )
            for who, measured in everything.items()
        }
        if declared is subject.task.objectives[0]:
            first = scores
            _check_bounds(declared.name, scores, [name for name, kind in known.items() if kind == "oracle"])
            if len(set(scores.values())) < 2:
                problem = f"the objective {declared.name!r} gives every policy the same score"
                raise CheckFailed(problem, "have it depend on the metrics")
    if "oracle" not in known.values():
        ranked = ", ".join(sorted(first, key=lambda who: -first[who]))
        return f"no bound is declared, and higher must be better: see whether this is from best to worst: {ranked}"
    return "no policy beats the bound"


def _check_bounds(objective_name: str, scores: Mapping[str, float], bounds: list[str]) -> None:
    if not bounds:
        return
    best = max(bounds, key=lambda name: scores[name])
    for name, score in scores.items():
        slack = _TOLERANCE * max(1.0, abs(score), abs(scores[best]))
        if name not in bounds and score > scores[best] + slack:
            raise CheckFailed(
                f"{name!r} scores {score:.6g} on the objective {objective_name!r}, and the bound {best!r} only "
                f"{scores[best]:.6g}",
                "higher must be better: turn the objective's sign, or mend the bound",
            )
