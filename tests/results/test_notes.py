"""A user's notes on a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from locations import recorded_run
from typer.testing import CliRunner

from vulcan.cli.main import app
from vulcan.documents.run import NotesDocument
from vulcan.results.notes import NOTES, read_notes


def test_a_file_that_is_not_vulcans_holds_none(tmp_path: Path) -> None:
    for text in ("", "[]", "{", '{"title": "x", "tags": 3}', "[" * 100_000):
        (tmp_path / NOTES).write_text(text)
        assert read_notes(tmp_path) == NotesDocument()
    (tmp_path / NOTES).write_text(json.dumps({"title": 3, "tags": [4]}))
    assert read_notes(tmp_path) == NotesDocument("3", "", ("4",))


def test_notes_are_given_and_listed_by_command(tmp_path: Path) -> None:
    run = Path(shutil.copytree(recorded_run(), tmp_path / "recorded"))
    shell = CliRunner()
    done = shell.invoke(app, ["note", str(run), "Ghosts.", "--title", "First", "--tag", "a", "--tag", "b", "--json"])
    assert json.loads(done.stdout) == {"title": "First", "note": "Ghosts.", "tags": ["a", "b"]}
    assert shell.invoke(app, ["note", str(run)]).stdout == "title  First\ntags   a, b\n\nGhosts.\n"
    (row,) = json.loads(shell.invoke(app, ["runs", "--runs-dir", str(tmp_path), "--json"]).stdout)["runs"]
    assert (row["title"], row["tags"]) == ("First", ["a", "b"])
