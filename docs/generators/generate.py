"""Write every generated page and picture of `docs/`: `python docs/generators/generate.py`, or `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from anvil_page import describe_reference
from command_line_page import command_line_page
from json_page import json_pages
from json_schema import SCHEMA_FILE, schema_text
from performance_chart import PAGE, performance_chart
from python_page import python_page
from results_charts import results_charts
from run_reports import recorded_page
from task_pages import task_pages

DOCS = Path(__file__).resolve().parents[1]


def generated_pages() -> dict[str, str]:
    """Each generated page, and the JSON Schema: its path from `docs/`, and its text."""
    return {
        "anvil.md": describe_reference(),
        **json_pages(),
        SCHEMA_FILE.relative_to(DOCS).as_posix(): schema_text(),
        "images/performance.svg": performance_chart(PAGE.read_text(encoding="utf-8")),
        "reference/command-line.md": command_line_page(),
        "reference/python.md": python_page(),
        "results/recorded-searches.md": recorded_page(),
        **results_charts(),
        **task_pages(),
    }


def main() -> None:
    pages = generated_pages()
    for path in (DOCS / "reference" / "json").glob("*.md"):
        if path.relative_to(DOCS).as_posix() not in pages:
            path.unlink()
    for name, text in pages.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path}\n")


if __name__ == "__main__":
    main()
