"""`vulcan tasks`"""

from __future__ import annotations

from vulcan.cli.options import AsJson
from vulcan.cli.output import print_json, print_table


def tasks(as_json: AsJson = False) -> None:
    """List the tasks that can be named, with where each comes from."""
    from vulcan.registry import find_task, known_tasks

    found = [(name, place, find_task(name).summary) for name, place in sorted(known_tasks().items())]
    if as_json:
        print_json({"tasks": [{"name": name, "place": place, "summary": summary} for name, place, summary in found]})
        return
    print_table(("task", "summary"), [(name, summary) for name, _, summary in found])
