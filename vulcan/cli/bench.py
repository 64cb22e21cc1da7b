"""`vulcan bench`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from vulcan.cli import completion
from vulcan.cli.options import AsJson
from vulcan.cli.output import print_json, say, tell

Tasks = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TASK]...",
        help="Tasks, by name or by the directory of your own task. Default: all tasks listed by `vulcan tasks`.",
        autocompletion=completion.tasks,
        show_default=False,
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Use more candidates, longer inputs and more repetitions.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with code 1 if a goal is missed.")]


def bench(tasks: Tasks = None, full: Full = False, check: Check = False, as_json: AsJson = False) -> None:
    """Measure how fast this host is: for each task the way of a candidate from reply to score, and its simulator.

    What is compared runs in one process, in turn, and times are of the processor. What cannot be measured here is left
    out, with what is missing.

    \b
    Examples:
      vulcan bench cache_eviction
      vulcan bench ./tasks/mine --full --json
    """
    from vulcan.bench_pipeline import measure_task
    from vulcan.benchmark import NotMeasurable, machine, machine_line
    from vulcan.registry import known_tasks

    quick = not full
    document: dict[str, Any] = {"quick": quick, "machine": machine(), "tasks": {}, "left_out": []}
    if not as_json:
        say(machine_line(document["machine"]))
    failed = False
    for name in tasks or sorted(known_tasks()):
        tell(f"measuring {name} ...")
        try:
            findings = measure_task(name, quick)
        except NotMeasurable as reason:
            document["left_out"].append(str(reason))
            if not as_json:
                say(f"\nleft out: {reason}")
            continue
        document["tasks"][name] = findings.to_json(quick)
        failed = failed or any(goal.fails(quick) for goal in findings.goals)
        if not as_json:
            say()
            for line in findings.lines(quick):
                say(line)
    if as_json:
        print_json(document)
    if check and failed:
        raise typer.Exit(1)
