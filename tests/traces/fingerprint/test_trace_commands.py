"""The commands that read traces, as processes and as functions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from real_data import real_data
from typer.testing import CliRunner

from vulcan.errors import UserError
from vulcan_traces import load_trace
from vulcan_traces.command import app

SPEC = "zipf:requests=20000,objects=2000,alpha=0.9,seed=1,sizes=lognormal"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_stats_as_json_is_the_fingerprint() -> None:
    document = json.loads(run("stats", SPEC, "--json"))
    trace = load_trace(SPEC)
    assert document["digest"] == trace.digest


def test_head_shows_requests_as_they_are_read() -> None:
    document = json.loads(run("head", SPEC, "-n", "7", "--json"))
    trace = load_trace(SPEC)
    for i, row in enumerate(document["head"]):
        following = int(trace.next_access[i])
        assert row == {
            "request": i,
            "time": float(trace.times[i]),
            "id": int(trace.keys[trace.objects[i]]),
            "object": int(trace.objects[i]),
            "size": int(trace.sizes[i]),
            "next_request": None if following < 0 else following,
        }
    assert len(document["head"]) == 7
    assert len(run("head", SPEC, "-n", "3").strip().splitlines()) == 5


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.csv.xz"])
def test_csv_keeps_everything(tmp_path: Path, name: str) -> None:
    run("convert", SPEC, str(tmp_path / name))
    before, after = load_trace(SPEC), load_trace(tmp_path / name)
    for column in ("objects", "sizes", "next_access", "keys"):
        assert np.array_equal(getattr(before, column), getattr(after, column)), column
    assert np.allclose(before.times, after.times, rtol=2**-51, atol=0)


@pytest.mark.parametrize("name", ["t.oracleGeneral", "t.oracleGeneral.bin.zst", "t.oracleGeneral.gz"])
def test_oracle_general_keeps_all_but_parts_of_seconds(tmp_path: Path, name: str) -> None:
    run("convert", SPEC, str(tmp_path / name))
    before, after = load_trace(SPEC), load_trace(tmp_path / name)
    for column in ("objects", "sizes", "next_access", "keys"):
        assert np.array_equal(getattr(before, column), getattr(after, column)), column
    assert np.array_equal(np.floor(before.times), after.times)


def test_oracle_general_is_libcachesims_byte_for_byte(tmp_path: Path) -> None:
    original = real_data("cache", "libcachesim", "cloudPhysicsIO.oracleGeneral.bin")
    run("convert", str(original), str(tmp_path / "again.oracleGeneral"))
    assert (tmp_path / "again.oracleGeneral").read_bytes() == original.read_bytes()


MISTAKES = [
    (["stats", "absent.csv"], "no trace at absent.csv"),
    (["stats", SPEC, "--first", "0"], "at least 1"),
    (["convert", SPEC, "out.parquet"], "does not say its format"),
    (["convert", SPEC, "out", "--to", "cvs"], "did you mean 'csv'"),
]


@pytest.mark.parametrize(("arguments", "told"), MISTAKES)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=re.escape(told)) as error:
        run(*arguments)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["time,id\n5000000000,1\n5000000001,2\n", "time,id,size\n1,1,5000000000\n2,1,1\n"])
def test_times_and_sizes_that_do_not_fit_are_told(tmp_path: Path, text: str) -> None:
    source = tmp_path / "t.csv"
    source.write_text(text)
    with pytest.raises(UserError, match="2\\^32"):
        run("convert", str(source), str(tmp_path / "out.oracleGeneral"))
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from vulcan_traces.command import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numba', 'pandas', 'httpx'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == "[]"
    for command in ("stats", "convert", "head"):
        assert command in told.stdout
