"""Ray's processes end with the process that started them; a lost head is noticed, and scoring goes on without it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from scoring_toys import Toy

from vulcan.errors import UserError
from vulcan.scoring.ray_executor import RemoteEvaluator
from vulcan.scoring.ray_runtime import Head, ProcessGuard, reach, signal_handler_kept
from vulcan.scoring.sandbox.processes import is_alive

DRIVER = """
import os, signal, subprocess, sys
from vulcan.scoring.ray_runtime import ProcessGuard
agents = [subprocess.Popen(["sleep", "60"], start_new_session=True).pid for _ in range(2)]
guard = ProcessGuard({str(pid): pid for pid in agents})
print(*agents, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def ended(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def test_what_is_guarded_ends_with_a_killed_driver() -> None:
    driver = subprocess.run([sys.executable, "-c", DRIVER], capture_output=True, text=True, check=False)
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    assert ended([int(pid) for pid in driver.stdout.split()])


def test_a_guard_ends_when_it_is_closed() -> None:
    with subprocess.Popen(["sleep", "60"]) as agent:
        guard = ProcessGuard({"agent": agent.pid})
        assert guard._process is not None
        guard.close()
        assert guard._process.returncode == 0
        assert agent.wait(10) == -signal.SIGKILL


def test_a_head_that_accepts_no_connection_three_times_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        head = Head(f"127.0.0.1:{server.getsockname()[1]}")
        assert head.answers()
    assert [head.answers() for _ in range(3)] == [True, True, False]


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
    runtime = SimpleNamespace(lost=threading.Event(), abandoned=threading.Event(), joined=joined)
    runtime.lost.set()
    return RemoteEvaluator(None, None, toy.setup, runtime)  # type: ignore[arg-type]


def test_without_its_ray_a_worker_scores_in_a_child_of_this_process() -> None:
    toy = Toy("honest")
    worker = remote(toy, None)
    request = toy.setup.request(toy.job("honest"))
    try:
        assert [worker.serve(request).status, *(o.status for o in worker.serve_all([request]))] == ["scored"] * 2
    finally:
        worker.interrupt()
        worker.close()


def test_without_its_cluster_a_worker_says_how_to_go_on() -> None:
    toy = Toy("honest")
    with pytest.raises(UserError, match=r"the Ray cluster at head:6379 no longer answers: `vulcan resume`"):
        remote(toy, "head:6379").serve(toy.setup.request(toy.job("honest")))
