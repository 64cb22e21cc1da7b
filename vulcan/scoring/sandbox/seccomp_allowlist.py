"""Seccomp allow-list of a locked-down child: system-call numbers by architecture.

A child that compiles (an evaluator, with LLVM) may make all the calls in `_X86_64` or `_AARCH64`; one that only runs
Python, those that are also in `_FOR_PLAIN_PYTHON`.

Sources: the Linux kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass

_CALLS: dict[str, tuple[int, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}
"""Numbers on x86-64 and on arm64, where there is one."""

_X86_64 = {name: number for name, (number, _) in _CALLS.items()}
_AARCH64 = {name: number for name, (_, number) in _CALLS.items() if number is not None}

_FOR_PLAIN_PYTHON = (
    *("read", "write", "close", "fstat"),
    *("mmap", "mprotect", "munmap", "mremap", "brk", "madvise"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall"),
    *("futex", "sched_yield", "rseq", "getcpu", "getpid", "gettid", "exit", "exit_group"),
    *("gettimeofday", "time", "clock_gettime", "clock_getres", "times", "getrusage", "getrandom"),
)
"""System calls of plain Python, most used first, the order in which the filter tests them. No sleep calls."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """System-call numbers of an architecture.

    `audit` is AUDIT_ARCH_* of linux/audit.h; `seccomp` and `tgkill` are the numbers of those calls; `foreign_from` is
    the first number of a second call table (x32), or None.
    """

    audit: int
    allowed: Mapping[str, int]
    seccomp: int
    tgkill: int
    foreign_from: int | None = None

    @property
    def allowed_to_plain_python(self) -> Mapping[str, int]:
        return {name: self.allowed[name] for name in _FOR_PLAIN_PYTHON if name in self.allowed}


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, _X86_64, seccomp=317, tgkill=234, foreign_from=0x4000_0000),
    "aarch64": Architecture(0xC00000B7, _AARCH64, seccomp=277, tgkill=131),
}


def this_architecture() -> Architecture | None:
    """Return the table of this host's architecture; None if there is none."""
    return ARCHITECTURES.get(platform.machine())
