"""`vulcan verify`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import AsJson, TaskName
from vulcan.cli.output import print_json, read_policy, say

if TYPE_CHECKING:
    from vulcan.anvil import Rejected
    from vulcan.anvil.proofs import Verdict
    from vulcan.documents.policy import VerifyDocument
    from vulcan.task import Property, Task


def verify(
    policy: Annotated[Path, typer.Argument(help="Policy file, or a module written by `vulcan export`.")],
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

    source = read_policy(policy)
    declared = find_task(task)
    if isinstance(declared.signature, Program):
        raise UserError(f"task {declared.name!r}: its policies are free Python, of which nothing can be proved")
    chosen = _chosen(declared, property_ or [])
    try:
        checked = check(source, declared)
    except Rejected as rejected:
        _refuse(policy, declared.name, rejected, as_json)
        raise typer.Exit(1) from None
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


def _refuse(policy: Path, task: str, rejected: Rejected, as_json: bool) -> None:
    from vulcan.anvil.diagnostics import findings_document

    if as_json:
        document: VerifyDocument = {
            "policy": str(policy),
            "task": task,
            "accepted": False,
            "violations": findings_document(rejected.violations),
            "properties": [],
        }
        print_json(document)
        return
    say(f"rejected: {policy}")
    for violation in rejected.violations:
        say(f"  {violation}")


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
