"""The tables of a run as pandas frames, built from the rows of its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from vulcan.results.report.data import (
    Report,
    every_candidate,
    measured_on,
    models,
    progress,
    scores_by_instance,
)
from vulcan.results.run import compare_instances

_COUNTS = {"proposal", "turn", "size", "operations", "row", "calls", "tokens_in", "tokens_out"}
"""Integer columns, which may have missing values."""
_NUMBERS = {"score", "best", "dollars", "seconds", "winner", "best_baseline", "oracle", "gap"}
"""Float columns, which may have missing values."""

CANDIDATES = (
    "candidate",
    "proposal",
    "turn",
    "operator",
    "origin",
    "parents",
    "verdict",
    "score",
    "best",
    "size",
    "operations",
    "dollars",
    "row",
)
SCORES = ("policy", "kind", "split", "instance", "score", "row")
INSTANCES = (
    "instance",
    "split",
    "winner",
    "best_baseline",
    "best_baseline_policy",
    "oracle",
    "oracle_policy",
    "gap",
    "parameters",
)
FAILURES = ("candidate", "verdict", "rules", "feedback", "proposal", "turn", "origin", "row")
COSTS = ("model", "calls", "tokens_in", "tokens_out", "dollars", "seconds")
EVENTS = ("row", "time", "kind", "data")


def candidates(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.candidates`."""
    taken = {row["candidate"]: row for row in progress(report)}
    rows = ({**taken[row["candidate"]], **row} for row in every_candidate(report))
    return _frame(rows, CANDIDATES, "candidate")


def scores(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.scores`."""
    return _with_metrics(scores_by_instance(report), SCORES)


def instances(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.instances`."""
    parameters = {(row["instance"], row["split"]): row["parameters"] for row in measured_on(report.record)}
    return _frame(
        (
            {
                **row,
                "best_baseline": (rival := row["best_baseline"] or _NOBODY)["score"],
                "best_baseline_policy": rival["policy"],
                "oracle": (oracle := row["oracle"] or _NOBODY)["score"],
                "oracle_policy": oracle["policy"],
                "gap": None if row["winner"] is None or rival is _NOBODY else row["winner"] - rival["score"],
                "parameters": parameters[row["instance"], row["split"]],
            }
            for row in compare_instances(report.record, report.scorer)
        ),
        INSTANCES,
    )


_NOBODY: dict[str, Any] = {"policy": None, "score": None}


def failures(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.failures`."""
    rows = (
        {
            **row,
            "rules": list((judged := report.record.candidates[row["candidate"]]).rules),
            "feedback": judged.feedback,
        }
        for row in every_candidate(report)
        if row["verdict"] not in ("scored", "stopped")
    )
    return _frame(rows, FAILURES, "candidate")


def costs(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.costs`."""
    return _frame(models(report.calls), COSTS, "model")


def events(report: Report) -> pd.DataFrame:
    """Return `vulcan.api.run.Run.events`."""
    frame = _frame((row.document() for row in report.rows.all), EVENTS, "row")
    frame["time"] = pd.to_datetime(frame["time"], utc=True, format="ISO8601")
    return frame


def of_candidate(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return `vulcan.api.run.Candidate.metrics`."""
    return _with_metrics(rows, ("instance", "split", "score"))


def _with_metrics(rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the rows as a frame of these columns, and one for each metric."""
    known = list(rows)
    names = dict.fromkeys(name for row in known for name in row["metrics"])
    return _frame([{**row, **row["metrics"]} for row in known], tuple(dict.fromkeys((*columns, *names))))


def _frame(rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...], index: str | None = None) -> pd.DataFrame:
    """Return the rows as a frame of these columns, with the same types even if there are no rows."""
    frame = pd.DataFrame.from_records(list(rows), columns=list(columns))
    for column in columns:
        if column in _COUNTS:
            frame[column] = frame[column].astype("Int64")
        elif column in _NUMBERS:
            frame[column] = frame[column].astype("float64")
    return frame if index is None else frame.set_index(index)
