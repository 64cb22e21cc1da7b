"""What is generated from code says what the code says now."""

from __future__ import annotations

import pytest
import typer
from command_line_page import command_line_page, commands
from generate import DOCS, generated_pages
from markdown_parts import paragraphs
from python_page import MODULES, python_page

import vulcan
import vulcan.anvil
import vulcan.task
import vulcan.testing
from vulcan.cli.main import app
from vulcan.registry import built_in_directory

PAGES = generated_pages()
TASKS = sorted(path.parent.name for path in built_in_directory().glob("*/task.py"))


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name], f"docs/{name} is stale: run `make docs`"


def test_no_page_in_the_folder_of_tasks_is_of_a_task_that_is_gone() -> None:
    there = {path.stem for path in (DOCS / "reference" / "tasks").glob("*.md")}
    assert there == {"README", *TASKS}


def test_the_command_line_has_every_command_and_option() -> None:
    page = command_line_page()
    found = dict(commands())
    assert {"vulcan search", "vulcan task new", "vulcan library select", "vulcan traces stats"} <= set(found)
    assert set(typer.main.get_command(app).commands) <= {name.split()[1] for name in found}
    for name, command in found.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name not in (
                "help", "install_completion", "show_completion",
            ):  # fmt: skip
                assert all(f"`{o}" in section for o in parameter.opts), (name, parameter.opts)


def test_the_python_page_has_every_public_name() -> None:
    page = python_page()
    public = {
        "vulcan": [name for name in vulcan.__all__ if name not in ("UserError", "__version__")],
        "vulcan.task": vulcan.task.__all__,
        "vulcan.anvil": vulcan.anvil.__all__,
        "vulcan.testing": vulcan.testing.__all__,
        "vulcan.evaluator": ["Evaluator"],
        "vulcan.findings": ["Statement", "SmallTable", "Series"],
        "vulcan.errors": ["UserError"],
    }
    for module in MODULES:
        section = page.partition(f"\n## {module}\n")[2].partition("\n## ")[0]
        for name in public[module]:
            assert f"\n### {name}\n" in section, (module, name)


def test_examples_in_docstrings_become_blocks() -> None:
    said = 'What it does.\n\n    \b\n    Example:\n      vulcan runs\n    """'.removesuffix('"""')
    assert paragraphs(said) == "What it does.\n\nExample:\n\n```text\nvulcan runs\n```"
