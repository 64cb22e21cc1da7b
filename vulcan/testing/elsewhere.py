"""Measures in a process of its own: `python -m vulcan.testing.elsewhere FILE`, with what is wanted on standard input.

It is no jail: what differs here from the process that asks differs because it is another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from vulcan.anvil import check
from vulcan.evaluator import Instance, load_evaluator
from vulcan.registry import find_task, task_reference
from vulcan.scoring.child import plain_metrics

HASH_SEED = "4242"
"""Sets and dictionaries of texts have another order there than here."""

Table = dict[str, list[dict[str, float]]]


class Elsewhere(Exception):
    """The other process ended badly: the last that it said."""


def measure_elsewhere(reference: str, sources: Mapping[str, str], instances: Sequence[Instance]) -> Table:
    """What each policy measures on each instance in another process. Raises Elsewhere."""
    wanted = {
        "task": task_reference(reference),
        "sources": dict(sources),
        "instances": [{**asdict(i), "parameters": dict(i.parameters)} for i in instances],
    }
    paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    environment = {**os.environ, "PYTHONHASHSEED": HASH_SEED, "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as directory:
        answer = Path(directory) / "metrics.json"
        ended = subprocess.run(
            [sys.executable, "-m", "vulcan.testing.elsewhere", str(answer)],
            input=json.dumps(wanted), text=True, env=environment, capture_output=True, check=False,
        )  # fmt: skip
        if ended.returncode != 0:
            raise Elsewhere((ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1])
        found: Table = json.loads(answer.read_text(encoding="utf-8"))
        return found


def main(answer: Path) -> None:
    wanted = json.load(sys.stdin)
    task = find_task(wanted["task"])
    evaluator = load_evaluator(task)
    instances = [Instance(**plain) for plain in wanted["instances"]]
    evaluator.prepare(instances)
    found = {
        name: [plain_metrics(evaluator.evaluate(check(source, task), instance)) for instance in instances]
        for name, source in wanted["sources"].items()
    }
    answer.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
