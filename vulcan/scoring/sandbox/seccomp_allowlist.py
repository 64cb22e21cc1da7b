"""Seccomp allow-list of a locked-down child: system-call numbers by architecture.

A child that compiles (an evaluator, with LLVM) may make all the calls in `_X86_64` or `_AARCH64`; one that only runs
Python, those that are also in `_FOR_PLAIN_PYTHON`.

Sources: the Linux kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass

_X86_64 = {
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "pread64": 17,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "nanosleep": 35,
    "getpid": 39,
    "exit": 60,
    "gettimeofday": 96,
    "getrusage": 98,
    "sysinfo": 99,
    "times": 100,
    "sigaltstack": 131,
    "gettid": 186,
    "time": 201,
    "futex": 202,
    "sched_getaffinity": 204,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "clock_getres": 229,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "getcpu": 309,
    "getrandom": 318,
    "rseq": 334,
}

_AARCH64 = {
    "close": 57,
    "lseek": 62,
    "read": 63,
    "write": 64,
    "pread64": 67,
    "fstat": 80,
    "exit": 93,
    "exit_group": 94,
    "futex": 98,
    "nanosleep": 101,
    "clock_gettime": 113,
    "clock_getres": 114,
    "clock_nanosleep": 115,
    "sched_getaffinity": 123,
    "sched_yield": 124,
    "restart_syscall": 128,
    "sigaltstack": 132,
    "rt_sigaction": 134,
    "rt_sigprocmask": 135,
    "rt_sigreturn": 139,
    "times": 153,
    "getrusage": 165,
    "getcpu": 168,
    "gettimeofday": 169,
    "getpid": 172,
    "gettid": 178,
    "sysinfo": 179,
    "brk": 214,
    "munmap": 215,
    "mremap": 216,
    "mmap": 222,
    "mprotect": 226,
    "madvise": 233,
    "getrandom": 278,
    "rseq": 293,
}


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
