"""docs/own-task.md, followed to the letter: each file is written and each command run, in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from locations import ROOT

from vulcan.testing import CHECKS

PAGE = ROOT / "docs" / "own-task.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A language, and for a file its name."""


@pytest.mark.slow
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    place = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": place}
    commands = files = 0
    for language, name, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "sh":
            for command in text.splitlines():
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                assert "Traceback" not in done.stderr
                commands += 1
        else:
            assert name, f"a block of {language} says for which file it is: {text}"
            assert (tmp_path / name).parent.is_dir()
            (tmp_path / name).write_text(text, encoding="utf-8")
            files += 1
    assert (commands, files) == (11, 6)


def test_the_page_has_every_promise() -> None:
    rows = "".join(f"| {check.name} | {check.promise} |\n" for check in CHECKS)
    assert f"| check | every task promises that |\n| --- | --- |\n{rows}" in PAGE.read_text(encoding="utf-8")
