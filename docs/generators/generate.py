"""Write what is generated and committed: `python docs/generators/generate.py`, or `make docs`.

The rest of the reference is made from code as the site is built (`site_pages.reference`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from anvil_page import describe_reference
from charts import charts
from command_line_page import command_line_page
from json_page import index_page
from json_schema import SCHEMA_FILE, schema_text
from run_reports import recorded_page

DOCS = Path(__file__).resolve().parents[1]


def generated_pages() -> dict[str, str]:
    """Each generated file: its path from `docs/`, and its text."""
    return {
        "anvil.md": describe_reference(),
        "json.md": index_page(linked=False),
        SCHEMA_FILE.relative_to(DOCS).as_posix(): schema_text(),
        "reference/command-line.md": command_line_page(),
        "results/recorded-searches.md": recorded_page(),
        **charts(),
    }


def main() -> None:
    for name, text in generated_pages().items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path}\n")


if __name__ == "__main__":
    main()
