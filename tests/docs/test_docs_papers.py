"""The papers of the project: what a report asks for, what the changelog and the page on versions say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from locations import ROOT
from python_page import MODULES

TEMPLATES = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_is_a_form_that_asks_what_the_host_has(template: Path) -> None:
    form = yaml.safe_load(template.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["id"] and field["attributes"]["label"] for field in asked)
    assert len({field["id"] for field in asked}) == len(asked)
    assert "vulcan doctor --json" in next(field for field in asked if field["id"] == "doctor")["attributes"]["label"]


def test_there_are_forms_for_faults_tasks_and_questions() -> None:
    assert [path.stem for path in TEMPLATES] == ["bug", "question", "task"]


def test_the_changelog_begins_with_what_is_not_released() -> None:
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", head) for head in heads[1:])


def test_every_public_module_has_its_promise() -> None:
    page = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
    assert [module for module in MODULES if f"`{module}`" not in page] == []


def test_a_matter_of_security_is_sent_elsewhere() -> None:
    bug = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text(encoding="utf-8")
    assert "SECURITY.md" in bug
    conduct = (ROOT / "CODE_OF_CONDUCT.md").read_text(encoding="utf-8")
    assert "@" not in conduct
    assert "version 2.1" in conduct
