"""Other packages add commands: they are listed without being imported, and run when they are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import Console, one_line

COMMAND = '''"""Count sheep.

More about sheep.
"""

import typer

from vulcan.errors import UserError

print("sheep was imported")
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("count")
def count(number: int) -> None:
    """Count them up."""
    if number < 0:
        raise UserError(f"{number} sheep: give a number from 0 on")
    print(f"{number} sheep")
'''


class Installed:
    """A directory on the path with a package `sheep_farm` and the metadata that pip would write for it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "sheep_farm").mkdir(parents=True)
        (place / "sheep_farm" / "__init__.py").write_text("print('the package was imported')\n")
        (place / "sheep_farm" / "command.py").write_text(COMMAND)
        self.metadata = place / "sheep_farm-1.0.dist-info"
        self.metadata.mkdir()
        self.offers(sheep="sheep_farm.command:app")

    def offers(self, **commands: str) -> None:
        lines = ["[console_scripts]", "sheep-shear = sheep_farm.shear:run", "", "[vulcan.commands]"]
        lines += [f"{name} = {value}" for name, value in commands.items()]
        (self.metadata / "entry_points.txt").write_text("\n".join([*lines, "", "[another.group]", "wool = wool:app"]))

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.place)}


@pytest.fixture
def sheep(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "site")


def test_the_help_lists_a_contributed_command_without_importing_it(vulcan: Console, sheep: Installed) -> None:
    shown = vulcan.good("--help", **sheep.environment).stdout
    (line,) = (line.split(maxsplit=1) for line in shown.splitlines() if line.strip().startswith("sheep"))
    assert line == ["sheep", "Count sheep."]
    assert "imported" not in shown
    assert "wool" not in shown
    assert "sheep-shear" not in shown


def test_a_contributed_command_runs(vulcan: Console, sheep: Installed) -> None:
    ran = vulcan.good("sheep", "count", "3", **sheep.environment)
    assert ran.stdout.splitlines() == ["the package was imported", "sheep was imported", "3 sheep"]
    shown = vulcan.good("sheep", "--help", **sheep.environment).stdout
    assert "Count them up." in shown
    assert "completion" not in shown  # which is installed for the whole of `vulcan`


def test_its_mistakes_are_told_like_vulcans_own(vulcan: Console, sheep: Installed) -> None:
    (sheep.place / "sheep_farm" / "__init__.py").write_text("")
    (sheep.place / "sheep_farm" / "command.py").write_text(COMMAND.replace('print("sheep was imported")', ""))
    ran = vulcan("sheep", "count", "--", "-1", **sheep.environment)
    assert one_line(ran) == "vulcan: -1 sheep: give a number from 0 on"
    ran = vulcan("sheep", "count", "many", **sheep.environment)
    assert "Invalid value for 'number'" in one_line(ran)
    assert "vulcan sheep count --help" in one_line(ran)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("sheep_farm.nothing:app", "ModuleNotFoundError: No module named 'sheep_farm.nothing'"),
        ("sheep_farm.command:nothing", "module 'sheep_farm.command' has no attribute 'nothing'"),
        ("sheep_farm.command:count", "is no typer.Typer"),
    ],
)
def test_a_command_that_does_not_load_is_one_line_and_harms_no_other(
    vulcan: Console, sheep: Installed, value: str, said: str
) -> None:
    sheep.offers(sheep=value)
    ran = vulcan("sheep", "count", "3", **sheep.environment)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"vulcan: command 'sheep': its entry point '{value}'")
    assert said in line
    assert "sheep" in vulcan.good("--help", **sheep.environment).stdout
    vulcan.good("tasks", **sheep.environment)
