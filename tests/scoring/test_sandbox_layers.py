"""A host without a layer of the jail is reported, not refused; tests/doctor shows that each stops things alone."""

import errno
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")

PREAMBLE = """
import json, os, sys
from vulcan.scoring.sandbox import linux, lockdown
from vulcan.scoring.job import Limits
from vulcan.scoring.sandbox.seccomp_allowlist import this_architecture

def error_of(step):
    try:
        step()
    except OSError as error:
        return error.errno
    return 0
"""


def outcome_of(code: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_a_kernel_without_landlock_or_seccomp_is_reported() -> None:
    code = """
def missing(*_, **__):
    raise OSError(38, "no such call")
linux.forbid_paths = linux.forbid_system_calls = missing
defences = lockdown.lock_down(Limits(), parent_death_signal=False)
print(json.dumps([defences.landlock, defences.seccomp, defences.notes, len(defences.limits)]))
"""
    notes = [
        "parent-death signal: not on this system",
        "Landlock: [Errno 38] no such call",
        "seccomp: [Errno 38] no such call",
    ]
    assert outcome_of(code) == [0, False, notes, 8]


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
