"""A policy and its guard in C decide as the simulator does, request by request, and stay within the bound."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from baseline_traces import dense
from c_programs import FOUND
from cache_formats import CASES, QUEUES, RANKED, Column, Sizes, requests, under
from changing_traces import TRACES
from compiled import library
from effort import slow
from exported import load
from locations import ROOT
from numpy.typing import NDArray
from real_data import real_data

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.portfolio.export import export_guarded
from vulcan.registry import find_task
from vulcan_cache.following import ALLOWANCE, SAFE_POLICIES, TOLERANCE, FollowedResult, simulate_guarded
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
MRU = under("heap", "def priority(now, obj, cache, ghost):\n    return -obj.last_access\n")
OWN = {
    "mru": MRU,
    **{name: under("heap", RANKED[name]) for name in ("fifo", "gdsf", "lfu", "lru", "rich")},
    "arc": TASK.seed_policies()["arc"],  # keeps state
}
REPLAY = (Path(__file__).parent / "guard_replay.c").read_text()
EXAMPLE = ROOT / "examples" / "guarded_cache.c"
ENTRY_BYTES = 64
Trace = tuple[Column, Sizes]


def source_of(name: str) -> str:
    return OWN.get(name) or CASES[name]


@cache
def header(name: str, safe: str) -> str:
    policy = check(source_of(name), TASK)
    files = export_guarded(policy, "c", Provenance(TASK.name, f"{name}.py", "", "", ""), safe)
    assert list(files) == ["guarded.h"]
    return files["guarded.h"]


def changing(kind: str) -> Trace:
    """A trace of the benchmark of verdicts, whose objects are of one size."""
    objects = dense(TRACES[kind](random.Random(kind)))
    return objects, np.ones(len(objects), np.int64)


def guarded(name: str, safe: str, trace: Trace, capacity: int) -> tuple[FollowedResult, Column]:
    outcome = np.zeros(len(trace[0]), np.uint32)
    policy = check(source_of(name), TASK)
    return simulate_guarded(policy, safe, *trace, capacity, outcome=outcome), outcome


def history(policy: Any, trace: Trace, capacity: int) -> tuple[Column, NDArray[np.int64]]:
    """What the directory does at each request, and the requests at which what leaves was last asked for, in order."""
    found = np.zeros(len(trace[0]), np.uint32)
    simulate(policy, *trace, capacity, history=found)
    last = np.flatnonzero(found >> 2)
    return found, last[np.argsort(found[last] >> 2, kind="stable")]


def in_c(name: str, safe: str, trace: Trace, capacity: int) -> tuple[Column, list[int], NDArray[np.float64]]:
    """Outcomes, counts (misses, bypassed, switches, the most held) and `behind` of the exported guard."""
    files = {"guarded.h": header(name, safe), "replay.c": REPLAY}
    replay = library(files, "replay.c").replay
    objects, sizes = trace
    both = [
        history(check(source_of(name), TASK), trace, capacity),
        history(SAFE_POLICIES[safe].compiled(), trace, capacity),
    ]
    outcome, behind = np.zeros(len(objects), np.uint32), np.zeros(len(objects))
    counts = (ctypes.c_uint64 * 4)()
    pair = ctypes.c_void_p * 2
    is_clean = replay(
        ctypes.c_int64(len(objects)),
        ctypes.c_void_p(objects.ctypes.data),
        ctypes.c_void_p(sizes.ctypes.data),
        pair(*(found.ctypes.data for found, _ in both)),
        pair(*(left.ctypes.data for _, left in both)),
        (ctypes.c_int64 * 2)(*(len(left) for _, left in both)),
        ctypes.create_string_buffer(ENTRY_BYTES * (int(objects.max()) + 1)),
        ctypes.c_uint64(capacity),
        ctypes.c_double(TOLERANCE),
        ctypes.c_double(ALLOWANCE),
        ctypes.c_void_p(outcome.ctypes.data),
        counts,
        ctypes.c_void_p(behind.ctypes.data),
    )
    assert is_clean == 1
    return outcome, list(counts), behind


def compare(name: str, safe: str, trace: Trace, capacity: int) -> int:
    """Compare the exported guard with the simulator: how often another policy was followed."""
    expected, wanted = guarded(name, safe, trace, capacity)
    outcome, (misses, bypassed, switches, most_held), behind = in_c(name, safe, trace, capacity)
    assert (outcome == wanted).all()
    counts = expected.counts
    assert (misses, bypassed, switches) == (counts.misses, counts.bypassed, expected.switches)
    assert expected.bound == TOLERANCE * len(outcome) + ALLOWANCE * most_held
    assert behind.max() <= ALLOWANCE * most_held
    return switches


@pytest.mark.parametrize("safe", SAFE_POLICIES)
@pytest.mark.parametrize(
    "name",
    ["mru", "rich heap", "little heap", "hits_evict queues", "arc", *(slow(f"{name} queues") for name in QUEUES)],
)
def test_the_guard_in_c_decides_as_the_simulator(name: str, safe: str) -> None:
    objects, sizes = requests(4_000, 400, seed=5)
    compare(name, safe, (objects, sizes), 30_000)
    compare(name, safe, (objects, np.ones_like(sizes)), 30)


@pytest.mark.parametrize("kind", TRACES)
def test_it_does_so_where_the_policy_fails(kind: str) -> None:
    assert compare("mru", "lru", changing(kind), 160) > 0
    compare("lfu", "s3-fifo", changing(kind), 160)


def phases(seed: int) -> Trace:
    """Popular objects and a working set that moves, by turns."""
    rng = np.random.default_rng(seed)
    popular = lambda n: rng.zipf(1.3, n) % 500  # noqa: E731
    moving = lambda n, at: at * 10_000 + np.arange(n) // 15 + rng.integers(0, 20, n)  # noqa: E731
    keys = [popular(2_000)]
    for turn in range(1, 5):
        keys += [moving(int(rng.integers(100, 1_500)), turn), popular(int(rng.integers(500, 4_000)))]
    objects = dense(np.concatenate(keys))
    return objects, np.ones(len(objects), np.int64)


@pytest.mark.parametrize("safe", ["lru", "fifo", "sieve"])
def test_it_does_so_where_the_policy_is_followed_again(safe: str) -> None:
    switches = [
        compare(name, safe, phases(seed), capacity)
        for seed, capacity in enumerate((10, 15, 20, 30, 40, 60, 80, 120))
        for name in ("lfu", "rich")
    ]
    assert sum(found >= 2 for found in switches) >= 4


def real_requests() -> tuple[Trace, int]:
    """A real trace, whose objects change their sizes, and a tenth of its footprint."""
    trace = load_trace(str(real_data("cache", "libcachesim") / "cloudPhysicsIO.vscsi"))
    columns = np.asarray(trace.objects), np.asarray(trace.sizes)
    first = np.unique(columns[0], return_index=True)[1]
    return columns, int(columns[1][first].sum()) // 10


@pytest.mark.parametrize("safe", ["lru", "s3-fifo"])
def test_it_does_so_on_a_real_trace(safe: str) -> None:
    columns, capacity = real_requests()
    assert compare("mru", safe, columns, capacity) > 0
    compare("gdsf", safe, columns, capacity)


# The example, a whole cache in C


_built = tempfile.TemporaryDirectory(prefix="guarded-example-")


@cache
def example(name: str, compiler: tuple[str, ...]) -> Path:
    folder = Path(_built.name) / f"{name}-{compiler[0]}"
    folder.mkdir()
    (folder / "guarded.h").write_text(header(name, "lru"))
    shutil.copy(EXAMPLE, folder)
    flags = ("-O2", "-ffp-contract=off", "-Wpedantic") if "++" not in compiler[0] else ("-O2", "-ffp-contract=off")
    command = [*compiler, *flags, EXAMPLE.name, "-o", "guarded_cache", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "guarded_cache"


def answers(name: str, compiler: tuple[str, ...], trace: Trace, capacity: int) -> tuple[Column, str]:
    lines = "".join(f"{key} {size}\n" for key, size in zip(trace[0].tolist(), trace[1].tolist(), strict=True))
    program = [str(example(name, compiler)), str(capacity)]
    done = subprocess.run(program, input=lines, capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), np.uint32), done.stderr


@pytest.mark.parametrize("name", ["mru", "lfu", "gdsf", slow("lru"), slow("fifo")])
@pytest.mark.parametrize("compiler", FOUND, ids=lambda compiler: compiler[0])
def test_the_example_answers_as_the_simulator(name: str, compiler: tuple[str, ...]) -> None:
    """On generated traces."""
    objects, sizes = requests(6_000, 600, seed=6)
    traces = [((objects, sizes), 40_000), ((objects, np.ones_like(sizes)), 40), (changing("change at 60 %"), 160)]
    for trace, capacity in traces:
        compare_example(name, compiler, trace, capacity)


def compare_example(name: str, compiler: tuple[str, ...], trace: Trace, capacity: int) -> None:
    expected, wanted = guarded(name, "lru", trace, capacity)
    outcome, told = answers(name, compiler, trace, capacity)
    assert (outcome == wanted).all()
    assert told.startswith(f"misses {expected.counts.misses}, ")
    assert f"switches {expected.switches}," in told


@cache
def in_python() -> ModuleType:
    (text,) = export_guarded(
        check(MRU, TASK), "python", Provenance("cache_eviction", "a.py", "", "", ""), "lru"
    ).values()
    return load(text)


def worst_requests(count: int, capacity: int) -> list[int]:
    """Requests of an adversary that sees the cache: keys that the safe policy holds and the cache lacks, or new ones.

    The newest of the safe policy's first, so that it loses few of them.
    """
    cache = in_python().Cache(capacity)
    found = []
    for number in range(count):
        lacking = [key for key in cache._policies[1] if key not in cache]
        found.append(lacking[-1] if lacking and number % 7 else number + 10 * count)
        cache.request(found[-1])
    return found


@pytest.mark.parametrize("capacity", [10, 40, 160])
def test_an_adversary_cannot_exceed_the_bound(capacity: int) -> None:
    """It can come near: over half of what is allowed is lost."""
    objects = dense(worst_requests(6_000, capacity))
    trace = objects, np.ones(len(objects), np.int64)
    outcome, told = answers("mru", FOUND[0], trace, capacity)
    safe, _ = history(SAFE_POLICIES["lru"].compiled(), trace, capacity)
    excess = np.cumsum((outcome & 1) - ((safe & 3) != 0).astype(float) - TOLERANCE)
    worst = (excess - np.minimum.accumulate(np.concatenate(([0.0], excess[:-1])))).max()
    assert 0.5 * ALLOWANCE * capacity < worst <= ALLOWANCE * capacity + 1e-6
    assert f"bound {TOLERANCE * len(objects) + ALLOWANCE * capacity:g}" in told


# The header


def test_a_guard_without_a_bound_is_not_begun() -> None:
    program = (
        '#include "guarded.h"\nint begin(double tolerance, double allowance)\n'
        "{ struct guard guard; return guard_init(&guard, 10, tolerance, allowance); }\n"
    )
    begin = library({"guarded.h": header("mru", "lru"), "begin.c": program}, "begin.c").begin
    begin.argtypes = [ctypes.c_double, ctypes.c_double]
    assert [begin(*given) for given in ((0.0, 0.0), (1.0, 2.5))] == [0, 0]
    bad = (float("nan"), 1.0), (-0.1, 1.0), (1.1, 1.0), (0.1, -1.0), (0.1, float("nan"))
    assert [begin(*given) for given in bad] == [-1] * 5
