"""The exported library runs without Vulcan, and fingerprints need bounded memory."""

from __future__ import annotations

import ast
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

from effort import ALL
from libraries import MRU, usual

from vulcan.portfolio.export import following_module, indented
from vulcan_cache.online_fingerprint import OnlineFingerprint


def test_it_needs_python_alone(tmp_path: Path) -> None:
    text = following_module(usual(), "object").text
    assert "vulcan" not in {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
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


def test_memory_is_bounded() -> None:
    """Whatever there is to see: what is remembered beside the cache itself does not grow."""
    seen = OnlineFingerprint(1000, 10**9, tracked=1000)
    tracemalloc.start()
    peaks = []
    many = 40_000 if ALL else 8_000
    for start in range(0, 3 * many, many):
        for key in range(start, start + many):
            seen.observe(key, 1)
            seen.observe(key // 2, 1)
        tracemalloc.reset_peak()
        peaks.append(tracemalloc.get_traced_memory()[0])
        assert len(seen._objects) <= 1000
        assert sum(map(len, (seen._lru.held, seen._fifo.held, seen._small.held, seen._large.held))) <= 4000
    tracemalloc.stop()
    assert max(peaks) < 2_000_000
    assert peaks[-1] < 1.5 * peaks[0]


def test_the_members_with_the_best_means_are_followed() -> None:
    library = usual()
    members = {"hyperbolic": (0.1,) * 4, "mru": (0.2,) * 4}
    library = replace(library, matrix={"object": replace(library.matrix["object"], members=members)})
    assert following_module(library, "object").members == ("mru", "hyperbolic")
    assert following_module(usual(), "object", ["mru"]).members == ("mru",)
