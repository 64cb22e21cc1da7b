"""numba and the tuner are loaded without SciPy; numba can use it where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from locations import ROOT

PROGRAM = """
import sys
from vulcan.anvil.native import jit
jit.warm_up()
import vulcan_cache.kernels.queues, vulcan_cache.kernels.ranking
print(sum(name.startswith("scipy.linalg") for name in sys.modules))
"""
PRODUCT = """
import numba
import numpy as np

@numba.njit
def product(a, b):
    return np.dot(a, b)

print(product(np.eye(3), np.arange(9.0).reshape(3, 3))[2])
"""


def test_scipy_is_loaded_only_by_who_multiplies_matrices() -> None:
    multiplies = find_spec("scipy") is not None  # it is no dependency, but numba needs it for products of matrices
    program = PROGRAM + PRODUCT * multiplies
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["0", "[6. 7. 8.]"][: 1 + multiplies]


TUNED = """
import sys
from vulcan.imports import import_without
import_without("cmaes", hidden="scipy.stats").SepCMA
print("scipy.stats" in sys.modules)
"""


def test_the_tuner_is_loaded_without_scipys_distributions() -> None:
    run = subprocess.run([sys.executable, "-c", TUNED], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


KERNEL = """
from vulcan.kernel_support import kernel

@kernel("int64(int64)")
def run(x):
    return x
"""


def test_what_is_compiled_for_the_first_time_is_said_of_each_simulator(tmp_path: Path) -> None:
    def said(simulator: str) -> str:
        (tmp_path / simulator).mkdir(exist_ok=True)
        (tmp_path / simulator / "engine.py").write_text(KERNEL)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", f"import {simulator}.engine"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stderr

    assert [said(simulator).count(f"compiling kernels of {simulator}") for simulator in "aba"] == [1, 1, 0]


IMPORTED = "import vulcan.kernel_support as k, vulcan_traces.fingerprint.kernels.reuse; print(k.__file__)"


def test_a_wheel_finds_the_kernels_that_a_checkout_has_compiled(tmp_path: Path) -> None:
    wheel = tmp_path / "wheel"
    for package in (ROOT / "vulcan", *ROOT.glob("evaluators/vulcan_*"), *ROOT.glob("traces/vulcan_*")):
        shutil.copytree(package, wheel / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    said = []
    for place, path in ((ROOT, f"{ROOT}:{ROOT}/traces"), (wheel, str(wheel))):
        environment = {**kept, "VULCAN_CACHE_DIR": str(tmp_path), "PYTHONPATH": path}
        command = [sys.executable, "-c", IMPORTED]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert Path(done.stdout.strip()).is_relative_to(place)
        said.append(done.stderr.count("compiling kernels"))
    assert said == [1, 0]
