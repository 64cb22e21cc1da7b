"""`vulcan runs`"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import number, print_json, print_table, say, tell
from vulcan.errors import UserError


def runs(runs_dir: RunsDirectory = RUNS, as_json: AsJson = False) -> None:
    """List the runs in --runs-dir, the oldest first.

    \b
    Examples:
      vulcan runs
      vulcan runs --runs-dir elsewhere --json
    """
    from vulcan.report.standing import score_of, state_of
    from vulcan.store import RunRecord
    from vulcan.store.runs import open_store, run_directories

    found: list[tuple[str, dict[str, Any]]] = []
    for place in run_directories(runs_dir):
        try:
            with closing(open_store(place)) as store:
                record, begun = RunRecord.of(store.events()), store.begun()
        except UserError as error:  # one damaged run does not hide the others
            tell(f"vulcan: {error}")
            continue
        ranked = record.ranked()
        winner = record.chosen.candidate if record.chosen else ranked[0].candidate if ranked else None
        row = {
            "run": place.name,
            "task": record.config.get("task"),
            "model": record.config.get("model"),
            "state": state_of(record),
            "candidates": len(record.candidates),
            "best": winner,
            "train": score_of(record, winner, "train") if winner else None,
            "test": score_of(record, winner, "test") if winner else None,
        }
        found.append((begun, row))
    rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
    if as_json:
        print_json({"runs": rows})
    elif not rows:
        say(f"no runs in {runs_dir}")
    else:
        print_table(
            ("run", "task", "model", "state", "candidates", "train", "test"),
            [
                (str(r["run"]), str(r["task"] or "-"), ", ".join(r["model"] or ()), str(r["state"]),
                 str(r["candidates"]), number(r["train"]), number(r["test"]))
                for r in rows
            ],
        )  # fmt: skip
