"""What is generated from code says what the code says now."""

from __future__ import annotations

from importlib import import_module

from generate import DOCS, generated_pages
from json_schema import make_schema
from python_page import MODULES
from site_pages import reference

import vulcan
from vulcan.registry import built_in_directory

TASKS = sorted(path.parent.name for path in built_in_directory().glob("*/task.py"))


def test_generated_pages_are_current() -> None:
    pages = generated_pages()
    stale = [name for name, text in pages.items() if (DOCS / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_the_reference_has_every_task_and_every_document() -> None:
    pages = reference()
    assert {name for name in pages if "/tasks/" in name} == {f"reference/tasks/{n}.md" for n in ("README", *TASKS)}
    lines = [line for name, text in pages.items() if "/json/" in name for line in text.splitlines()]
    documents = [line for line in lines if line.startswith("## ")]
    assert sorted(documents) == [f"## {model}" for model in make_schema()["$defs"]]


def test_the_python_page_has_every_public_name() -> None:
    page = reference()["reference/python.md"]
    public = {
        "vulcan": [name for name in vulcan.__all__ if name not in ("UserError", "__version__")],
        **{name: import_module(name).__all__ for name in ("vulcan.task", "vulcan.anvil", "vulcan.testing")},
        "vulcan.evaluator": ["Evaluator"],
        "vulcan.findings": ["Statement", "SmallTable", "Series"],
        "vulcan.errors": ["UserError"],
    }
    for module in MODULES:
        section = page.partition(f"\n## {module}\n")[2].partition("\n## ")[0]
        for name in public[module]:
            assert f"\n### {name}\n" in section, (module, name)
