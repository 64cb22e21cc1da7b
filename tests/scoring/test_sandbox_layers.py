"""Each layer of the jail stops things by itself, and a host without one of them is reported, not refused."""

import errno
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")

PREAMBLE = """
import errno, json, os, socket, sys
from vulcan.scoring.sandbox import linux, lockdown
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.scoring.job import Limits
from vulcan.scoring.sandbox.seccomp_allowlist import this_architecture

def error_of(step):
    try:
        step()
    except OSError as error:
        return error.errno
    return 0

def attempts():
    return [error_of(lambda: os.open("/etc/passwd", os.O_RDONLY)), error_of(lambda: os.stat("/etc/passwd")),
            error_of(socket.socket), error_of(lambda: os._exit(0) if os.fork() == 0 else os.wait())]
"""


def outcome_of(code: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_without_a_layer_everything_goes_through() -> None:
    assert outcome_of("print(attempts())") == [0, 0, 0, 0]


def test_landlock_alone_denies_files() -> None:
    code = "linux.forbid_new_privileges(); linux.forbid_paths(); print(attempts())"
    assert outcome_of(code) == [errno.EACCES, 0, 0, 0]


def test_seccomp_alone_denies_files_names_sockets_and_processes() -> None:
    code = "linux.forbid_new_privileges(); linux.forbid_system_calls(this_architecture()); print(attempts())"
    assert outcome_of(code) == [errno.EPERM] * 4


def test_limits_alone_deny_descriptors() -> None:
    code = """
lockdown.lock_down(Limits(), parent_death_signal=True, layers=Layers.only(Layer.OPEN_FILES))
print(attempts()[:3])
"""
    assert outcome_of(code) == [errno.EMFILE, 0, errno.EMFILE]


def test_a_kernel_without_landlock_or_seccomp_is_reported() -> None:
    code = """
def missing(*_, **__):
    raise OSError(38, "no such call")
linux.forbid_paths = linux.forbid_system_calls = missing
defences = lockdown.lock_down(Limits(), parent_death_signal=False)
print(json.dumps([defences.landlock, defences.seccomp, defences.complete, defences.notes, len(defences.limits)]))
"""
    notes = [
        "parent-death signal: not on this system",
        "Landlock: [Errno 38] no such call",
        "seccomp: [Errno 38] no such call",
    ]
    assert outcome_of(code) == [0, False, False, notes, 8]


def test_a_system_that_is_not_linux_is_reported() -> None:
    code = """
sys.platform = "darwin"
defences = lockdown.lock_down(Limits(), parent_death_signal=lockdown.die_with_parent())
print(json.dumps([defences.no_new_privileges, defences.seccomp, defences.notes]))
"""
    assert outcome_of(code) == [
        False,
        False,
        ["parent-death signal: not on this system", "no_new_privs, namespaces, Landlock, seccomp: not on darwin"],
    ]


def test_an_architecture_without_a_call_table_is_reported() -> None:
    code = """
lockdown.this_architecture = lambda: None
print(json.dumps(lockdown.lock_down(Limits(), parent_death_signal=True).notes))
"""
    assert outcome_of(code) == ["seccomp: no call table for this architecture"]


def test_seccomp_reaches_threads_that_were_there_before() -> None:
    code = """
import queue, threading
asked, answered = queue.Queue(), queue.Queue()
def work():
    asked.get()
    answered.put(error_of(lambda: os.open("/etc/passwd", os.O_RDONLY)))
threading.Thread(target=work).start()
linux.forbid_new_privileges()
linux.forbid_system_calls(this_architecture())
asked.put(None)
print(answered.get())
"""
    assert outcome_of(code) == errno.EPERM
