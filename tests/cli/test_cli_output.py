"""Tables in a narrow terminal, and the singular."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from console import Console

from vulcan.cli.main import app
from vulcan.cli.options import SearchCommand
from vulcan.cli.output import print_table, read_policy
from vulcan.errors import UserError

COLUMNS = ("instance", "split", "winner", "oracle", "best oracle")
ROWS = [("trace:" + "x" * 90, "validation", "0.1234", "0.5678", "belady-size-sampled")] * 2


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_name_is_cut(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(COLUMNS, ROWS, optional=("oracle", "best oracle"))
    text = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert text.count("x") == 180
    assert all(len(line) <= width and line == line.rstrip() for line in text.splitlines())
    assert "validation" in text.replace("\n", "")
    assert ("belady-size-sampled" in text) == (width == 200)


def test_metrics_give_way_to_names_and_scores(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    metrics = ("utilisation", "throughput_over_delay", "queueing_delay_p95_ms", "loss")
    rows = [("bdp-oracle", *("0.1234",) * 4, "0.9876")]
    print_table(("policy", *metrics, "score (power)"), rows, optional=metrics)
    table, _, left_out = capsys.readouterr().out.partition("Left out")
    assert all(word in table for word in ("bdp-oracle", "0.9876", "utilisation"))
    assert "queueing" not in table
    assert "queueing_delay_p95_ms, loss" in left_out


def test_a_large_file_without_a_function_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "ok.csv").write_text("1,2,3\n" * 20_000)
    with pytest.raises(UserError, match=r"ok\.csv has 120,000 bytes and no function"):
        read_policy(tmp_path / "ok.csv", "cache_eviction")


def test_every_option_of_a_search_is_in_one_group_of_its_help(vulcan: Console) -> None:
    parts = re.split(r"\n(?=[A-Z]\w+:\n)", vulcan.good("search", "--help", COLUMNS="80").stdout)[1:]
    assert [part.partition(":")[0] for part in parts] == list(SearchCommand.GROUPS)
    shown = [option for part in parts for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", part, re.MULTILINE)]
    command = typer.main.get_command(app).commands["search"]  # type: ignore[attr-defined]
    assert sorted(shown) == sorted(["--help", *(one.opts[0] for one in command.params)])
