"""`vulcan tasks`"""

from __future__ import annotations

from vulcan.cli.options import AsJson
from vulcan.cli.output import print_json, print_table


def tasks(as_json: AsJson = False) -> None:
    """List the tasks that can be named, with where each comes from.

    \b
    Examples:
      vulcan tasks
      vulcan tasks --json
    """
    from vulcan.report.task import tasks_document

    document = tasks_document()
    if as_json:
        print_json(document)
    else:
        print_table(("task", "summary"), [(task["name"], task["summary"]) for task in document["tasks"]])
