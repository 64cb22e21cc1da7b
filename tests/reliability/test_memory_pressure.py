"""Memory runs out: for a worker, a candidate's process and a search, by the kernel's own limits and kills."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from console import Console
from disturbed import SEARCH, Model, descendants, held, only_run

from vulcan.cli import main
from vulcan.doctor.attacks.attack import RUNNER
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded
from vulcan.scoring.sandbox.exit_causes import HOST_RAN_OUT
from vulcan.scoring.sandbox.processes import descendants as processes_of

ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """What a process takes up from when it is put in counts, what it has already does not."""

    def __init__(self, place: Path, limit: str) -> None:
        self._place = place
        self._limit = limit

    def allow(self, limit: int) -> None:
        """Bytes."""
        (self._place / self._limit).write_text(str(limit))

    def take(self, pid: int) -> None:
        (self._place / "cgroup.procs").write_text(str(pid))

    @property
    def kills(self) -> int:
        """How many of its processes the kernel has killed for want of memory."""
        for name in ("memory.events", "memory.oom_control"):
            if (self._place / name).is_file():
                found = re.search(r"^oom_kill (\d+)$", (self._place / name).read_text(), re.MULTILINE)
                return int(found[1]) if found else 0
        return 0


@contextmanager
def memory_group() -> Iterator[MemoryGroup]:
    """An empty group; the test is skipped where nobody may make one."""
    version_1 = (ROOT / "memory").is_dir()
    place = (ROOT / "memory" if version_1 else ROOT) / f"vulcan-test-{secrets.token_hex(4)}"
    limit = "memory.limit_in_bytes" if version_1 else "memory.max"
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not (place / limit).is_file():
            pytest.skip("the control groups here do not limit memory")
        yield MemoryGroup(place, limit)
    finally:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            for pid in (place / "cgroup.procs").read_text().split():
                os.kill(int(pid), 9)
            try:
                place.rmdir()
            except OSError:  # the last ones are still on their way out
                time.sleep(0.05)
            else:
                break


def scoring_children(search: int) -> list[int]:
    return [pid for pid, line in descendants(search) if "vulcan.scoring.evaluator_child" in line]


@pytest.mark.slow
def test_a_worker_that_the_kernel_kills_for_want_of_memory_is_replaced(vulcan: Console, calm: list[Any]) -> None:
    """No candidate is blamed for what the host has not got: the search ends as the undisturbed one."""
    model = Model(5)  # many are left to score
    with memory_group() as group, ChatServer(model) as server:
        group.allow(0)
        search = vulcan.start(*SEARCH, "--api-base", server.url)
        assert model.halted.wait(120)
        (child,) = scoring_children(search.pid)
        group.take(child)
        model.goes_on.set()
        _, errors = search.communicate(timeout=240)
        assert search.returncode == 0, errors
        assert group.kills >= 1
    assert held(only_run(vulcan)) == calm


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_a_candidates_process_that_the_kernel_kills_for_want_of_memory_is_told_from_one_that_crashes() -> None:
    """So that the job is run again, as it is where the evaluator itself is killed."""
    order = b'{"code": "kept = bytearray(50 << 20)", "given": {}}'
    with memory_group() as group, ForkServer(RUNNER) as server:
        group.allow(64 << 10)
        server.start()
        assert server.pid is not None
        with server.open(60.0) as child:
            assert b"it found nothing" in child.ask(order)
        with server.open(60.0) as child:
            group.take(processes_of(server.pid)[-1])
            with pytest.raises(ProgramEnded) as ended:
                child.ask(order)
        assert (ended.value.status, ended.value.message) == ("memory", HOST_RAN_OUT)
        assert group.kills >= 1


def test_a_thread_that_cannot_be_started_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(**_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(main, "app", start)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("vulcan: no thread could be started: ")
