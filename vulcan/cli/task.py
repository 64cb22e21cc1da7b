"""The commands `vulcan tasks`, `vulcan task show`, `vulcan task new` and `vulcan task validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import TASK_OPTIONS, AsJson, TaskArgument, describe_settings, task_settings
from vulcan.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from vulcan.documents.policy import NewTaskDocument, TaskCheck, ValidateDocument

VALIDATE_CONTEXT = TASK_OPTIONS


def show(
    name: TaskArgument,
    as_json: AsJson = False,
) -> None:
    """Print a task's interface as a model sees it, with its objectives, properties and options.

    \b
    Examples:
      vulcan task show cache_eviction
      vulcan task show ./tasks/shiny --json
    """
    from vulcan.python_policy.check import describe_policy
    from vulcan.registry import find_task
    from vulcan.results.task import task_document
    from vulcan.searches.config import complete_settings

    task = find_task(name)
    if as_json:
        print_json(task_document(task))
        return
    say(f"# {task.name}\n\n{task.summary}\n")
    say(describe_policy(task))
    say("\n## Mechanisms\n")
    functions = [declared for kind in task.kinds for declared in kind.functions]
    for declared in functions:
        of = f" of `{declared.function}`" if len(functions) > 1 else ""
        for mechanism in declared.mechanisms:
            say(f"- {mechanism.name}{of}: {mechanism.description_with(complete_settings(task, {}))}")
    say("\n## Objectives\n")
    for objective in task.objectives:
        say(f"- {objective.name}: {objective.meaning}")
    if claims := [claim for kind in task.kinds for claim in kind.properties]:
        say("\n## Declared properties\n")
        for property_ in claims:
            say(f"- {property_.name} ({_kind(property_.kind, property_.subject)}): {property_.meaning}")
    say("\n## Settings\n")
    print_table(("option", "meaning", "default"), describe_settings(task))


def _kind(kind: str, subject: str | None) -> str:
    return f"{kind} in {subject}" if subject else kind


def new(
    name: Annotated[str, typer.Argument(help="Task name: lower-case letters, digits and underscores.")],
    kind: Annotated[
        str,
        typer.Option(help="What a policy returns: `rank`, a score for each of several entities, or `value`, a number."),
    ] = "rank",
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", help="Output directory. Default: ./tasks/NAME.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--from-csv",
            help="Begin from a CSV file of recorded decisions: a line of names, then a moment a line, in numbers; the "
            "last column is the decision. The task is of the kind `value`.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a working task: declaration, evaluator, policies, prompt, tests and packaging.

    \b
    Examples:
      vulcan task new shiny --kind rank
      vulcan task new shiny --from-csv decisions.csv
      vulcan task validate ./tasks/shiny
      vulcan search --task ./tasks/shiny
    """
    from vulcan.registry import trust_task
    from vulcan.scaffold import write_task

    target = directory if directory is not None else Path("tasks") / name
    written = write_task(name, kind, target, table)
    trust_task(target)
    if as_json:
        document: NewTaskDocument = {
            "task": name,
            "kind": kind if table is None else "value",
            "directory": str(target),
            "files": [str(path) for path in written],
        }
        print_json(document)
        return
    say(f"written: the task {name} in {target}")
    for path in written:
        say(f"  {path}")
    shown = target if target.is_absolute() else f"./{target}"
    say(f"\nnext: vulcan task validate {shown}")


def validate(
    context: typer.Context,
    name: TaskArgument,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600.0, help="Timeout per policy in the sandbox, in seconds.")
    ] = 300.0,
    as_json: AsJson = False,
) -> None:
    """Check that a task satisfies the task contract, and say what to fix. Exit code 1 if it does not.

    The task's own options can make it faster, for example with fewer or smaller workloads.

    \b
    Examples:
      vulcan task validate ./tasks/shiny
      vulcan task validate cache_eviction --trace zipf:requests=5000
    """
    from vulcan.registry import find_task
    from vulcan.testing import Subject, examine

    task = find_task(name)
    findings = []
    for finding in examine(Subject(name, task_settings(task, context), seconds)):
        findings.append(finding)
        if not as_json:
            _show_finding(finding)
    passed = all(finding.result == "passed" for finding in findings)
    if as_json:
        document: ValidateDocument = {"task": task.name, "path": name, "passed": passed, "checks": findings}
        print_json(document)
    elif passed:
        say(f"\n{task.name} keeps all {len(findings)} promises")
    else:
        failed = sum(finding.result == "failed" for finding in findings)
        say(f"\n{task.name} does not keep {failed} of {len(findings)} promises")
    if not passed:
        raise typer.Exit(1)


def _show_finding(finding: TaskCheck) -> None:
    say(f"{finding.result:<9} {finding.check:<17} {finding.promise}")
    if finding.result == "failed":
        say(f"          {finding.problem}")
        say(f"          fix: {finding.remedy}")
    elif finding.note:
        say(f"          {finding.note}")


def tasks(as_json: AsJson = False) -> None:
    """List the available tasks and where each comes from.

    \b
    Examples:
      vulcan tasks
      vulcan tasks --json
    """
    from vulcan.results.task import tasks_document

    document = tasks_document()
    if as_json:
        print_json(document)
    else:
        print_table(("task", "summary"), [(task["name"], task["summary"]) for task in document["tasks"]])
