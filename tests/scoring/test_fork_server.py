"""The fork server: a process for each candidate, what it may say and how long, and how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from locations import SUPPORT
from waiting import wait_for_end, wait_until

from vulcan.errors import UserError
from vulcan.scoring import program_server_client
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded, ServerLost
from vulcan.scoring.program_wire import MAX_MESSAGE
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.scoring.sandbox.lockdown import Defences
from vulcan.scoring.sandbox.processes import descendants, state

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these defences are Linux's")

RUNNER = """
import os

def run(channel):
    while (message := channel.receive()) is not None:
        scope = {"channel": channel}
        exec(message.decode(), scope)
        channel.send(repr(scope.get("result")).encode())
"""
LIMITS = Limits(memory_bytes=256 << 20, cpu_seconds=10)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("runner")
    (place / "says_what_it_is_told.py").write_text(RUNNER)
    (place / "does_not_load.py").write_text("import no_such_module\n")
    sys.path.insert(0, str(place))
    yield "says_what_it_is_told:run"
    sys.path.remove(str(place))


@pytest.fixture(scope="module")
def server(runner: str) -> Iterator[ForkServer]:
    with ForkServer(runner, LIMITS) as server:
        yield server


def outcome(server: ForkServer, code: str, seconds: float = 20.0) -> bytes | ProgramEnded:
    with server.open(seconds) as child:
        try:
            return child.ask(code.encode())
        except ProgramEnded as ended:
            return ended


@on_linux
def test_every_defence_holds_in_a_child(server: ForkServer) -> None:
    defences = server.start()
    assert defences.notes == ()
    assert defences.missing_for_free_programs == ()
    assert set(defences.namespaces) == {"user", "network", "ipc", "uts", "pid", "mount"}
    assert defences.empty_root and defences.unprivileged


def test_each_candidate_starts_from_the_same_state(server: ForkServer) -> None:
    with server.open(20.0) as child:
        assert child.ask(b"os = __import__('os'); os.mark = 1; result = os.mark") == b"1"
        assert child.ask(b"import os; result = os.mark") == b"1"
    assert outcome(server, "import os; result = hasattr(os, 'mark')") == b"False"


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("while True: pass", "timeout", "took too long by the clock, for a limit of 10 s"),
        ("import os; os._exit(3)", "crashed", "its process ended with exit code 3"),
        # the first process of a namespace is spared its own SIGABRT, and abort() then makes sure by other means
        ("import os; os.abort()", "crashed", "its process was killed by SIG"),
        ("x = bytearray(1 << 30)", "memory", "needs more than 256 MiB of memory"),
        ("1 / 0", "crashed", "its process ended with exit code 78"),
        ("raise SystemExit(0)", "crashed", "its process ended with exit code 78"),
        (
            "import os; os.close(channel.descriptor); [0 for _ in iter(int, 1)]",
            "crashed",
            "its process closed its channel",
        ),
        (f"channel.send(bytes({MAX_MESSAGE + 1}))", "crashed", f"answered with more than {MAX_MESSAGE} bytes"),
        ("channel.send(b'1'); channel.send(b'2')", "crashed", "its process"),
    ],
)
def test_how_a_child_ends(server: ForkServer, code: str, status: str, message: str) -> None:
    seconds = 0.5 if status == "timeout" else 20.0
    with server.open(seconds) as child, pytest.raises(ProgramEnded) as caught:
        for _ in range(3):
            child.ask(code.encode())
    assert caught.value.status == status
    assert message in caught.value.message
    assert child.end() is caught.value or child.end() == caught.value
    assert outcome(server, "result = 1") == b"1"


def test_processor_time_is_limited_whatever_signals_it_ignores(runner: str) -> None:
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    with ForkServer(runner, Limits(memory_bytes=256 << 20, cpu_seconds=1)) as server:
        ended = outcome(server, code, seconds=300.0)
    assert isinstance(ended, ProgramEnded)
    assert (ended.status, ended.message) == ("timeout", "took more than 1 s of processor time")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("while True: pass", "took more than 1.5 s of processor time"),
        ("channel.receive()", "took too long by the clock, for a limit of 1.5 s"),
    ],
)
def test_one_that_computes_ends_by_its_processor_time_and_one_that_waits_by_the_clock(
    server: ForkServer, code: str, message: str
) -> None:
    before = server.used
    with server.open(2.0 if "receive" in code else 300.0, 1.5, 1.5) as child, pytest.raises(ProgramEnded) as caught:
        child.ask(code.encode())
    assert (caught.value.status, caught.value.message) == ("timeout", message)
    assert server.used == before + caught.value.seconds
    assert caught.value.seconds < 1 if "receive" in code else 2 <= caught.value.seconds < 5


def test_time_in_which_it_does_not_run_is_none_of_its_processor_time(server: ForkServer) -> None:
    with server.open(300.0, 1.0) as child:
        assert child.ask(b"import time\nwhile time.process_time() < 0.5: pass\nresult = 1") == b"1"
        wait_until(lambda: False, 2.5)
        assert child.ask(b"result = 2") == b"2"


def test_the_clock_runs_while_nobody_asks(server: ForkServer) -> None:
    with server.open(0.2) as child:
        child.ask(b"result = 1")
        wait_until(lambda: False, 0.3)
        with pytest.raises(ProgramEnded, match="took too long"):
            child.ask(b"result = 1")


@on_linux
@pytest.mark.parametrize("without", [(), (Layer.PROCESS_NAMESPACE,)], ids=["namespace", "no namespace"])
def test_a_childs_own_children_die_with_it_also_those_that_have_left_its_group(
    runner: str, without: tuple[Layer, ...]
) -> None:
    code = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.pause()
    signal.pause()
result = 1
"""
    layers = Layers.without(Layer.SECCOMP, Layer.PROCESSES, *without)
    with ForkServer(runner, LIMITS, layers=layers) as server:
        server.start()
        assert server.pid is not None
        before = set(descendants(server.pid))
        with server.open(60.0) as child:
            child.ask(code.encode())
            assert wait_until(lambda: len(set(descendants(server.pid)) - before) >= 3)
            started = set(descendants(server.pid)) - before
        assert wait_for_end(started)


@on_linux
def test_a_server_that_is_killed_is_no_fault_of_the_candidates_and_takes_all_along(runner: str) -> None:
    server = ForkServer(runner, LIMITS)
    server.start()
    assert server.pid is not None
    child = server.open(60.0)
    processes = [server.pid, *descendants(server.pid)]
    assert len(processes) == 4  # one that waits for the namespace, the server, its template, and the child
    os.kill(server.pid, signal.SIGKILL)
    assert wait_for_end(processes)
    with pytest.raises(ServerLost):
        child.ask(b"result = 1")
    server.close()
    assert outcome(server, "result = 1") == b"1"
    server.close()


def test_a_host_without_seccomp_does_not_run_free_python_unless_it_is_told_to(
    runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = Defences(parent_death_signal=True, limits=("RLIMIT_AS", "RLIMIT_CPU"), notes=("seccomp: not here",))
    monkeypatch.setattr(program_server_client.Defences, "from_json", lambda plain: weak)
    with pytest.raises(UserError, match=r"this host lacks: no new privileges, seccomp .*--allow-unsandboxed"):
        ForkServer(runner, LIMITS).start()
    with ForkServer(runner, LIMITS, allow_unsandboxed=True) as server:
        assert outcome(server, "result = 1") == b"1"


def test_the_server_imports_no_numpy_and_starts_no_thread(runner: str) -> None:
    with ForkServer(runner, LIMITS) as server:
        server.start()
        heavy = outcome(server, "import sys; result = sorted({'numpy', 'numba', 'ray', 'llvmlite'} & set(sys.modules))")
        if sys.platform == "linux":
            assert all(
                len(list(Path(f"/proc/{pid}/task").iterdir())) == 1 for pid in (server.pid, *descendants(server.pid))
            )
    assert heavy == b"[]"


KEEPER = """
import sys
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Job, Setup
from vulcan.evaluator import Instance
from scoring_toys import MIN, TOY_TASK
kinds = {"helper": {"prepare": "helper"}, "spin": {"kind": "spin"}}
instances = tuple(Instance(name, "train", kind) for name, kind in kinds.items())
evaluator = JailedEvaluator(Setup(TOY_TASK, instances))
evaluator.start()
print(evaluator.pid, flush=True)
evaluator.run(Job(1, MIN, instances[1:], 600.0))
"""


@on_linux
def test_a_busy_evaluator_and_its_helpers_die_with_its_keeper() -> None:
    with subprocess.Popen([sys.executable, "-c", KEEPER], cwd=SUPPORT, stdout=subprocess.PIPE, text=True) as keeper:
        evaluator = int(keeper.stdout.readline())
        processes = [evaluator, *descendants(evaluator)]
        assert len(processes) == 3  # the evaluator, its helper, and who watches over that
        assert wait_until(lambda: state(evaluator) == "R")
        keeper.kill()
    assert wait_for_end(processes)


def test_a_runner_that_does_not_load_is_a_users_error(runner: str) -> None:
    with pytest.raises(UserError, match=r"'does_not_load:run': it does not load: ModuleNotFoundError"):
        ForkServer("does_not_load:run").start()
    with pytest.raises(UserError, match="it does not load: AttributeError"):
        ForkServer(runner.replace(":run", ":gone")).start()
