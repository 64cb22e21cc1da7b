"""The commands `vulcan check`, `vulcan verify` and `vulcan prompt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import TASK_OPTIONS, AsJson, PolicyFile, TaskName, task_settings
from vulcan.cli.output import print_json, read_policy, say
from vulcan.searches.options import OPTIONS, check_choice

if TYPE_CHECKING:
    from vulcan.anvil import Policy, Rejected, Remark
    from vulcan.anvil.ir import Variable
    from vulcan.anvil.plan import StatisticMemory
    from vulcan.anvil.proofs import Verdict
    from vulcan.documents.policy import CheckDocument, PlanDocument, PromptDocument, VerifyDocument
    from vulcan.python_policy.policy import ProgramPolicy
    from vulcan.task import Property, Task


def check(
    policy: PolicyFile,
    task: TaskName,
    as_json: AsJson = False,
) -> None:
    """Check that a policy is in the language; report its features, its state, its cost per call and lint warnings.

    Of a task that takes free Python: whether it may be run at all.

    Exit code 1 if it is rejected. Warnings change no exit code: what is accepted has a result for every input.

    \b
    Examples:
      vulcan check mine.py --task cache_eviction
      vulcan check mine.py --task ./tasks/shiny --json
    """
    from vulcan.anvil import Policy, Rejected
    from vulcan.python_policy.check import check_policy
    from vulcan.registry import find_task

    declared = find_task(task)
    source = read_policy(policy, declared.name)
    try:
        checked = check_policy(source, declared)
    except Rejected as rejected:
        refusal: CheckDocument = {"policy": str(policy), "accepted": False, "violations": rejected.violations}
        _refuse(refusal, source, rejected, as_json)
        raise typer.Exit(1) from None
    if not isinstance(checked, Policy):
        _print_program(policy, checked, as_json=as_json)
        return
    if as_json:
        document: CheckDocument = {
            "policy": str(policy),
            "accepted": True,
            "plan": _document(checked),
            "warnings": checked.warnings,
        }
        print_json(document)
        return
    _describe(policy, checked)


def _refuse(document: CheckDocument | VerifyDocument, source: str, rejected: Rejected, as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    say(f"rejected: {document['policy']}")
    _explain(source, rejected.violations)


def _print_program(path: Path, checked: ProgramPolicy, *, as_json: bool) -> None:
    """Print the static checks of free Python."""
    hooks = [hook.name for hook in checked.interface.hooks if hook.name in checked.hooks]
    if as_json:
        document: CheckDocument = {
            "policy": str(path),
            "accepted": True,
            "program": {"hooks": hooks, "nodes": checked.size, "parameters": dict(checked.parameters)},
            "warnings": (),
        }
        print_json(document)
        return
    say(f"accepted: {path}")
    say(f"  hooks       {', '.join(hooks)}")
    say(f"  nodes       {checked.size:,}")
    say(f"  parameters  {', '.join(f'{name} = {value:g}' for name, value in checked.parameters.items()) or 'none'}")
    say("  Free Python: it has run nowhere yet, and its time and memory are bounded only while it runs.")


def _describe(path: Path, policy: Policy) -> None:
    plan = policy.plan
    memory = plan.memory(policy.task.whole_interface)
    say(f"accepted: {path}")
    for declared in policy.task.functions:
        of = f" of {declared.function}" if policy.task.others else ""
        operations = policy.plan_of(declared.function).operations
        say(f"  operations  at most {operations:,} per call{of} (limit {policy.task.operations:,})")
    say(f"  features    {', '.join(plan.features) or 'none'}")
    say(f"  history     {', '.join(f'{q.history}.{q.query}' for q in plan.queries) or 'none'}")
    say(f"  statistics  {'none' if not memory else ''}".rstrip())
    for used in memory:
        say(f"    {_spelled(used, policy.task)}: {used.entity:,} bytes per entity, {used.system:,} bytes of the system")
    for event, operations in plan.events:
        say(f"  event       {event}: at most {operations:,} operations per call (limit {policy.task.operations:,})")
    for variable in plan.variables:
        elements = f", {variable.length:,} elements" if variable.length is not None else ""
        say(f"  state       {variable.name}: {_kind_of(variable)}{elements}, {_bytes_of(variable):,} bytes")
    system = plan.bytes_of_system(policy.task.whole_interface)
    of_what = "statistics and fields" if plan.variables else "statistics"
    say(f"  memory      {plan.bytes_per_entity:,} bytes of {of_what} per entity, {system:,} bytes of the system")
    warnings = policy.warnings
    say(f"  warnings    {'none' if not warnings else ''}".rstrip())
    _explain(policy.source, warnings)


def _explain(source: str, findings: Sequence[Remark]) -> None:
    from vulcan.anvil.diagnostics import explained

    for finding in findings:
        for line in explained(source, finding):
            say(f"  {line}")


def _kind_of(variable: Variable) -> str:
    return "field" if variable.is_field else "array" if variable.length is not None else "register"


def _bytes_of(variable: Variable) -> int:
    from vulcan.anvil.state_layout import BYTES_PER_SLOT

    return BYTES_PER_SLOT * (variable.length or 1)


def _spelled(used: StatisticMemory, task: Task) -> str:
    statistic = used.statistic
    arguments = ", ".join(f"{argument:g}" for argument in statistic.arguments)
    occasion = task.whole_interface.occasions.get(statistic.feature) if statistic.scope == "system" else None
    at = f" at each {occasion.replace('_', ' ')}" if occasion is not None else ""
    return f"{statistic.feature}.{statistic.kind}({arguments}) of the {statistic.scope}{at}"


def _document(policy: Policy) -> PlanDocument:
    plan = policy.plan
    memory = plan.memory(policy.task.whole_interface)
    plans = {declared.function: policy.plan_of(declared.function) for declared in policy.task.functions}
    return {
        "functions": [
            {"function": name, "features": list(each.features), "operations": each.operations}
            for name, each in plans.items()
        ],
        "features": list(plan.features),
        "statistics": [
            {
                "kind": used.statistic.kind,
                "scope": used.statistic.scope,
                "feature": used.statistic.feature,
                "arguments": list(used.statistic.arguments),
                "bytes_per_entity": used.entity,
                "system_bytes": used.system,
            }
            for used in memory
        ],
        "history": [{"history": query.history, "query": query.query} for query in plan.queries],
        "events": [{"event": event, "operations": operations} for event, operations in plan.events],
        "state": [
            {
                "name": variable.name,
                "kind": _kind_of(variable),
                "initial": variable.value(policy.parameters),
                "length": variable.length,
            }
            for variable in plan.variables
        ],
        "operations": plan.operations,
        "operations_limit": policy.task.operations,
        "bytes_per_entity": plan.bytes_per_entity,
        "system_bytes": plan.bytes_of_system(policy.task.whole_interface),
    }


def verify(
    policy: PolicyFile,
    task: TaskName,
    as_json: AsJson = False,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="Timeout per property in seconds; on timeout the verdict is `unknown`.")
    ] = 10.0,
    property_: Annotated[
        list[str] | None, typer.Option("--property", help="Verify only the property of this name. Repeatable.")
    ] = None,
) -> None:
    """Prove or refute the properties declared by a task, for all inputs within the declared ranges of its features.

    Exit code 0 if all required properties are proved and none is refuted, else 1.

    \b
    Examples:
      vulcan verify best.py --task congestion_control
      vulcan verify best.py --task congestion_control --property 'window within bounds' --seconds 60
    """
    from vulcan.anvil import Rejected, check
    from vulcan.anvil.proofs import verify as verdicts_on
    from vulcan.errors import UserError
    from vulcan.registry import find_task
    from vulcan.task import Program

    declared = find_task(task)
    source = read_policy(policy, declared.name)
    if isinstance(declared.signature, Program):
        raise UserError(f"task {declared.name!r}: its policies are free Python, of which nothing can be proved")
    try:
        checked = check(source, declared)
    except Rejected as rejected:
        refusal: VerifyDocument = {
            "policy": str(policy),
            "task": declared.name,
            "accepted": False,
            "violations": rejected.violations,
            "properties": [],
        }
        _refuse(refusal, source, rejected, as_json)
        raise typer.Exit(1) from None
    chosen = _chosen(checked.task, property_ or [])
    verdicts = verdicts_on(checked, chosen, seconds)
    if as_json:
        document: VerifyDocument = {
            "policy": str(policy),
            "task": declared.name,
            "accepted": True,
            "properties": [verdict.document() for verdict in verdicts],
        }
        print_json(document)
    else:
        _show(policy, verdicts)
    if any(v.outcome == "refuted" or (v.property.required and v.outcome != "proved") for v in verdicts):
        raise typer.Exit(1)


def _chosen(task: Task, names: list[str]) -> list[Property]:
    from vulcan.errors import UserError, did_you_mean

    known = {declared.name: declared for declared in task.properties}
    for name in names:
        if name not in known:
            there = f"there are {', '.join(map(repr, known))}" if known else "it declares none"
            raise UserError(f"task {task.name!r} declares no property {name!r}{did_you_mean(name, known)}; {there}")
    return [known[name] for name in dict.fromkeys(names)] if names else list(task.properties)


def _show(policy: Path, verdicts: list[Verdict]) -> None:
    from vulcan.anvil.proofs import claim_of

    if not verdicts:
        say(f"the task declares no properties to prove of {policy}")
        return
    for verdict in verdicts:
        declared = verdict.property
        needed = ", required" if declared.required else ""
        how = f"by {verdict.method}, " if verdict.method != "none" else ""
        say(f"{verdict.outcome:<8} {declared.name}{needed}  [{verdict.arithmetic}, {how}{verdict.seconds:.2f} s]")
        say(f"           {claim_of(declared)}")
        if verdict.counterexample is not None:
            say(f"           {verdict.counterexample}")
        if verdict.reason:
            say(f"           {verdict.reason}")
    say()
    say("For every feature within its declared range; statistics and histories answer anything within their bounds.")


CONTEXT = TASK_OPTIONS


def prompt(
    context: typer.Context,
    task: TaskName,
    objective: Annotated[str | None, typer.Option(help="Objective. Default: the task's first.")] = None,
    feedback: Annotated[
        str,
        typer.Option(
            metavar="none|scores|full",
            help="As of `vulcan search`: with `full`, the prompt describes the workload.",
        ),
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Print the prompt that asks a model for its first policy.

    Options of the task's own, such as --sample-size, are given here too, for the prompt tells of them.
    Nothing is measured, and the prompt has no scores: `vulcan search --dry-run` prints the first prompt of a search.

    \b
    Examples:
      vulcan prompt --task cache_eviction
      vulcan prompt --task cache_eviction --trace my.csv --cache-size 10%
      vulcan prompt --task cache_eviction --sample-size 64 --objective byte
    """
    from vulcan.evaluator import Evaluator, load_evaluator
    from vulcan.registry import find_task, task_reference
    from vulcan.searches.config import SearchConfig, complete_settings
    from vulcan.searches.evidence import describe_workload, find_instances, find_objective
    from vulcan.searches.feedback import PromptFeedback, workload_text
    from vulcan.searches.prompts import Prompts
    from vulcan.searches.strategies import Draft

    declared = find_task(task)
    settings = complete_settings(declared, task_settings(declared, context))
    chosen = find_objective(declared, objective or declared.objectives[0].name)
    check_choice("feedback", feedback, OPTIONS["feedback"].choices)
    shown = PromptFeedback(shows_scores=feedback != "none")
    evaluator = load_evaluator(declared)
    if feedback == "full" and evaluator.offers(Evaluator.workload):
        config = SearchConfig(task=task_reference(task), settings=settings, objective=chosen.name)
        training = [i for i in find_instances(declared, config, evaluator) if i.split == "train"]
        shown = PromptFeedback(workload_text(describe_workload(evaluator, training), training))
    offered = declared.offered(settings)
    text = Prompts(offered, chosen, settings).propose(Draft(1, "initial", ()), shown)
    if as_json:
        document: PromptDocument = {"task": declared.name, "messages": [{"role": "user", "content": text}]}
        print_json(document)
    else:
        say(text)
