"""The figures of a search as a CSV file, one line a candidate.

    vulcan search --task cache_eviction --progress json | python csv_figures.py figures.csv

TensorBoard, MLflow or Weights & Biases get the same figures by their own functions, in place of the writer's.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from typing import Any

COLUMNS = ("candidate", "score", "best", "gap", "proposals", "dollars", "tokens", "seconds")


def figures(lines: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    """Yield a row for each candidate; empty where it has no score, or there is no best one yet."""
    for line in map(json.loads, lines):
        if line["kind"] == "CandidateJudged":
            data, now = line["data"], line["progress"]
            best = now["best"] and now["best"]["score"]
            counted = (now["completed"], now["dollars"], now["tokens"], line["seconds"])
            yield (data["candidate"], data["score"], best, now["gap"], *counted)


def main(place: str) -> None:
    with open(place, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for row in figures(sys.stdin):
            rows.writerow(row)
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
