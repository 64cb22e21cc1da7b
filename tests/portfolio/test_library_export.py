"""The exported library runs without Vulcan, and fingerprints need bounded memory."""

from __future__ import annotations

import ast
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from effort import ALL
from libraries import MRU, exported, keys_of, usual

from vulcan.errors import UserError
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


def test_a_sampled_fingerprint_is_like_the_whole() -> None:
    spec = "zipf:requests=30000,objects=6000,alpha=0.8,seed=3"
    whole, sampled = OnlineFingerprint(600, 30000), OnlineFingerprint(600, 30000, tracked=1500)
    for key in keys_of(spec):
        whole.observe(key)
        sampled.observe(key)
    assert whole._weight == 1.0
    assert sampled._weight >= 4.0
    one, other = whole.features(), sampled.features()
    for name in ("cold_share", "one_hit_share", "lru", "room"):
        assert other[name] == pytest.approx(one[name], abs=0.06), name


def test_members_that_nothing_can_run_are_left_out() -> None:
    library = usual()
    other = "def cwnd(now, flow, path, round_trip):\n    return 10\n"
    congested = replace(library.members[1], name="far", task="congestion_control", source=other)
    library = replace(library, members=(library.members[0], congested))
    matrix = library.matrix["object"]
    members = {"hyperbolic": matrix.members["hyperbolic"], "far": matrix.members["mru"]}
    library = replace(library, matrix={"object": replace(matrix, members=members)})
    made = following_module(library, "object")
    assert (made.members, made.left_out) == (("hyperbolic",), ("far",))
    assert len(exported(library).FOLLOWED) == 1
    with pytest.raises(UserError, match="no member 'far'"):
        following_module(library, "object", ["far"])


def test_the_members_with_the_best_means_are_followed() -> None:
    library = usual()
    members = {"hyperbolic": (0.1,) * 4, "mru": (0.2,) * 4}
    library = replace(library, matrix={"object": replace(library.matrix["object"], members=members)})
    assert following_module(library, "object").members == ("mru", "hyperbolic")
    assert following_module(usual(), "object", ["mru"]).members == ("mru",)


def test_a_task_without_following_cannot_export() -> None:
    with pytest.raises(UserError, match="nothing that follows"):
        following_module(replace(usual(), task="spot_single"), "object")
