"""The commands `vulcan explain`, `vulcan compare` and `vulcan hazards`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.cli.options import TASK_OPTIONS, AllowUnsandboxed, AsJson, Part, PolicyFile, TaskName, task_settings
from vulcan.cli.output import print_json, print_table, read_policy, say, tell
from vulcan.files import write_output

if TYPE_CHECKING:
    from vulcan.findings import EvaluatorFinding
    from vulcan.results.explanation import Explanation

CONTEXT = TASK_OPTIONS

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a self-contained HTML page with pictures to this file.")
]
ByPart = Annotated[
    bool,
    typer.Option("--by-part", help="Tabulate eight parts of the time: the policies, the best baselines, an oracle."),
]
Limit = Annotated[float, typer.Option(help="Timeout in seconds for all instances together.")]


def explain(
    context: typer.Context,
    policy: PolicyFile,
    task: TaskName,
    part: Part = "whole",
    by_part: ByPart = False,
    output: Output = None,
    limit: Limit = 600.0,
    allow_unsandboxed: AllowUnsandboxed = False,
    as_json: AsJson = False,
) -> None:
    """Explain where a policy does well or badly: what the workload is like, and where the policy loses.

    The task's own options, such as --trace and --cache-size of cache_eviction, are given here too. A share of the
    footprint is one of the whole data, whatever the part.

    \b
    Examples:
      vulcan explain best.py --task cache_eviction --trace my.csv --cache-size 10%
      vulcan explain best.py --task cache_eviction --trace my.csv -o why.html
      vulcan explain best.py --task cache_eviction --trace my.csv --part train --by-part
      vulcan explain best.py --task cache_eviction --trace my.csv --json
    """
    options = {"part": part, "by_part": by_part, "limit": limit, "allow_unsandboxed": allow_unsandboxed}
    _explain(context, policy, task, output, as_json, **options)


def compare(
    context: typer.Context,
    policy: PolicyFile,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="The policy to compare it with.")],
    task: TaskName,
    part: Part = "whole",
    by_part: ByPart = False,
    output: Output = None,
    limit: Limit = 600.0,
    allow_unsandboxed: AllowUnsandboxed = False,
    as_json: AsJson = False,
) -> None:
    """Compare two policies decision by decision: where they differ, and what each difference costs.

    \b
    Examples:
      vulcan compare best.py other.py --task cache_eviction --trace my.csv --cache-size 10%
    """
    options = {"part": part, "by_part": by_part, "limit": limit, "allow_unsandboxed": allow_unsandboxed}
    _explain(context, policy, task, output, as_json, other, **options)


def hazards(context: typer.Context, task: TaskName, as_json: AsJson = False) -> None:
    """Tabulate how likely what a policy waits for is, by what it may know, in each half of the training data.

    For caches: the chance that an object returns before the cache turns over, by its requests so far, the gap between
    its last two, its size and its idle time. Of the training data alone.

    \b
    Examples:
      vulcan hazards --task cache_eviction --trace my.csv --cache-size 10%
      vulcan hazards --task cache_eviction --trace my.csv --cache-size 10% --json
    """
    from vulcan.registry import find_task
    from vulcan.results import explanation

    _print(explanation.hazards(task, task_settings(find_task(task), context)), as_json)


def _explain(
    context: typer.Context,
    policy: Path,
    task: str,
    output: Path | None,
    as_json: bool,
    other: Path | None = None,
    **options: Any,
) -> None:
    from vulcan.registry import find_task
    from vulcan.results.explanation import explain

    declared = find_task(task)
    source = read_policy(policy, declared.name)
    against = None if other is None else read_policy(other, declared.name)
    found = explain(source, task, task_settings(declared, context), against=against, **options)
    if output is not None:
        write_output(output, found.html())
        tell(f"wrote {output}")
        if not as_json:
            return
    _print(found, as_json)


def _print(found: Explanation, as_json: bool) -> None:
    if as_json:
        print_json(found.document())
        return
    for instance in found.instances:
        say(f"\n{instance}")
        workload = [one.content for one in found.workload if one.instance == instance]
        if workload:
            say(f"\n{found.headings[0]}\n")
            print_findings(workload)
            say(f"\n{found.headings[1]}\n")
        print_findings(found.of(instance))


def print_findings(findings: Iterable[EvaluatorFinding]) -> None:
    """Print findings to standard output, each statement as a paragraph."""
    import textwrap

    from vulcan.findings import SmallTable, Statement, pictured
    from vulcan.searches.feedback import cell_text

    for one in pictured(findings):
        if isinstance(one, Statement):
            say(textwrap.fill(one.text, 100))
        elif isinstance(one, SmallTable):
            say(f"\n{one.title}")
            print_table(one.columns, [tuple(map(cell_text, row)) for row in one.rows])
        else:
            say(f"\n{one[0].title}")
            across = dict.fromkeys(x for series in one for x, _ in series.points)
            lines = [dict(series.points) for series in one]
            rows = [(cell_text(x), *(cell_text(line[x]) if x in line else "" for line in lines)) for x in across]
            print_table((one[0].x, *(series.y for series in one)), rows)
