"""The evidence card of a run: every figure is the store's, every checksum the file's, the bytes always the same."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from json_documents import faults
from locations import recorded_run
from typer.testing import CliRunner

from vulcan.cli.main import app
from vulcan.results.evidence_card import CardExporter, _files
from vulcan.results.recommended import find_candidate
from vulcan.store import RunRecord
from vulcan.store.runs import open_store


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a recorded search with a language model."""
    return Path(shutil.copytree(recorded_run(), tmp_path_factory.mktemp("recorded") / "run"))


@pytest.fixture(scope="module")
def record(run: Path) -> RunRecord:
    with closing(open_store(run)) as store:
        return RunRecord.of(store.events())


def text_of(run: Path, candidate: int | None = None, seconds: float = 2.0) -> str:
    found = find_candidate(run, candidate)
    (text,) = CardExporter(run, seconds).export(found.policy, found.provenance).values()
    return text


@pytest.fixture(scope="module")
def card(run: Path) -> dict[str, Any]:
    return dict(json.loads(text_of(run)))


def test_the_same_run_gives_the_same_bytes(run: Path, card: dict[str, Any]) -> None:
    text = text_of(run)
    assert json.loads(text) == card
    assert text == json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_it_has_all_that_was_promised(card: dict[str, Any]) -> None:
    assert faults(card, "CardDocument") == []
    assert card["vulcan_evidence_card"] == 1
    assert {"vulcan", "python", "system", "processor", "numpy", "numba", "llvmlite", "ray"} == set(
        card["versions"]["card"]
    )


def test_its_figures_are_those_of_the_store(card: dict[str, Any], record: RunRecord) -> None:
    chosen = record.chosen
    assert chosen is not None
    judged = record.candidates[chosen.candidate]
    assert (card["candidate"]["candidate"], card["run"]["best"]["candidate"]) == (chosen.candidate, chosen.candidate)
    assert card["configuration"] == record.config
    assert card["versions"]["run"]["vulcan"] == record.version
    train = {row["instance"]: row["metrics"] for row in card["candidate"]["metrics"] if row["split"] == "train"}
    assert train == {name: dict(metrics) for name, metrics in judged.metrics}
    assert [(i["instance"], i["split"]) for i in card["instances"]] == [(i.name, i.split) for i in record.instances]
    assert card["run"]["cost"]["calls"] > 0


def test_files_that_instances_name_have_checksums(tmp_path: Path) -> None:
    there = tmp_path / "a.csv"
    there.write_bytes(b"1,2\n" * 1000)
    gone = tmp_path / "gone.csv"
    named = dict.fromkeys(["zipf:requests=9", str(there), str(gone), "\0", "x" * 5000, str(tmp_path)])
    assert list(_files(named)) == [
        {"file": str(there), "bytes": 4000, "sha256": hashlib.sha256(b"1,2\n" * 1000).hexdigest()},
        {"file": str(gone), "bytes": None, "sha256": None},
    ]


def test_of_a_file_only_what_it_says_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("def priority(now, obj, cache, ghost):\n    return obj.count + 0.5\n")
    words = ["export", "a.py", "--task", "cache_eviction", "--format", "json", "--seconds", "0"]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    card = json.loads(Path("cache_eviction_card.json").read_text())
    assert [key for key in card if card[key] is None] == ["candidate", "configuration", "files", "instances", "run"]
    assert card["licence"] == {"spdx": None, "known": "a file of the user's: nothing is known"}
    assert faults(card, "CardDocument") == []
