"""One Ray for the tests of scoring that need a real one; it ends with them, for others need to be without."""

from collections.abc import Iterator

import pytest

from vulcan.scoring.ray_executor import RayRuntime


@pytest.fixture(scope="package")
def ray_runtime() -> Iterator[RayRuntime]:
    with RayRuntime(workers=2) as runtime:
        runtime.wait()
        yield runtime
