"""`vulcan check`"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.files import read_policy
from vulcan.cli.options import AsJson, TaskName
from vulcan.cli.output import print_json, say

if TYPE_CHECKING:
    from vulcan.anvil.plan import Plan


def check(
    policy: Annotated[Path, typer.Argument(help="A policy, or a module that `vulcan export` wrote.")],
    task: TaskName,
    as_json: AsJson = False,
) -> None:
    """Say whether a policy is in the language, what it needs, and how much one call may take.

    Exit code 1 if it is rejected.
    """
    from vulcan.anvil import Rejected
    from vulcan.anvil import check as check_policy
    from vulcan.registry import find_task

    source = read_policy(policy)
    declared = find_task(task)
    try:
        plan = check_policy(source, declared).plan
    except Rejected as rejected:
        if as_json:
            violations = [asdict(violation) for violation in rejected.violations]
            print_json({"policy": str(policy), "accepted": False, "violations": violations})
        else:
            say(f"rejected: {policy}")
            for violation in rejected.violations:
                say(f"  {violation}")
        raise typer.Exit(1) from None
    if as_json:
        print_json({"policy": str(policy), "accepted": True, "plan": _document(plan)})
        return
    say(f"accepted: {policy}")
    say(f"  features    {', '.join(plan.features) or 'none'}")
    say(f"  statistics  {', '.join(_statistics(plan)) or 'none'}")
    say(f"  history     {', '.join(f'{q.history}.{q.query}' for q in plan.queries) or 'none'}")
    say(f"  operations  at most {plan.operations:,} a call (limit {declared.operations:,})")
    say(f"  memory      {plan.bytes_per_entity} bytes of statistics an entity")


def _statistics(plan: Plan) -> list[str]:
    return [f"{s.feature}.{s.kind}({s.argument:g})" for s in plan.statistics]


def _document(plan: Plan) -> dict[str, object]:
    return {
        "features": list(plan.features),
        "statistics": [asdict(statistic) for statistic in plan.statistics],
        "history": [asdict(query) for query in plan.queries],
        "operations": plan.operations,
        "bytes_per_entity": plan.bytes_per_entity,
    }
