"""Checks of the evaluator, in this process: instances, baselines, metrics, determinism, features and objectives."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from vulcan.anvil import Policy, Rejected, check
from vulcan.evaluator import Evaluator, Instance, decisions_of, rungs_of
from vulcan.scoring.evaluator_child import plain_signature
from vulcan.task import Feature, Task, Value
from vulcan.terminal_text import count
from vulcan.testing.check import NOT_IN_THIS_PROCESS, CheckFailed, Measured, Subject
from vulcan.testing.range_probe import (
    Violations,
    WatchedPolicy,
    answering,
    features_with_statistics,
    mechanism_line,
    reading_everything,
    with_handlers,
)

_SPLITS = ("train", "validation", "test")


def instances(subject: Subject) -> str:
    """Check that every split has instances, uniquely named, reproducible and serializable as JSON."""
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
    """Check that no two splits share an instance, by parameters or by metrics."""
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
        for current, measured in metrics.items():
            if not any(value != int(value) for value in measured.values()):
                continue  # integer counts may coincide
            earlier = by_content.setdefault(json.dumps(measured, sort_keys=True), current)
            if earlier[0] != current[0]:
                raise CheckFailed(
                    f"{earlier[1]!r} ({earlier[0]}) and {current[1]!r} ({current[0]}) give the same metrics "
                    "to the last digit: they are the same workload",
                    "give each split seeds, files or a part of the time of its own",
                )
    return "by their parameters, and by what is measured on them"


def baselines(subject: Subject) -> str:
    """Check that every baseline runs on every instance, is deterministic and measures the objectives' metrics."""
    if not subject.baselines:
        raise CheckFailed("`baselines` names none", "name at least what is used today, so that a score means something")
    kinds = set(subject.baselines.values())
    if kinds - {"baseline", "oracle"}:
        raise CheckFailed(f"`baselines` has the kinds {sorted(kinds)}", "each is `baseline` or `bound`")
    if "baseline" not in kinds:
        raise CheckFailed("`baselines` names bounds alone", "name at least what is used today")
    first = subject.measured[0]
    needed = _metrics_of_objectives(subject)
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
    """Check that policies and baselines measure the metrics of the objectives and axes."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    task = subject.task
    needed = _metrics_of_objectives(subject) | set(task.axes or ())
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


def _metrics_of_objectives(subject: Subject) -> set[str]:
    """Return the metrics of the objectives that instances of these settings have."""
    return {o.metric for o in subject.task.objectives if o.unfit(subject.settings) is None}


def _check_metrics(who: str, needed: set[str], measured: Measured) -> None:
    if missing := sorted(needed - set(measured)):
        raise CheckFailed(
            f"{who} measures no {missing[0]!r}, which an objective or an axis is about "
            f"(there is {', '.join(measured)})",
            "measure it, or name another metric in task.py",
        )


def deterministic(subject: Subject) -> str:
    """Check that a policy measures the same again, whatever ran in between and in whatever order."""
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
    return f"{count(len(subject.seeds), 'policy', 'policies')} on {count(len(subject.measured), 'instance')}"


def _difference(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    for name in before:
        if before.get(name) != after.get(name):
            return f"{name} {before.get(name)!r} and then {after.get(name)!r}"
    return f"{sorted(before)} and then {sorted(after)}"


def inputs(subject: Subject) -> str:
    """Check that the evaluator does not modify its arguments."""
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
    if evaluator.offers(Evaluator.rungs):
        steps["rungs"] = lambda: list(evaluator.rungs([i for i in mine if i.split == "train"]))
    for name, step in steps.items():
        subject.calling(name, step)
        if mine != before:
            raise CheckFailed(f"`{name}` changes the parameters of an instance", "copy what is to be changed")
    return ", ".join(["instances", *steps])


def rungs(subject: Subject) -> str:
    """Check that rungs, if offered, are reproducible, sorted by cost and measure the objectives' metrics."""
    if not subject.evaluator.offers(Evaluator.rungs):
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


def features(subject: Subject) -> str:
    """Check that every feature shown to a policy is in its declared range, and integral where declared so."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    looks = 0
    for policy in reading(subject):
        declared = dict(policy.task.interface.features())
        seen = _watched(subject, policy, subject.measured)
        looks += seen.checks
        _check_ranges(seen, declared)
    if not looks:
        raise CheckFailed(
            "no feature was ever shown to a policy", "have `evaluate` call the policy, and decide by what it returns"
        )
    return f"{looks} looks"


def _watched(subject: Subject, policy: Policy, instances: Sequence[Instance]) -> Violations:
    """Evaluate a policy on the instances, and return what was seen of its features and events."""
    watched = WatchedPolicy.of(policy)
    for instance in instances:
        subject.evaluate(watched, instance)
    return watched.seen


def _check_ranges(seen: Violations, declared: Mapping[str, Feature]) -> None:
    for name, times in seen.count.items():
        feature, shown = declared[name], seen.value[name]
        inside = feature.low <= shown <= feature.high
        wrong = f"is no {feature.type}" if inside else f"is not from {feature.low:g} to {feature.high:g}"
        raise CheckFailed(
            f"{name} was {shown!r}, which {wrong} ({times} of {seen.checks} looks at features)",
            "declare its actual range, or keep the evaluator within the declared one: proofs and warnings rely on it",
        )


def events(subject: Subject) -> str:
    """Check that each declared event is reported to policies that handle it, with features in their ranges."""
    counts: Counter[str] = Counter()
    for task in subject.kinds:
        counts += _events_of(subject, task)
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "the task declares none"


def _events_of(subject: Subject, task: Task) -> Counter[str]:
    counts: Counter[str] = Counter()
    for event in task.events:
        # some events follow from some decisions only, and some, as a timer's, from what another handler sets
        plain = [answering(task, answer) for answer in ("read", "-read", "0.0")]
        own = [policy.source for policy in subject.known.values() if policy.mechanism == task.mechanism]
        for source, others in (
            *((source, ()) for source in plain),
            *((source, task.events) for source in plain),
            *((source, ()) for source in own),
        ):
            policy = _check_own(with_handlers(check(source, task), event, others), task)
            seen = _watched(subject, policy, subject.searched)
            _check_ranges(seen, dict(task.whole_interface.features()))
            counts[event.function] += seen.events.get(event.function, 0)
            if counts[event.function] or event.rare:
                break
        else:
            raise CheckFailed(
                f"the event {event.function!r} is never reported: no policy's handler of it is called",
                f"call `handle({event.function!r}, features, key)` of the policy's reference when it happens; declare "
                "no such event; or, if these instances are too small for it, declare it as `rare`",
            )
    return counts


def statistics(subject: Subject) -> str:
    """Check that the evaluator reports events, and each declared occasion, so that statistics change."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    found = [_statistics_of(subject, task) for task in subject.kinds]
    return "; ".join(filter(None, found)) or "no feature has any"


def _statistics_of(subject: Subject, task: Task) -> str:
    interface = task.interface
    occasions = interface.occasions
    expected = {occasions.get(name, "") for name in features_with_statistics(interface)}
    if not expected:
        return ""
    parts = [reading_everything(declared, "total", ".ewma(0.5)") for declared in task.functions]
    seen = _watched(subject, _check_own("\n".join([*mechanism_line(task), *parts]), task), subject.searched)
    for occasion in sorted(expected):
        if not seen.events.get(occasion):
            raise CheckFailed(
                f"the occasion {occasion!r} is never reported: the statistics of its features never change"
                if occasion
                else "no event is ever reported: every statistic, such as `.ewma(0.5)`, stays what it was at first",
                f"call `observe_occasion({occasion!r}, features)` of the policy's reference when it happens"
                if occasion
                else "call `observe(key, features)` of the policy's reference whenever something happens to an entity",
            )
    if interface.entity is not None and seen.asked and not seen.known:
        raise CheckFailed(
            "no entity that the policy is asked about was observed before under the same key: its statistics are empty",
            "pass the same `key` to `observe` and to the call",
        )
    return ", ".join(f"{count} {occasion or 'events'}" for occasion, count in sorted(seen.events.items()) if count)


def reading(subject: Subject) -> list[Policy]:
    """Return policies that read every feature, and return it in different ways: low, high, or as it is."""
    return [policy for task in subject.kinds for policy in _reading(task)]


def _reading(task: Task) -> list[Policy]:
    signature = task.signature
    answers = ["total", "-total"] if not isinstance(signature, Value) else ["total", "LOW", "HIGH"]
    found = []
    for answer in answers:
        parts = [*mechanism_line(task)]
        for declared in task.functions:
            spelled = answer
            if isinstance(declared, Value):
                spelled = answer.replace("LOW", repr(declared.low)).replace("HIGH", repr(declared.high))
            elif answer in ("LOW", "HIGH"):
                spelled = "total" if answer == "HIGH" else "-total"
            parts.append(reading_everything(declared, spelled))
        found.append(_check_own("\n".join(parts), task))
    return found


def _check_own(source: str, task: Task) -> Policy:
    """Check a policy that a conformance check wrote. Raises CheckFailed."""
    try:
        return check(source, task)
    except Rejected as rejected:
        raise CheckFailed(
            f"a policy that reads every feature is rejected: {rejected.violations[0]}",
            "allow more operations (`Task.operations`)",
        ) from None


def decides(subject: Subject) -> str:
    """Check that the policy's return value matters: not all policies measure the same."""
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


def decisions(subject: Subject) -> str:
    """Check that the digest of decisions, if offered, is reproducible, and differs between policies."""
    if not subject.evaluator.offers(Evaluator.decisions):
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
    return f"{len(set(made.values()))} digests of {count(len(made), 'policy', 'policies')}"


def _digest(subject: Subject, policy: Policy) -> str | None:
    return plain_signature(decisions_of(subject.evaluator, policy))
