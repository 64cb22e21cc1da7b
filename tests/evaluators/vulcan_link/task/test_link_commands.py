"""The task on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "vulcan")


def vulcan(directory, *arguments, code=0):
    process = subprocess.run(
        [COMMAND, *map(str, arguments)], cwd=directory, capture_output=True, text=True, timeout=900, check=False,
        env={name: value for name, value in os.environ.items() if name not in ("VULCAN_RUNS_DIR", "VULCAN_MODEL")},
    )  # fmt: skip
    assert process.returncode == code, process.stderr
    assert "Traceback" not in process.stderr
    return process


@pytest.fixture
def policy(tmp_path: Path, task) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(task.seed_policies()["vegas"])
    return path


def test_eval_takes_many_links_tells_their_mean_and_draws_the_picture(tmp_path, policy):
    (tmp_path / "steady.trace").write_text("1\n")
    links = ("--link", "constant:rate=8", "--link", "steady.trace", "--duration-s", "5")
    arguments = ("eval", policy.name, "--task", "congestion_control", *links, "--plot", "picture.html")
    table = vulcan(tmp_path, *arguments).stdout
    assert "mean of 2 instances" in table
    header = next(line for line in table.splitlines() if line.strip().startswith("policy"))
    assert "throughput_mbps" in header and "queueing_delay_p95_ms" in header
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    for name in ("mine", "cubic", "bbr", "throughput (Mbit", "95th percentile of the queueing delay (ms)"):
        assert name in page
    document = json.loads(vulcan(tmp_path, *arguments, "--json").stdout)
    rows = [row for row in document["rows"] if row["policy"] == "mine"]
    (mean,) = [row for row in document["means"] if row["policy"] == "mine"]
    assert len(rows) == 2
    assert mean["power"] == pytest.approx(sum(row["power"] for row in rows) / 2)
    assert mean["score"] == pytest.approx(mean["power"])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--plot", "none/p.html"), "there is no directory none"),
        (("--link", "constant:rate=12", "--link", "constant:rate=12"), "two instances are called"),
        (("--link", "missing.down"), "no trace at missing.down"),
        (("--queue", "red"), "one of: droptail, codel"),
        (("--delay-ms", "-5"), "above 0"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, policy, arguments, why):
    process = vulcan(tmp_path, "eval", policy.name, "--task", "congestion_control", *arguments, code=2)
    (line,) = process.stderr.splitlines()
    assert why in line


def test_a_search_ends_above_cubic_on_the_links_that_choose_the_winner(tmp_path):
    few = ("--budget-candidates", "40", "--seed", "1", "--executor", "local", "--workers", "2", "--tune", "0")
    run = vulcan(tmp_path, "search", "--task", "congestion_control", *few, "--simplify", "0", "--json")
    summary = json.loads(run.stdout)
    baselines = summary["validation"]["baselines"]
    assert {"fixed", "reno", "cubic", "bbr"} <= set(baselines)
    assert summary["validation"]["score"] > baselines["cubic"] + 0.1
