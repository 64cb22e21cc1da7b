"""What tests of several folders share: real data, files that a test writes, and a cache directory of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from effort import examples
from hypothesis import settings
from real_data import real_data

from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.scoring.ray_executor import RayRuntime

settings.register_profile("vulcan", max_examples=examples(100))
settings.load_profile("vulcan")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as where a shell runs the tests in its background: what tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are processors: a quarter of the time a worker waits for another process."""
    return (os.cpu_count() or 1) + 1


LAST = ("ray_runtime", "browser")
"""Fixtures whose tests come last, as what they start stays.

Ray takes processor time until the session ends, and once a browser was driven, commands no longer run in the process of
the tests (console.py).
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [name in getattr(item, "fixturenames", ()) for name in reversed(LAST)])


@pytest.fixture(scope="session")
def cache_traces() -> Path:
    """The folder of real cache traces."""
    return real_data("cache")


@pytest.fixture(scope="session")
def links() -> Path:
    """The folder of real link traces."""
    return real_data("cc")


@pytest.fixture(scope="session")
def page_counts() -> Path:
    """The folder of recorded page counts."""
    return real_data("mem", "pagecounts")


@pytest.fixture(scope="session")
def spot_traces() -> Path:
    """The folder of public spot traces."""
    return real_data("spot")


@pytest.fixture(scope="session")
def cache_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What is decoded is kept in a directory of the tests' own; compiled kernels stay in the user's."""
    keep_compiled_kernels_in_cache()
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("vulcan-cache")
        patch.setenv("VULCAN_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def ray_runtime(cache_of_tests: Path) -> Iterator[RayRuntime]:
    """One Ray for all tests of a process that need a real one: it takes six seconds of processor time to start."""
    with RayRuntime(workers=2) as runtime:
        runtime.wait()
        yield runtime


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """write(name, content) makes a file and returns its path."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
