"""Linux defences by raw system calls: no_new_privs, parent-death signal, Landlock, seccomp, namespaces.

Each function raises OSError if the kernel refuses, as it does for namespaces under Docker's default profile and on
some distributions. Namespaces need no privileges where the host allows that. Documented in prctl(2), capabilities(7),
landlock(7), seccomp(2), namespaces(7), user_namespaces(7), pid_namespaces(7) and mount(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

from vulcan.scoring.sandbox.seccomp_allowlist import Architecture

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CAPABILITY_VERSION_3 = 0x2008_0522

LANDLOCK_CREATE_RULESET = 444
LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_CREATE_RULESET_VERSION = 1
# The rights of each ABI: LANDLOCK_ACCESS_FS_*, _NET_* and LANDLOCK_SCOPE_* of linux/landlock.h
FILE_RIGHTS_OF_ABI_1 = (1 << 13) - 1
FILE_REFER, FILE_REFER_ABI = 1 << 13, 2
FILE_TRUNCATE, FILE_TRUNCATE_ABI = 1 << 14, 3
FILE_IOCTL, FILE_IOCTL_ABI = 1 << 15, 5
TCP_BIND_AND_CONNECT, TCP_ABI = 0b11, 4
ABSTRACT_SOCKETS_AND_SIGNALS, SCOPE_ABI = 0b11, 6

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
KILL_PROCESS = 0x8000_0000
DENY_WITH_EPERM = 0x0005_0000 | 1
ALLOW = 0x7FFF_0000

# Classic BPF: the operations used, and offsets into struct seccomp_data
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
CALL_NUMBER, CALL_ARCHITECTURE, FIRST_ARGUMENT, THIRD_ARGUMENT = 0, 4, 16, 32

Instruction = tuple[int, int, int, int]
"""Operation, instructions to skip if true, instructions to skip if false, and operand."""


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def _system_call(number: int, *arguments: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends.

    The signal is sent with the rights of the dying thread: if it may not signal this process, none is sent.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the reaper of its orphaned descendants, so that it can find all of them."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def allow_own_proc_files(allowed: bool) -> None:
    """Set whether this process, having changed its user, may write /proc/self and be traced by others of that user."""
    _prctl(PR_SET_DUMPABLE, int(allowed))


def forbid_new_privileges() -> None:
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drop every capability, in the current user namespace."""
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    nothing = bytes(2 * struct.calcsize("=3I"))
    _checked(_libc.capset(header, nothing), "capset")


def forbid_paths() -> int:
    """Deny all paths, TCP ports, signals to outside and abstract sockets, as far as the kernel's Landlock can.

    Return the ABI version of Landlock. Needs `forbid_new_privileges` first.
    """
    version = ctypes.c_uint32(LANDLOCK_CREATE_RULESET_VERSION)
    abi = _checked(_system_call(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), version), "Landlock")
    rules = _landlock_attributes(abi)
    no_flags = ctypes.c_uint32(0)
    ruleset = _checked(
        _system_call(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), no_flags), "Landlock rules"
    )
    try:
        _checked(_system_call(LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), no_flags), "Landlock restriction")
    finally:
        os.close(ruleset)
    return abi


def _landlock_attributes(abi: int) -> bytes:
    """Build struct landlock_ruleset_attr in the size of this ABI, with every right it can handle."""
    files = FILE_RIGHTS_OF_ABI_1
    for right, since in (
        (FILE_REFER, FILE_REFER_ABI),
        (FILE_TRUNCATE, FILE_TRUNCATE_ABI),
        (FILE_IOCTL, FILE_IOCTL_ABI),
    ):
        if abi >= since:
            files |= right
    fields = [files]
    if abi >= TCP_ABI:
        fields.append(TCP_BIND_AND_CONNECT)
    if abi >= SCOPE_ABI:
        fields.append(ABSTRACT_SOCKETS_AND_SIGNALS)
    return struct.pack(f"={len(fields)}Q", *fields)


def forbid_system_calls(architecture: Architecture, *, compiling: bool = True) -> None:
    """Deny all but the allowed system calls with EPERM, in every thread; a foreign call table kills the process.

    With `compiling`, memory may still be made executable; without, only the calls that plain Python needs are allowed.
    `abort` and `raise` may signal the process itself, so that a crash is reported as such. Needs
    `forbid_new_privileges` first.
    """
    instructions = list(_filter(architecture, compiling))
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(instructions), ctypes.addressof(buffer))
    mode, flags = ctypes.c_uint(SECCOMP_SET_MODE_FILTER), ctypes.c_uint(SECCOMP_FILTER_FLAG_TSYNC)
    _checked(_system_call(architecture.seccomp, mode, flags, ctypes.byref(program)), "seccomp")


def _filter(architecture: Architecture, compiling: bool) -> Iterator[Instruction]:
    def statement(operation: int, operand: int) -> Instruction:
        return operation, 0, 0, operand

    def unless_equal_skip_next(operand: int) -> Instruction:
        return JUMP_IF_EQUAL, 0, 1, operand

    yield statement(LOAD, CALL_ARCHITECTURE)
    yield JUMP_IF_EQUAL, 1, 0, architecture.audit
    yield statement(RETURN, KILL_PROCESS)
    yield statement(LOAD, CALL_NUMBER)
    if architecture.foreign_from is not None:
        yield JUMP_IF_AT_LEAST, 0, 1, architecture.foreign_from
        yield statement(RETURN, KILL_PROCESS)
    allowed = architecture.allowed if compiling else architecture.allowed_to_plain_python
    for name, number in allowed.items():
        if name in ("mmap", "mprotect") and not compiling:
            yield JUMP_IF_EQUAL, 0, 4, number
            yield statement(LOAD, THIRD_ARGUMENT)  # the low half: both architectures are little-endian
            yield JUMP_IF_ANY_BIT, 0, 1, mmap.PROT_EXEC
            yield statement(RETURN, DENY_WITH_EPERM)
            yield statement(RETURN, ALLOW)
        else:
            yield unless_equal_skip_next(number)
            yield statement(RETURN, ALLOW)
    yield JUMP_IF_EQUAL, 1, 0, architecture.tgkill
    yield statement(RETURN, DENY_WITH_EPERM)
    yield statement(LOAD, FIRST_ARGUMENT)
    yield unless_equal_skip_next(os.getpid())
    yield statement(RETURN, ALLOW)
    yield statement(RETURN, DENY_WITH_EPERM)


NEW_MOUNTS = 0x0002_0000
NEW_NAMES = 0x0400_0000  # host and domain name (UTS)
NEW_MESSAGES = 0x0800_0000  # System V and POSIX message queues, shared memory (IPC)
NEW_USERS = 0x1000_0000
NEW_PROCESSES = 0x2000_0000
NEW_NETWORK = 0x4000_0000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8

NOBODY = 65534
"""The unprivileged user and group of every Linux."""

_MOUNT_POINTS = ("/sys", "/mnt", "/tmp")


def become_nobody() -> None:
    """Drop root if this process has it; the process limit, for example, does not apply to root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def unshare(kinds: int) -> None:
    """Move to new, empty namespaces of these kinds. A new user namespace requires a single thread."""
    _checked(_libc.unshare(ctypes.c_int(kinds)), "unshare")


def enter_new_users(kinds: int) -> None:
    """Enter a new user namespace that maps only this process's user and group, with every capability.

    `kinds` are further namespaces to create in it.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USERS | kinds)
    # bytes: text needs a codec, whose module this process may no longer be able to read
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))


def mount_empty_directory() -> str:
    """Mount an empty, read-only file system in this mount namespace, and return its path."""
    mount_point = next(path for path in _MOUNT_POINTS if os.path.isdir(path))
    flags = ctypes.c_ulong(MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _checked(_libc.mount(b"none", mount_point.encode(), b"tmpfs", flags, b"size=4k,nr_inodes=2,mode=555"), "mount")
    return mount_point


def change_root(path: str) -> None:
    """Make a directory the root and the working directory of this process."""
    os.chroot(path)
    os.chdir("/")


class ProcessNamespaces:
    """A source of process namespaces, one per child: the child is process 1, and all others in it die with it.

    Create it while this process has every capability over its own process namespace.
    """

    def __init__(self) -> None:
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def for_next_child(self) -> None:
        unshare(NEW_PROCESSES)

    def restore(self) -> None:
        _checked(_libc.setns(ctypes.c_int(self._own), ctypes.c_int(NEW_PROCESSES)), "setns")
