"""The exported library runs without Vulcan."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from libraries import MRU, usual

from vulcan.portfolio.export import following_module, indented


def test_it_needs_python_alone(tmp_path: Path) -> None:
    text = following_module(usual(), "object").text
    assert re.findall(r"^ *(?:import|from)\b.*\bvulcan.*", text, re.MULTILINE) == []
    (tmp_path / "following.py").write_text(text)
    code = (
        "import sys; sys.path.insert(0, '.')\nfrom following import Cache\nc = Cache(10)\n"
        "c['a'] = 1\nassert c['a'] == 1 and c.get('b') is None and len(c) == 1\nprint(c.hits, c.misses)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["1", "2"]


def test_policies_are_the_modules_that_export_writes() -> None:
    """Indented into a function, a module means the same: also its texts of several lines."""
    text = f"import math\n\n\nTEXT = '''one\n two\nthree'''\n\n\n{MRU}"
    wrapped = ast.parse(f"def policy():\n{indented(text)}\n").body[0]
    assert isinstance(wrapped, ast.FunctionDef)
    assert [ast.dump(node) for node in wrapped.body] == [ast.dump(node) for node in ast.parse(text).body]


def test_those_are_followed_that_are_best_together() -> None:
    assert following_module(usual(), "object").members == ("mru", "hyperbolic")
    assert following_module(usual(), "object", ["hyperbolic"]).members == ("hyperbolic",)
