"""Commands of `vulcan`, each in a fork of one process that has loaded what they need: `python forked_commands.py`.

Scoring is done in the fork itself, because the programs of tests are known to be harmless. With `failing_calls.c`
preloaded, the n-th call on a file below a directory fails, or kills the command.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vulcan.scoring import Job, Outcome, Setup
from vulcan.scoring.evaluator_child import EvaluatorWorker

HERE = Path(__file__).resolve().parent

SHIM = "VULCAN_FAILING_CALLS"
KILL = -1
CLOSED = "closed"
"""In place of a stream's path: the command begins without that stream."""

MOOD = str(HERE / "tasks" / "mood_task")


@dataclass(frozen=True)
class Order:
    """A command, where it runs, and what happens to it; streams are paths, and by default none is read or full."""

    words: Sequence[str]
    directory: str = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str = os.devnull
    stdout: str = ""
    below: str = ""
    nth: int = 0
    error: int = 0
    lasting: bool = False
    seconds: float = 120.0


@dataclass(frozen=True)
class Ended:
    """How a command ended (None: it did not), its calls on files, what it said, and the bytes of memory it took."""

    code: int | None
    calls: int
    said: str
    peak: int


class Commands:
    """The process that forks one for each command."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *words: str | Path, **how: Any) -> Ended:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(Order(list(map(str, words)), **how))) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))


@contextmanager
def commands(*warm_up: str, shim: Path | None = None) -> Iterator[Commands]:
    """Start the process, which runs the words of one command to load what others need."""
    from vulcan.paths import keep_compiled_kernels_in_cache

    keep_compiled_kernels_in_cache()
    preloaded = {} if shim is None else {"LD_PRELOAD": str(shim), SHIM: str(shim)}
    with subprocess.Popen(
        [sys.executable, __file__, *warm_up], env={**os.environ, **preloaded}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield Commands(process)
        assert process.stdin is not None
        process.stdin.close()


def compiled_shim(place: Path) -> Path:
    """Compile the calls that fail."""
    shim = place / "failing_calls.so"
    source = HERE / "failing_calls.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    return shim


class Plain:
    """An executor in this process, without a jail: the programs of the search are known to be harmless."""

    name, workers = "plain", 3

    def __init__(self, setup: Setup) -> None:
        self._setup, self._worker = setup, EvaluatorWorker(setup)

    def submit(self, job: Job) -> Future[Outcome]:
        request = self._setup.request(job)
        reply = self._worker.serve(
            {
                "ticket": "",
                "source": job.source,
                "instances": request.instances,
                "probe": job.probe,
                "explain": False,
                "limit": job.limit,
            }
        )
        metrics = tuple((i.name, m) for i, m in zip(job.instances, reply["metrics"], strict=False))
        future: Future[Outcome] = Future()
        future.set_result(Outcome(job.id, reply["status"], metrics, reply["message"], 0.0, reply.get("signature")))
        return future

    def close(self) -> None:
        pass


def _load(warm_up: Sequence[str]) -> None:
    from vulcan.searches import session

    session.LocalExecutor = lambda setup, _workers, **_: nullcontext(Plain(setup))  # type: ignore[assignment,misc]
    with tempfile.TemporaryDirectory() as place, open(os.devnull, "w") as nothing:
        printed, sys.stdout = sys.stdout, nothing
        _command([*warm_up, "--runs-dir", place])
        sys.stdout = printed


def _command(words: Sequence[str]) -> int:
    from vulcan.cli.main import run

    sys.argv = ["vulcan", *words]
    try:
        run()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _forked(shim: ctypes.CDLL | None, order: Order) -> Ended:
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as counted:
        if (child := os.fork()) == 0:
            code = 70
            try:
                _redirect(order, said.fileno())
                os.chdir(order.directory)
                os.environ.update(order.environment)
                if shim is not None:
                    shim.arm(order.below.encode(), ctypes.c_long(order.nth), order.error, int(order.lasting))
                code = _command(order.words)
                if sys.stdout is not None:
                    sys.stdout.flush()
            finally:
                calls = 0 if shim is None else shim.disarm()
                if sys.exc_info()[0] is not None:
                    os.dup2(said.fileno(), 2)
                    sys.stderr = os.fdopen(2, "w", closefd=False)
                    traceback.print_exc()
                counted.write(str(calls))
                counted.flush()
                if sys.stderr is not None:
                    sys.stderr.flush()
                os._exit(code)
        status, peak = _awaited(child, order.seconds)
        said.seek(0)
        counted.seek(0)
        return Ended(status, int(counted.read() or 0), said.read(), peak)


def _redirect(order: Order, said: int) -> None:
    """Have the standard streams be as the order says, and Python's own objects as it would find them at its start."""
    for number, path in ((0, order.stdin), (1, order.stdout)):
        if path == CLOSED:
            os.close(number)
        elif path:
            os.dup2(os.open(path, os.O_RDWR if number else os.O_RDONLY), number)
        else:
            os.dup2(said, number)
    os.dup2(said, 2)
    sys.stdin = None if order.stdin == CLOSED else os.fdopen(0, closefd=False)
    sys.stdout = None if order.stdout == CLOSED else os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)


def _awaited(child: int, seconds: float) -> tuple[int | None, int]:
    """Return the exit status of a process, None where it had to be killed, and how much memory it took."""
    with open(os.pidfd_open(child), closefd=True) as alive:
        ended = bool(select.select([alive], [], [], seconds)[0])
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None, used.ru_maxrss << 10


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    shim = None
    if SHIM in os.environ:
        del os.environ["LD_PRELOAD"]
        shim = ctypes.CDLL(os.environ.pop(SHIM))
        shim.disarm.restype = ctypes.c_long
    _load(sys.argv[1:])
    gc.freeze()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    for line in sys.stdin:
        answers.write(json.dumps(asdict(_forked(shim, Order(**json.loads(line))))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
