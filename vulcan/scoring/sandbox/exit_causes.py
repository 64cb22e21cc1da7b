"""Interpretation of a child's exit code as the outcome of its job."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from vulcan.scoring.job import Limits, Status

# Messages that libstdc++, LLVM, glibc and CPython print when they run out of memory
_OUT_OF_MEMORY = re.compile(r"out of memory|bad_alloc|cannot allocate memory|MemoryError", re.IGNORECASE)

HOST_RAN_OUT = "killed by the kernel, for the host ran out of memory"


def out_of_memory(limits: Limits) -> str:
    return f"needs more than {limits.memory_bytes >> 20} MiB of memory"


def describe(return_code: int) -> str:
    """Describe how a process ended, from its `Popen.returncode`."""
    if return_code >= 0:
        return f"its process ended with exit code {return_code}"
    return f"its process was killed by {_signal_name(-return_code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def may_be_external(return_code: int) -> bool:
    """Check whether the death may have an external cause: no process sends itself these signals.

    SIGBUS is caused by a trace that was truncated while mapped; no policy accesses a trace itself.
    """
    return return_code in (-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGBUS)


def is_external(return_code: int) -> bool:
    """Check whether the death certainly has an external cause."""
    return return_code == -signal.SIGBUS


def classify_exit(return_code: int, errors: str, host_ran_out: bool, limits: Limits) -> tuple[Status, str]:
    """Return the status and message of a job during which the child died, after printing `errors`.

    `host_ran_out` is True if the kernel's OOM killer killed any process during the child's life.
    """
    if _OUT_OF_MEMORY.search(errors):
        return "memory", out_of_memory(limits)
    if return_code == -signal.SIGKILL and host_ran_out:
        return "memory", HOST_RAN_OUT
    if return_code == -signal.SIGXCPU:
        return "timeout", f"took more than {limits.cpu_seconds} s of processor time"
    return "crashed", describe(return_code)


def kernel_kills() -> int:
    """Return the number of processes ever killed by the kernel's OOM killer; 0 where it is not reported."""
    counters = Path("/proc/vmstat")
    if not counters.exists():
        return 0
    # bytes: the fork server can no longer load a codec
    found = re.search(rb"^oom_kill (\d+)$", counters.read_bytes(), re.MULTILINE)
    return int(found.group(1)) if found else 0
