"""One Ray for all tests that need a real one."""

from collections.abc import Iterator

import pytest

from vulcan.scoring.ray_runtime import RayRuntime


@pytest.fixture(scope="session")
def ray_runtime() -> Iterator[RayRuntime]:
    with RayRuntime(workers=2) as runtime:
        runtime.wait()
        yield runtime
