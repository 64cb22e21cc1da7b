"""That policies decide: what they are shown, that their answers matter, and that better ones score higher."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import fmean

from vulcan.anvil import Policy, Rejected, check
from vulcan.evaluator import OffersDecisions, decisions_of
from vulcan.scoring.evaluator_child import plain_signature
from vulcan.searches.scorer import Scorer
from vulcan.task import Value
from vulcan.testing.check import NOT_IN_THIS_PROCESS, CheckFailed, Subject
from vulcan.testing.range_probe import Violations, WatchedPolicy, reading_everything

_TOLERANCE = 1e-9


def features(subject: Subject) -> str:
    """Every feature that a policy is shown lies in its declared range, and is whole where it is declared so."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    declared = dict(subject.task.interface.features())
    looks = 0
    for policy in reading(subject):
        seen = Violations()
        watched = WatchedPolicy(policy.source, policy.task, policy.program, policy.plan, seen)
        for instance in subject.measured:
            subject.evaluate(watched, instance)
        seen.gather()
        looks += seen.looks
        for name, count in seen.count.items():
            feature = declared[name]
            shown = seen.value[name]
            inside = feature.low <= shown <= feature.high
            wrong = f"is no {feature.type}" if inside else f"is not from {feature.low:g} to {feature.high:g}"
            raise CheckFailed(
                f"{name} was {shown!r}, which {wrong} ({count} of {seen.looks} looks at features)",
                "declare the range that it really has, or have the evaluator keep to the declared one: "
                "proofs and warnings rely on it",
            )
    if not looks:
        raise CheckFailed(
            "no feature was ever shown to a policy", "have `evaluate` call the policy, and decide by what it returns"
        )
    return f"{looks} looks"


def reading(subject: Subject) -> list[Policy]:
    """Policies that read every feature, and differ in what they answer: some high, some low, some as it comes."""
    task = subject.task
    signature = task.signature
    answers = ["total", "-total"] if not isinstance(signature, Value) else ["total", "LOW", "HIGH"]
    found = []
    for answer in answers:
        parts = []
        for declared in task.functions:
            spelled = answer
            if isinstance(declared, Value):
                spelled = answer.replace("LOW", repr(declared.low)).replace("HIGH", repr(declared.high))
            elif answer in ("LOW", "HIGH"):
                spelled = "total" if answer == "HIGH" else "-total"
            parts.append(reading_everything(declared, spelled))
        try:
            found.append(check("\n".join(parts), task))
        except Rejected as rejected:
            raise CheckFailed(
                f"a policy that reads every feature is rejected: {rejected.violations[0]}",
                "allow more operations (`Task.operations`)",
            ) from None
    return found


def decides(subject: Subject) -> str:
    """What the policy returns decides something: not all policies measure the same."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    found = {
        json.dumps([subject.evaluate(policy, i) for i in subject.searched], sort_keys=True)
        for policy in (*subject.seeds.values(), *reading(subject))
    }
    if len(found) < 2:
        raise CheckFailed(
            "policies that answer high, low and in between all measure the same",
            "have `evaluate` decide by what the policy returns",
        )
    return f"{len(found)} different results"


def objective(subject: Subject) -> str:
    """Scores are finite, compare with baselines that there are, and are higher for what is better."""
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
        scores = {
            who: fmean(
                subject.calling(where, scorer.on_instance, i.split, i.name, measured[i.split, i.name])
                for i in subject.measured
            )
            for who, measured in everything.items()
        }
        if declared is subject.task.objectives[0]:
            _check_bounds(declared.name, scores, [name for name, kind in known.items() if kind == "bound"])
            if len(set(scores.values())) < 2:
                raise CheckFailed(
                    f"the objective {declared.name!r} gives every policy the same score",
                    "have it depend on the metrics",
                )
    if "bound" not in known.values():
        return "no bound is declared, so that the direction cannot be told: higher must be better"
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


def decisions(subject: Subject) -> str:
    """The digest of a policy's decisions, where it is offered, is the same again, and other for other decisions."""
    if not isinstance(subject.evaluator, OffersDecisions):
        return "not offered"
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    subject.ready(subject.measured)
    made: dict[str, str] = {}
    for policy in (*subject.seeds.values(), *reading(subject)):
        twice = [
            subject.calling("decisions", _digest, subject, p)
            for p in (policy, check("# the same\n" + policy.source, subject.task))
        ]
        if twice[0] != twice[1] or twice[0] is None:
            raise CheckFailed(
                "`decisions` gives two digests of one policy", "seed whatever is drawn, and keep no state"
            )
        made[policy.source] = twice[0]
    if len(set(made.values())) < 2:
        raise CheckFailed(
            "`decisions` gives policies that answer high, low and in between the same digest",
            "digest what the policy decides, on a workload where that differs",
        )
    return f"{len(set(made.values()))} digests of {len(made)} policies"


def _digest(subject: Subject, policy: Policy) -> str | None:
    return plain_signature(decisions_of(subject.evaluator, policy))
