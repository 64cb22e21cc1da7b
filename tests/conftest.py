"""What tests of several folders share: files that a test writes, and a cache directory of their own."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from console import Console
from effort import examples
from hypothesis import HealthCheck, settings
from locations import TASKS

from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.scoring import Executor, LocalExecutor, Setup
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.trust import trust

settings.register_profile(
    "vulcan",
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("vulcan")

RUNNING, DRIVEN = pytest.StashKey[RayRuntime](), pytest.StashKey[Any]()

# What is trusted is listed in a directory of the tests' own, with their packs: modules name tasks when collected
_CONFIGURATION = tempfile.TemporaryDirectory(prefix="vulcan-configuration-")
os.environ["XDG_CONFIG_HOME"] = _CONFIGURATION.name
for _pack in TASKS.glob("*/task.py"):
    trust("tasks", str(_pack.resolve()))

# Compiled kernels stay in the user's cache; what is decoded and measured is kept in one of the tests' own, which all
# workers share, for they inherit these variables
keep_compiled_kernels_in_cache()
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="vulcan-cache-")
    os.environ["VULCAN_CACHE_DIR"] = _CACHE.name

# No setting or key of the host's reaches a test; without bytecode, each of hundreds of processes would compile anew
for _name in (
    "OPENAI_API_KEY", "VULCAN_MODEL", "VULCAN_API_BASE", "VULCAN_RUNS_DIR", "RAY_ADDRESS", "PYTHONDONTWRITEBYTECODE",
):  # fmt: skip
    os.environ.pop(_name, None)
sys.dont_write_bytecode = False
os.environ["NO_PROXY"] = "127.0.0.1,localhost"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as where a shell runs the tests in its background: what tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are processors: a quarter of the time a worker waits for another process."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage among half a million objects of what is collected once, and not ever after: they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests of Ray first, so that one worker has them all, then the longest, and those that drive a browser last.

    Once a browser was driven, commands no longer run in the process of the tests (console.py).
    """

    def place(item: pytest.Item) -> tuple[bool, bool, bool]:
        return _drives_a_browser(item), not _uses_ray(item), not item.nodeid.startswith(LONG)

    items.sort(key=place)


LONG = (
    "tests/testing/test_built_in_tasks.py", "tests/evaluators/vulcan_link/linux/", "tests/docs/test_docs_commands.py",
    "tests/searches/test_search_recorded.py", "tests/docs/test_docs_site.py", "tests/reliability/test_failing_calls.py",
    "tests/evaluators/test_golden.py", "tests/fuzz/test_readers.py", "tests/doctor/test_weaker_hosts.py",
)  # fmt: skip
"""Tests of ten seconds and more: begun last, they would run when all others are done."""


@pytest.fixture(scope="session")
def racers() -> Iterator[Executor]:
    """Two jailed evaluators of the task of moods, with cheaper instances, few of them or a crowd."""
    from search_parts import CROWD, MOOD_TASK, evidence, racing

    with LocalExecutor(Setup(MOOD_TASK, evidence(racing(settings={"crowd": CROWD})).everything), 2) as executor:
        yield executor


_RAY, _BROWSER = ExitStack(), ExitStack()
"""Close the Ray that runs, and the browser."""


@pytest.fixture(scope="module")  # fixtures of a module may use it
def ray_runtime(pytestconfig: pytest.Config) -> RayRuntime:
    """One Ray for all tests that need a real one: it takes six seconds of processor time to start."""
    if RUNNING not in pytestconfig.stash:
        runtime = _RAY.enter_context(RayRuntime(workers=2))
        runtime.wait()
        pytestconfig.stash[RUNNING] = runtime
        _RAY.callback(pytestconfig.stash.__delitem__, RUNNING)
    return pytestconfig.stash[RUNNING]


def _uses_ray(item: pytest.Item | None) -> bool:
    return item is not None and item.get_closest_marker("ray") is not None


def _drives_a_browser(item: pytest.Item | None) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """After the last test that needs it, stop Ray, which takes processor time as long as it runs, and the browser.

    Playwright's event loop would be in the way of other tests'.
    """
    if not _uses_ray(nextitem):
        _RAY.close()
    if not _drives_a_browser(nextitem):
        _BROWSER.close()


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Any:
    """One browser for all tests that need one."""
    from chromium import chromium

    if DRIVEN not in pytestconfig.stash:
        pytestconfig.stash[DRIVEN] = _BROWSER.enter_context(chromium())
        _BROWSER.callback(pytestconfig.stash.__delitem__, DRIVEN)
    return pytestconfig.stash[DRIVEN]


@pytest.fixture
def vulcan(tmp_path: Path) -> Console:
    """The console script as a user runs it, in a directory of its own."""
    return Console(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """write(name, content) makes a file and returns its path."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
