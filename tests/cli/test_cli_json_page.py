"""What the commands print is what the shipped JSON Schema says, and the pages have every key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from console import LRU, MOOD_TASK, ZIPF, Console
from json_documents import CLOSED, faults
from json_schema import SCHEMA_FILE
from jsonschema import Draft202012Validator

MODELS = {
    "check": "CheckDocument",
    "check of a rejected policy": "CheckDocument",
    "verify": "VerifyDocument",
    "search": "RunDocument",
    "search --dry-run": "DryRunDocument",
    "ask": "AskDocument",
    "tell": "TellDocument",
    "show RUN CANDIDATE": "CandidateDocument",
    "report": "ReportDocument",
    "runs": "RunsDocument",
    "tasks": "TasksDocument",
    "task show": "TaskDocument",
    "task show of free Python": "TaskDocument",
    "repair": "RepairDocument",
    "traces head": "HeadDocument",
    "traces stats": "StatsDocument",
    "task new": "NewTaskDocument",
    "prompt": "PromptDocument",
    "export": "ExportDocument",
    "export --list": "ExportListDocument",
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    vulcan = Console(tmp_path_factory.mktemp("page"))
    summary = vulcan.search("--budget-candidates", "3", "--crowd", "3", "--cheap")
    asking = vulcan.document("search", "--task", MOOD_TASK, "--model", "ask")["run"]
    asked = vulcan.document("ask", asking)
    (vulcan.directory / "reply.md").write_text("no")
    reply = ("--proposal", asked["proposal"], "--file", "reply.md")
    (vulcan.directory / "lru.py").write_text("SPARE = 2\n" + LRU)
    (vulcan.directory / "wrong.py").write_text("import os\n")
    policy = ("lru.py", "--task", "cache_eviction")
    vulcan.good("report", summary["run"], "--format", "json", "-o", "report.json")
    told = vulcan.document("tell", asking, *reply)
    (vulcan.directory / asking / "run.db").write_bytes(b"")
    return {
        "check": vulcan.document("check", *policy),
        "check of a rejected policy": json.loads(
            vulcan("check", "wrong.py", "--task", "cache_eviction", "--json").stdout
        ),
        "verify": vulcan.document("verify", *policy),
        "search": summary,
        "search --dry-run": vulcan.document("search", "--task", MOOD_TASK, "--dry-run", "--cheap"),
        "ask": asked,
        "tell": told,
        "show RUN CANDIDATE": vulcan.document("show", summary["run"], "3"),
        "report": json.loads((vulcan.directory / "report.json").read_text()),
        "runs": vulcan.document("runs"),
        "tasks": vulcan.document("tasks"),
        "task show": vulcan.document("task", "show", "cache_eviction"),
        "task show of free Python": vulcan.document("task", "show", "cache_program"),
        "traces head": vulcan.document("traces", "head", ZIPF, "-n", "3"),
        "traces stats": vulcan.document("traces", "stats", ZIPF),
        "repair": vulcan.document("repair", asking),
        "task new": vulcan.document("task", "new", "shiny"),
        "prompt": vulcan.document("prompt", "--task", "cache_eviction"),
        "export": vulcan.document("export", summary["run"], "-o", "best.py"),
        "export --list": vulcan.document("export", "--list", "--task", "cache_eviction"),
    }


@pytest.mark.parametrize("command", MODELS)
def test_a_document_is_what_its_model_says(documents: dict[str, Any], command: str) -> None:
    assert faults(documents[command], MODELS[command]) == []


def test_the_schema_is_one_and_takes_keys_of_later_versions(documents: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid({**documents["search"], "later": 1})
    assert not Draft202012Validator(CLOSED).is_valid({**documents["search"], "later": 1})
    assert not Draft202012Validator(schema).is_valid({**documents["search"], "proposals": "many"})
