"""Ray's processes end with the process that started them; a lost head is noticed, and scoring goes on without it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from scoring_toys import Toy
from waiting import wait_for_end

from vulcan.scoring.ray_executor import RemoteEvaluator
from vulcan.scoring.ray_runtime import reach, signal_handler_kept

DRIVER = """
import os, signal, subprocess, sys
from vulcan.scoring.ray_runtime import ProcessGuard
mark = {"RAY_AUTH_TOKEN": "7" * 64}
raylet, later = [subprocess.Popen(["sleep", "60"], start_new_session=True, env=mark) for _ in range(2)]
guard = ProcessGuard(mark["RAY_AUTH_TOKEN"], sys.argv[1])
if sys.argv[2] != "starting":
    guard.watch([raylet.pid])
print(raylet.pid, later.pid, flush=True)
if sys.argv[2] == "killed":
    raylet.kill()
    raylet.wait()
    import time; time.sleep(0.5)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd is Linux's")
@pytest.mark.parametrize("ray", ["starting", "alive", "killed"])
def test_nothing_of_a_ray_outlives_a_killed_driver(ray: str, tmp_path: Path) -> None:
    session = tmp_path / "session_1"
    session.mkdir()
    command = [sys.executable, "-c", DRIVER, str(session), ray]
    driver = subprocess.run(command, capture_output=True, text=True, check=False)
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    assert wait_for_end(map(int, driver.stdout.split()))
    assert ("`vulcan resume` continues it" in driver.stderr) == (ray != "alive")
    assert not session.exists()


READ_ENVIRONMENTS = """
import os, sys
from pathlib import Path
from scoring_toys import Toy
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.scoring.sandbox.processes import descendants

toy = Toy("honest")
with RayRuntime(workers=1) as runtime, RayExecutor(toy.setup, 1, runtime) as executor:
    assert executor.submit(toy.job("honest")).result().status == "scored"
    for pid in descendants(os.getpid()):
        try:
            name, variables = (Path(f"/proc/{pid}/{file}").read_bytes() for file in ("comm", "environ"))
        except OSError:
            continue  # it has ended
        print(name.decode().strip(), *[v.split(b"=")[0].decode() for v in variables.split(b"\\0") if b"sk-home" in v])
"""


@pytest.mark.ray
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_process_of_a_search_on_ray_has_a_key_and_nothing_is_left() -> None:
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    variables = {"OPENAI_API_KEY": "sk-home-1", "ANY_OTHER": "sk-home-2", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as place:  # whose path is short enough for a socket's
        told = subprocess.run(
            [sys.executable, "-c", READ_ENVIRONMENTS],
            env={**os.environ, **variables, "TMPDIR": place},
            capture_output=True,
            text=True,
            check=False,
        )
        left = list(Path(place).iterdir())
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert {"gcs_server", "raylet"} <= set(lines) and any(line.startswith("ray::Scoring") for line in lines), lines
    assert [line for line in lines if "API_KEY" in line or "ANY_OTHER" in line] == []
    assert left == []


def test_an_address_at_which_nothing_listens_is_told_at_once() -> None:
    began = time.monotonic()
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1"):
        with pytest.raises(OSError):
            reach(address)
    assert time.monotonic() - began < 20
    reach("auto")


def test_a_signals_handler_outlives_a_library_that_sets_its_own() -> None:
    received = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))

    def load() -> None:
        with signal_handler_kept(signal.SIGTERM):
            libc = ctypes.CDLL(None)
            libc.signal.restype = ctypes.c_void_p
            libc.signal(int(signal.SIGTERM), ctypes.c_void_p(1))  # which is to ignore it

    try:
        thread = threading.Thread(target=load)
        thread.start()
        thread.join()
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]


def remote(toy: Toy, joined: str | None) -> RemoteEvaluator:
    """A proxy whose Ray is lost."""
    runtime = SimpleNamespace(lost=threading.Event(), joined=joined)
    runtime.lost.set()
    return RemoteEvaluator(None, None, toy.setup, runtime)  # type: ignore[arg-type]


def test_without_its_ray_a_worker_scores_in_a_child_of_this_process() -> None:
    toy = Toy("honest")
    worker = remote(toy, None)
    request = toy.setup.request(toy.job("honest"))
    try:
        assert [outcome.status for outcome in worker.serve_all([request])] == ["scored"]
    finally:
        worker.interrupt()
        worker.close()
