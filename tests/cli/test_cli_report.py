"""`vulcan report`: a page or JSON of a run."""

from __future__ import annotations

import json

import pytest
from console import Console
from locations import recorded_run


def test_the_form_follows_the_file(vulcan: Console) -> None:
    for name, start in (("r.html", "<!doctype html>"), ("r.json", "{")):
        told = vulcan.good("report", recorded_run(), "-o", name, "--seconds", "0")
        assert told.stdout == ""
        assert told.stderr == f"wrote {name}: recorded\n"
        assert (vulcan.directory / name).read_text(encoding="utf-8").lstrip().startswith(start)


def test_json_goes_to_standard_output_with_the_winner_proved(vulcan: Console) -> None:
    text = vulcan.good("report", recorded_run(), "--format", "json").stdout
    document = json.loads(text, parse_constant=pytest.fail)
    shown = vulcan.document("show", recorded_run())
    assert {key: document[key] for key in shown} == shown
    properties = document["winner"]["properties"]
    assert [p["verdict"] for p in properties if p["verdict"] not in ("proved", "refuted", "unknown")] == []
    assert all(p["claim"] for p in properties)
