"""The task on the command line."""

from __future__ import annotations

import pytest
from console import Console, one_line


@pytest.fixture
def vulcan(tmp_path, task):
    """A directory with a policy."""
    (tmp_path / "mine.py").write_text(task.seed_policies()["vegas_like"])
    return Console(tmp_path)


def test_eval_takes_many_links_and_tells_their_mean(tmp_path, vulcan):
    (tmp_path / "steady.trace").write_text("1\n")
    links = ("--link", "constant:rate=8", "--link", "steady.trace", "--duration-s", "3")
    arguments = ("eval", "mine.py", "--task", "congestion_control", *links)
    table = vulcan.good(*arguments).stdout
    assert "mean of 2 instances" in table
    header = next(line for line in table.splitlines() if line.strip().startswith("policy"))
    assert "throughput_mbps" in header and "queueing_delay_p95_ms" in header
    document = vulcan.document(*arguments)
    rows = [row for row in document["rows"] if row["policy"] == "mine"]
    (mean,) = [row for row in document["means"] if row["policy"] == "mine"]
    assert len(rows) == 2
    assert mean["power"] == pytest.approx(sum(row["power"] for row in rows) / 2)
    assert mean["score"] == pytest.approx(mean["power"])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--link", "constant:rate=12", "--link", "constant:rate=12"), "two instances are called"),
        (("--queue", "red"), "one of: droptail, codel"),
        (("--objective", "completion"), "give --transfers"),
    ],
)
def test_a_mistake_is_one_line(vulcan, arguments, why):
    assert why in one_line(vulcan("eval", "mine.py", "--task", "congestion_control", *arguments))


@pytest.mark.slow
def test_a_search_ends_above_cubic_on_the_links_that_choose_the_winner(vulcan):
    few = ("--budget-candidates", 40, "--seed", "1", "--executor", "local", "--workers", "2", "--tune", "0")
    summary = vulcan.document("search", "--task", "congestion_control", *map(str, few), "--simplify", "0")
    baselines = summary["validation"]["baselines"]
    assert {"fixed", "reno", "cubic", "bbr"} <= set(baselines)
    assert summary["validation"]["score"] > baselines["cubic"] + 0.1
