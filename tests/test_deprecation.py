"""What is deprecated says so once, in one line, and where."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from vulcan.deprecation import Deprecated, deprecate


def old() -> int:
    deprecate("old()", goes_in="2.0", instead="new()")
    return 7


def test_it_warns_where_it_was_called_and_goes_on() -> None:
    with pytest.warns(Deprecated, match=r"^old\(\) is deprecated and goes in 2\.0: use new\(\)$") as seen:
        assert old() == 7
    assert seen[0].filename == __file__


def test_it_is_a_deprecation_warning_to_other_tools() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        with pytest.raises(DeprecationWarning):
            old()


SCRIPT = """
import warnings
from vulcan.deprecation import deprecate, deprecations_in_one_line
deprecations_in_one_line()
for _ in range(3):
    deprecate("--old", goes_in="2.0", instead="--new")
warnings.warn("something else", UserWarning)
"""


def test_at_the_command_line_it_is_one_line_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, text=True, capture_output=True, check=True)
    first, *others = done.stderr.splitlines()
    assert first == "vulcan: --old is deprecated and goes in 2.0: use --new"
    assert not any("--old" in line for line in others)
    assert "UserWarning: something else" in others[0]
