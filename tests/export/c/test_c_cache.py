"""A whole cache in C decides as the simulator does, request by request, and each compiler takes it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_programs import FOUND
from cache_formats import CASES as STATELESS
from cache_formats import Column, Sizes, requests, text_of, under
from compiled import SANITISED, library
from locations import ROOT
from test_c_guard import real_requests

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.registry import find_task
from vulcan_cache.simulate import simulate

TASK = find_task("cache_eviction")
REPLAY = (Path(__file__).parent / "cache_replay.c").read_text()
SEEDS = {name: source for name, source in TASK.seed_policies().items() if check(source, TASK).mechanism != "queues"}
RECHECKING = """
def priority(now, obj, cache, ghost):
    return obj.count if now - obj.last_access < 40 else -1 / obj.size


def recheck(now, obj, cache, ghost):
    return 40 + obj.count if now == obj.last_access else 0
"""
CASES = {
    **{name: source for name, source in STATELESS.items() if not name.endswith(" queues")},
    **SEEDS,
    "rechecking": under("heap", RECHECKING),
}


def replay(name: str, trace: tuple[Column, Sizes], capacity: int, flags: tuple[str, ...] = ()) -> Column:
    """Return the outcomes of the exported cache."""
    files = {"policy_cache.h": text_of(CASES[name], "c-cache"), "replay.c": REPLAY}
    built = library(files, "replay.c", *([flags] if flags else []))
    outcome, facts = np.zeros(len(trace[0]), np.uint32), np.zeros(2)
    keys, sizes = (column.ctypes.data for column in trace)
    built.replay.restype = ctypes.c_int64
    misses = built.replay(
        ctypes.c_int64(len(outcome)),
        *map(ctypes.c_void_p, (keys, sizes)),
        ctypes.c_uint64(capacity),
        *map(ctypes.c_void_p, (outcome.ctypes.data, facts.ctypes.data)),
    )
    assert misses == np.count_nonzero(outcome)
    return outcome


def simulated(name: str, trace: tuple[Column, Sizes], capacity: int) -> Column:
    history = np.zeros(len(trace[0]), np.uint32)
    simulate(check(CASES[name], TASK), *trace, capacity, history=history)
    return history & 3


@pytest.mark.parametrize("name", CASES)
def test_each_request_ends_as_in_the_simulator(name: str) -> None:
    objects, sizes = requests(20_000, 2_000, seed=9)
    traces = [((objects, sizes), 60_000), ((objects, np.ones_like(sizes)), 150), ((objects, sizes), 700)]
    for trace, capacity in traces:
        assert (replay(name, trace, capacity) == simulated(name, trace, capacity)).all()


@pytest.mark.parametrize("name", ["lru", "gdsf", "lecar", "rich heap"])
def test_it_does_so_on_real_requests(name: str) -> None:
    trace, capacity = real_requests()
    assert (replay(name, trace, capacity) == simulated(name, trace, capacity)).all()


@pytest.mark.parametrize("name", ["rechecking", "lhd", "gdsf"])
def test_nothing_in_it_is_undefined(name: str) -> None:
    trace = requests(5_000, 3_000, seed=3)
    assert (replay(name, trace, 20_000, SANITISED) == simulated(name, trace, 20_000)).all()


@pytest.mark.parametrize("compiler", FOUND, ids=lambda compiler: compiler[0])
@pytest.mark.parametrize("name", ["rechecking", "lecar", "lru", "little sample"])
def test_it_compiles_without_a_warning(name: str, compiler: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "policy_cache.h").write_text(text := text_of(CASES[name], "c-cache"))
    (tmp_path / "main.c").write_text('#include "policy_cache.h"\nint main(void) { return 0; }\n')
    command = [*compiler, "-fsyntax-only", "main.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    assert check(policy_source(text), TASK).fingerprint == check(CASES[name], TASK).fingerprint


def test_queues_are_refused() -> None:
    with pytest.raises(UserError, match="mechanism queues cannot be exported as c-cache"):
        text_of(TASK.seed_policies()["arc"], "c-cache")


def test_the_example_is_made_and_counts_as_the_simulator(tmp_path: Path) -> None:
    for path in (ROOT / "examples" / "policy_cache").iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "best.py").write_text(CASES["gdsf"])
    vulcan = f"{sys.executable} -c 'from vulcan.cli.main import run; run()'"
    made = subprocess.run(
        ["make", f"VULCAN={vulcan}", "CC=gcc", "CFLAGS=-O1 -Wall -Wextra -Werror"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[:3000]
    trace = requests(5_000, 600, seed=6)
    lines = "".join(f"{key} {size}\n" for key, size in zip(*(column.tolist() for column in trace), strict=True))
    done = subprocess.run([tmp_path / "cache", "40000"], input=lines, capture_output=True, text=True, check=True)
    outcome = simulated("gdsf", trace, 40_000)
    hits, refused = np.count_nonzero(outcome == 0), np.count_nonzero(outcome == 2)
    assert done.stdout.startswith(f"hits {hits}, misses {5_000 - hits}, refused {refused}, evicted ")
