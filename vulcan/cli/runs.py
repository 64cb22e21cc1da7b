"""`vulcan runs`"""

from __future__ import annotations

from typing import Any

from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import number, print_json, print_table, say


def runs(runs_dir: RunsDirectory = RUNS, as_json: AsJson = False) -> None:
    """List the runs in --runs-dir, the oldest first."""
    from vulcan.cli.summary import score_of, state
    from vulcan.store import RunRecord
    from vulcan.store.runs import open_store, run_directories

    rows: list[dict[str, Any]] = []
    for place in run_directories(runs_dir):
        store = open_store(place)
        record = RunRecord.of(store.events())
        store.close()
        ranked = record.ranked()
        winner = record.chosen.candidate if record.chosen else ranked[0].candidate if ranked else None
        rows.append(
            {
                "run": place.name,
                "task": record.config.get("task"),
                "model": record.config.get("model"),
                "state": state(record),
                "candidates": len(record.candidates),
                "best": winner,
                "train": score_of(record, winner, "train") if winner else None,
                "test": score_of(record, winner, "test") if winner else None,
            }
        )
    if as_json:
        print_json({"runs": rows})
    elif not rows:
        say(f"no runs in {runs_dir}")
    else:
        print_table(
            ("run", "task", "model", "state", "candidates", "train", "test"),
            [
                (str(r["run"]), str(r["task"]), str(r["model"]), str(r["state"]), str(r["candidates"]),
                 number(r["train"]), number(r["test"]))
                for r in rows
            ],
        )  # fmt: skip
