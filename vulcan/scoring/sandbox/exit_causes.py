"""What a child's death tells of the job it was at."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from vulcan.scoring.job import Limits, Status

# What libstdc++, LLVM, glibc and CPython print as they give up
_OUT_OF_MEMORY = re.compile(r"out of memory|bad_alloc|cannot allocate memory|MemoryError", re.IGNORECASE)

HOST_RAN_OUT = "killed by the kernel, for the host ran out of memory"


def out_of_memory(limits: Limits) -> str:
    return f"needs more than {limits.memory_bytes >> 20} MiB of memory"


def describe(return_code: int) -> str:
    """How a process ended, from its `Popen.returncode`."""
    if return_code >= 0:
        return f"its process ended with exit code {return_code}"
    return f"its process was killed by {_signal_name(-return_code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def may_be_external(return_code: int) -> bool:
    """Whether the candidate may have had no part in the death: nobody sends itself these signals.

    SIGBUS comes of a trace that was cut off while it was mapped: no policy touches a trace itself.
    """
    return return_code in (-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGBUS)


def is_external(return_code: int) -> bool:
    """Whether the candidate has had no part in the death."""
    return return_code == -signal.SIGBUS


def classify_exit(return_code: int, errors: str, host_ran_out: bool, limits: Limits) -> tuple[Status, str]:
    """Status and message of a job at which the child died, after printing `errors`.

    `host_ran_out` says that the kernel has killed something for want of memory while the child lived.
    """
    if _OUT_OF_MEMORY.search(errors):
        return "memory", out_of_memory(limits)
    if return_code == -signal.SIGKILL and host_ran_out:
        return "memory", HOST_RAN_OUT
    if return_code == -signal.SIGXCPU:
        return "timeout", f"took more than {limits.cpu_seconds} s of processor time"
    return "crashed", describe(return_code)


def kernel_kills() -> int:
    """How many processes the kernel has ever killed for want of memory; 0 where it does not say."""
    counters = Path("/proc/vmstat")
    if not counters.exists():
        return 0
    # bytes: a server of forks cannot load a codec any more
    found = re.search(rb"^oom_kill (\d+)$", counters.read_bytes(), re.MULTILINE)
    return int(found.group(1)) if found else 0
