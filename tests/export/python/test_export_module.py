"""An exported module stands alone, says where it comes from, and can be read back."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cache_formats import under
from effort import few
from exported import POLICIES, RICH, TASK, export, load, provenance

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export import policy_source
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

HEAD = "def priority(now, obj, cache, ghost):\n"


@pytest.mark.parametrize("name", POLICIES)
def test_nothing_but_math_and_heapq_is_imported(name: str) -> None:
    tree = ast.parse(export(POLICIES[name]))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used = [name for name in ("heapq", "math") if name in called]
    assert [ast.unparse(node) for node in imported] == [f"import {name}" for name in used]
    assert not called & {"__import__", "exec", "eval", "compile", "open", "globals", "getattr"}


def test_it_runs_where_nothing_is_installed(tmp_path: Path) -> None:
    """Isolated, without site-packages, in an empty directory, with each import but `math` and `heapq` refused."""
    trace = load_trace("zipf:requests=4000,objects=500,alpha=0.8,seed=3")
    text = export(RICH)
    (tmp_path / "best.py").write_text(text, encoding="utf-8")
    driver = """
import sys
text, keys = sys.argv[1], [int(key) for key in sys.stdin.read().split()]
known = set(sys.modules) | {"math", "heapq", "_heapq"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name not in known:
            raise ImportError("refused: " + name)
sys.meta_path.insert(0, Refuse())
names = {"__name__": "best"}
exec(compile(open(text).read(), text, "exec"), names)
cache = names["Cache"](50)
for key in keys:
    cache.request(key)
print(cache.misses)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", driver, str(tmp_path / "best.py")],
        input=" ".join(map(str, trace.objects.tolist())),
        capture_output=True,
        text=True,
        env={},
        cwd=tmp_path,
        check=False,
    )
    assert done.stderr == ""
    expected = simulate(check(RICH, TASK), np.asarray(trace.objects), np.ones(4000, np.int64), 50).misses
    assert int(done.stdout) == expected
    assert expected > 1_000


def test_the_docstring_says_where_the_policy_comes_from() -> None:
    text = export(under("heap", RICH), provenance(settings={"cache_size": "10%", "format": None}))
    module = load(text)
    assert module.__doc__ == (
        'Everything at once.\n\nWith a "quote", a back\\slash and ".\n\n'
        "Written by Vulcan 0.1.0. It needs Python alone.\n"
        "Run: 20261120-101500-ab, candidate 17\n"
        "Date: 2026-11-20\n"
        "Task: cache_eviction, objective object\n"
        "Proposed by: offline/evolve, seed 7\n"
        "Score on train: 0.250000\n"
        "Score on validation: 0.200000\n"
        "Score on test: 0.125000\n"
        "Measured on (1): web@10%\n"
        "Measured on (2): disk@10%\n"
        "Setting cache_size: 10%\n"
    )
    assert check(policy_source(text), TASK).mechanism == "heap"


def test_a_linter_finds_nothing(tmp_path: Path) -> None:
    for name, source in POLICIES.items():
        (tmp_path / f"{name}.py").write_text(export(source), encoding="utf-8")
    run = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--line-length=120"]
    ruff = subprocess.run(
        [*run, "--select=E,F,W,I,UP,B,C4,PLE", "--ignore=E501", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ruff.returncode == 0, ruff.stdout


def test_a_type_checker_finds_nothing(tmp_path: Path) -> None:
    paths = []
    for name in ("rich", "lru", "reads_id", "statistics"):
        paths.append(tmp_path / f"{name}.py")
        paths[-1].write_text(export(POLICIES[name]), encoding="utf-8")
    run = [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir", str(tmp_path / "cache"), *map(str, paths)]
    mypy = subprocess.run([*run, "--check-untyped-defs"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert mypy.returncode == 0, mypy.stdout


@pytest.mark.parametrize(
    "comment",
    ["'''", '"""', "\\", "\\'''", "'''\"\"\"'", "ends in \\", "\ttab", "\x0c", "\u2028 \u00e9 \U0001f600", "x" * 200,
     "trailing  ", "\x7f\x01", "{0} %s", "\\N{DASH}"],
)  # fmt: skip
@pytest.mark.parametrize("newline", few(["\n", "\r\n"], 1))
def test_any_text_of_a_policy_is_read_back_as_it_was(comment: str, newline: str) -> None:
    source = f"{comment!a}\n{HEAD}    return 1  # {comment}".replace("\n", newline)
    check(source, TASK)
    text = export(source)
    assert policy_source(text) == source
    module = load(text)
    assert source == module.POLICY
    for ending in ("'", '"', "\\"):
        assert policy_source(export(source + " #" + ending)) == source + " #" + ending


def test_reading_back_runs_nothing() -> None:
    assert policy_source("VULCAN_EXPORT = 1\nraise SystemExit\nPOLICY = 'x'\n") == "x"


def test_parameters_are_those_of_the_source_however_it_is_written() -> None:
    source = f"# \u00e9\r\nA = -1e-7  # first\r\nB: float = 2; C = 3\n{HEAD}    return A * obj.count + B + C\n"
    text = export(source)
    module = load(text)
    assert (module.A, module.B, module.C, policy_source(text)) == (-1e-7, 2.0, 3.0, source)


def test_what_a_policy_needs_not_is_not_there() -> None:
    plain = export(POLICIES["gdsf"])
    assert not re.search(r"_Population|_Stream|_Tally|_saturate|_divide|ewma|percentile|_MAX\b", plain)
    assert "class _Population:" in export(RICH)


def test_names_of_the_policy_give_way_to_those_of_the_module() -> None:
    names = [
        "Cache", "_divide", "len", "VULCAN_EXPORT", "POLICY", "_MECHANISM", "_Object", "__doc__", "_USES", "l", "_",
    ]  # fmt: skip
    parameters = "".join(f"{name} = {i}\n" for i, name in enumerate(names))
    total = " + ".join(names)
    text = export(
        f"{parameters}def dict(float_):\n    return float_ / 3\n{HEAD}    return {total} + dict(obj.size / now)\n"
    )
    module = load(text)
    cache = module.Cache(5)
    for key in range(20):
        cache.request(key)
    assert len(cache) == 5
    assert module.__doc__.startswith("A policy of the task cache_eviction.")
    assert module.priority(0.0, cache._objects[19], cache._state, cache._policy.ghost) == sum(range(len(names)))


def test_a_task_without_a_template_exports_its_functions(tmp_path: Path) -> None:
    text = export(check(RICH, replace(TASK, directory=tmp_path)))
    module = load(text)
    assert module.Cache == 3.0  # a parameter, whose name is free here
    assert not hasattr(module, "_Object")
    assert module.decay(10.0, 3.0) == 10 / 13 + 10 / 23
    assert policy_source(text) == RICH


@pytest.mark.parametrize(
    ("template", "fault"),
    [("import math\n", "lacks the line"), ("def f(:\n", "cannot be read"), (b"\xff\xfe\x00", "cannot be read")],
)
def test_a_template_that_cannot_be_used_is_named(template: str | bytes, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "export" / "python.py"
    path.parent.mkdir()
    path.write_bytes(template.encode() if isinstance(template, str) else template)
    with pytest.raises(UserError, match=fault) as raised:
        export(check(RICH, replace(TASK, directory=tmp_path)))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
