"""`vulcan doctor` tries what this host has, names what is missing, and never shows a key."""

import json
import sys
from pathlib import Path

import pytest
from console import Console
from json_documents import faults

from vulcan.doctor import host
from vulcan.documents.host import AttackResult, DefenceCheck
from vulcan.scoring.sandbox.layers import Layer


@pytest.mark.ray
@pytest.mark.skipif(sys.platform != "linux", reason="most of these layers are Linux's")
@pytest.mark.usefixtures("ray_runtime")
def test_the_document(tmp_path: Path) -> None:
    done = Console(tmp_path).good("doctor", "--json", OPENAI_API_KEY="sk-very-secret")
    assert "very-secret" not in done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert {"variable": "OPENAI_API_KEY", "set": True} in document["model_keys"]
    assert {d["defence"] for d in document["defences"]} == {layer.value for layer in Layer}
    assert [d for d in document["defences"] if not d["holds"]] == []
    assert document["ok"] and document["free_programs"]
    assert document["ray"]["available"] or document["ray"]["error"]  # it may not come up in time on a busy host
    assert faults(document, "DoctorDocument") == []


def holding(layer: Layer, holds: bool) -> DefenceCheck:
    return host._checked(layer, holds, "tried", "seen")


@pytest.mark.parametrize(
    ("missing", "blocks"),
    [
        (Layer.WALL_CLOCK, "everything"),
        (Layer.SECCOMP, "policies in free Python"),
        (Layer.LANDLOCK, "nothing"),
    ],
)
def test_what_a_missing_defence_stops(missing: Layer, blocks: str) -> None:
    problems = list(host._problems_of([holding(layer, layer is not missing) for layer in Layer]))
    assert [problem.blocks for problem in problems] == [blocks]
    assert missing.value in problems[0].problem


def test_what_programs_need_includes_what_policies_need() -> None:
    assert host.FOR_POLICIES < host.FOR_PROGRAMS


def test_an_attack_that_gets_through_is_counted() -> None:
    document = host.attacks_document([AttackResult("a", "seccomp", ""), AttackResult("b", None, "")])
    assert (document["stopped"], document["succeeded"]) == (1, 1)
