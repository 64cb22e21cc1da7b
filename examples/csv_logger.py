"""A logger: the figures of a search as a CSV file, one line a candidate.

A package offers it to `vulcan search --log csv:FILE` by an entry point of its `pyproject.toml`:

    [project.entry-points."vulcan.loggers"]
    csv = "csv_logger:CsvLogger"

In Python it needs none: `vulcan.search(..., log=CsvLogger("figures.csv"))`. A logger for TensorBoard, MLflow or Weights
& Biases has the same three methods: `begin` opens a run there, `log` passes the figures on, `end` closes the run.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIGURES = ("score", "best", "gap", "proposals", "dollars", "tokens", "seconds")


class CsvLogger:
    """Append to a file, by default `figures.csv` in the run's directory."""

    def __init__(self, place: str = "") -> None:
        self._place = place

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        """Open the file; a resumed search appends to it."""
        self._file = Path(self._place or run / "figures.csv").open("a", newline="", encoding="utf-8")  # noqa: SIM115 - `end` closes it
        self._rows = csv.writer(self._file)
        if self._file.tell() == 0:
            self._rows.writerow(("candidate", *FIGURES))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Write the figures of a candidate."""
        if "best" in values:
            self._rows.writerow((step, *(values.get(name, "") for name in FIGURES)))
            self._file.flush()

    def end(self, summary: Mapping[str, Any] | None) -> None:
        """Close the file."""
        self._file.close()
