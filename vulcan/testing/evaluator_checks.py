"""That the evaluator measures, in this process: its instances, its baselines, and the same again."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from vulcan.anvil import check
from vulcan.evaluator import Instance, OffersRungs, rungs_of
from vulcan.testing.check import NOT_IN_THIS_PROCESS, CheckFailed, Measured, Subject

_SPLITS = ("train", "validation", "test")


def instances(subject: Subject) -> str:
    """There are instances of each split, with names of their own, that can travel to another process."""
    found = subject.instances
    for split in _SPLITS:
        of = subject.of(split)
        if not of:
            raise CheckFailed(
                f"`instances` gives none of the split {split!r}",
                "give some of each; a search is made on train, its winner chosen on validation, and test run once",
            )
        if twice := [name for name, count in Counter(i.name for i in of).items() if count > 1]:
            raise CheckFailed(
                f"two instances of the split {split!r} are called {twice[0]!r}", "give each a name of its own"
            )
    for instance in found:
        plain = dict(instance.parameters)
        try:
            back = json.loads(json.dumps(plain, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise CheckFailed(
                f"the parameters of {instance.name!r} are no JSON: {error}",
                "keep to numbers, texts, lists and dictionaries: they travel to other processes",
            ) from None
        if back != plain:
            raise CheckFailed(
                f"the parameters of {instance.name!r} change on the way to another process and back",
                "use lists instead of tuples, and texts as keys",
            )
    again = subject.calling(
        "instances", subject.evaluator.instances, copy.deepcopy(subject.settings), subject.task.split
    )
    if tuple(again) != found:
        raise CheckFailed("`instances` gives other instances when it is asked again", "draw nothing without a seed")
    return ", ".join(f"{len(subject.of(split))} {split}" for split in _SPLITS)


def splits(subject: Subject) -> str:
    """What is searched on is nowhere else: neither the same parameters in two splits, nor the same metrics."""
    seen: dict[str, Instance] = {}
    for instance in subject.instances:
        key = json.dumps(dict(instance.parameters), sort_keys=True)
        other = seen.setdefault(key, instance)
        if other.split != instance.split:
            raise CheckFailed(
                f"{other.name!r} ({other.split}) and {instance.name!r} ({instance.split}) have the same parameters",
                "give each split seeds, files or a part of the time of its own",
            )
    without = replace(subject.task.split, by="none")
    whole = subject.calling("instances", subject.evaluator.instances, copy.deepcopy(subject.settings), without)
    if not whole:
        raise CheckFailed(
            "with `--split none` there is no instance", "give all of the evidence then, as the split train"
        )
    if subject.is_program:
        return "by their parameters"
    for metrics in subject.of_seeds.values():
        by_content: dict[str, tuple[str, str]] = {}
        for place, measured in metrics.items():
            if not any(value != int(value) for value in measured.values()):
                continue  # counts alone may well be the same twice
            other_place = by_content.setdefault(json.dumps(measured, sort_keys=True), place)
            if other_place[0] != place[0]:
                raise CheckFailed(
                    f"{other_place[1]!r} ({other_place[0]}) and {place[1]!r} ({place[0]}) give the same metrics "
                    "to the last digit: they are the same workload",
                    "give each split seeds, files or a part of the time of its own",
                )
    return "by their parameters, and by what is measured on them"


def baselines(subject: Subject) -> str:
    """Every baseline runs on every instance, twice alike, and measures what a candidate's run measures."""
    if not subject.baselines:
        raise CheckFailed("`baselines` names none", "name at least what is used today, so that a score means something")
    kinds = set(subject.baselines.values())
    if kinds - {"baseline", "bound"}:
        raise CheckFailed(f"`baselines` has the kinds {sorted(kinds)}", "each is `baseline` or `bound`")
    if "baseline" not in kinds:
        raise CheckFailed("`baselines` names bounds alone", "name at least what is used today")
    first = subject.measured[0]
    needed = {objective.metric for objective in subject.task.objectives}
    for name, measured in subject.of_baselines.items():
        for metrics in measured.values():
            _check_metrics(f"baseline {name!r}", needed, metrics)
        again = subject.evaluate_baseline(name, first)
        if again != measured[first.split, first.name]:
            raise CheckFailed(
                f"baseline {name!r} measures {_difference(measured[first.split, first.name], again)} "
                f"on {first.name} when it is run again",
                "seed whatever is drawn, and keep no state between calls",
            )
    return ", ".join(f"{name} ({kind})" for name, kind in subject.baselines.items())


def metrics(subject: Subject) -> str:
    """Every policy measures the same things, and those that objectives and pictures are about are among them."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    task = subject.task
    needed = {o.metric for o in task.objectives} | {
        axis for picture in task.pictures for axis in (picture.x, picture.y)
    }
    for name, measured in subject.of_seeds.items():
        for (_, instance), found in measured.items():
            _check_metrics(f"policies/{name}.py on {instance}", needed, found)
            for baseline, of in subject.of_baselines.items():
                theirs = next(m for (_, i), m in of.items() if i == instance)
                if missing := needed & (set(found) ^ set(theirs)):
                    raise CheckFailed(
                        f"{baseline!r} and a policy do not both measure {min(missing)!r}", "measure it of both"
                    )
    return ", ".join(sorted(next(iter(next(iter(subject.of_seeds.values())).values()))))


def _check_metrics(who: str, needed: set[str], measured: Measured) -> None:
    if missing := sorted(needed - set(measured)):
        raise CheckFailed(
            f"{who} measures no {missing[0]!r}, which an objective or a picture is about "
            f"(there is {', '.join(measured)})",
            "measure it, or name another metric in task.py",
        )


def deterministic(subject: Subject) -> str:
    """The same policy measures the same again, whatever ran in between and in whatever order."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    for instance in reversed(subject.measured):
        for name, policy in reversed(subject.seeds.items()):
            before = subject.of_seeds[name][instance.split, instance.name]
            after = subject.evaluate(check(policy.source, subject.task), instance)
            if after != before:
                raise CheckFailed(
                    f"policies/{name}.py measures {_difference(before, after)} on {instance.name} when it is run again",
                    "seed whatever is drawn, and keep no state from one `evaluate` to the next",
                )
    return f"{len(subject.seeds)} policies on {len(subject.measured)} instances"


def _difference(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    for name in before:
        if before.get(name) != after.get(name):
            return f"{name} {before.get(name)!r} and then {after.get(name)!r}"
    return f"{sorted(before)} and then {sorted(after)}"


def inputs(subject: Subject) -> str:
    """The evaluator changes nothing that it is handed."""
    settings = copy.deepcopy(subject.settings)
    evaluator = subject.evaluator
    subject.calling("instances", evaluator.instances, settings, subject.task.split)
    if settings != subject.settings:
        raise CheckFailed("`instances` changes the settings that it is handed", "copy what is to be changed")
    mine = [replace(i, parameters=copy.deepcopy(dict(i.parameters))) for i in subject.measured]
    before = copy.deepcopy(mine)
    steps: dict[str, Callable[[], object]] = {
        "prepare": lambda: evaluator.prepare(mine),
        "evaluate_baseline": lambda: [evaluator.evaluate_baseline(name, mine[0]) for name in subject.baselines],
    }
    if not subject.is_program:
        steps["evaluate"] = lambda: [evaluator.evaluate(policy, mine[0]) for policy in subject.seeds.values()]
    if isinstance(evaluator, OffersRungs):
        steps["rungs"] = lambda: list(evaluator.rungs([i for i in mine if i.split == "train"]))
    for name, step in steps.items():
        subject.calling(name, step)
        if mine != before:
            raise CheckFailed(f"`{name}` changes the parameters of an instance", "copy what is to be changed")
    return ", ".join(["instances", *steps])


def rungs(subject: Subject) -> str:
    """Cheaper instances, where they are offered, are cheaper, have all that full ones have, and tell policies apart."""
    if not isinstance(subject.evaluator, OffersRungs):
        return "none are offered"
    searched = subject.searched
    found = subject.calling("rungs", rungs_of, subject.evaluator, searched)
    again = subject.calling("rungs", rungs_of, subject.evaluator, searched)
    if found != again:
        raise CheckFailed("`rungs` gives other instances when it is asked again", "draw nothing without a seed")
    costs = [rung.cost for rung in found]
    if costs != sorted(costs):
        raise CheckFailed(f"the rungs cost {costs} of a full score", "give the cheapest first")
    if subject.is_program:
        return f"{len(found)} rungs"
    for rung in found:
        for instance in subject.ready(rung.instances):
            for name, policy in subject.seeds.items():
                _check_metrics(
                    f"policies/{name}.py on {instance.name}",
                    {o.metric for o in subject.task.objectives},
                    subject.evaluate(policy, instance),
                )
            for reference in {r for o in subject.task.objectives for r in o.references}:
                subject.evaluate_baseline(reference, instance)
    subject.ready(subject.measured)
    return ", ".join(f"{rung.name} (keeps {rung.keep:g}, costs {rung.cost:g})" for rung in found) or "none here"
