"""Linux namespaces, without privileges where the host allows it, by raw system calls.

Documented in namespaces(7), user_namespaces(7), pid_namespaces(7) and mount(2). Each function raises OSError where the
kernel refuses, as Docker's default profile and some distributions have it do.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_MOUNTS = 0x0002_0000
NEW_NAMES = 0x0400_0000  # host and domain name (UTS)
NEW_MESSAGES = 0x0800_0000  # System V and POSIX message queues, shared memory (IPC)
NEW_USERS = 0x1000_0000
NEW_PROCESSES = 0x2000_0000
NEW_NETWORK = 0x4000_0000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8

NOBODY = 65534
"""User and group without rights, on every Linux."""

_MOUNT_POINTS = ("/sys", "/mnt", "/tmp")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def become_nobody() -> None:
    """Give up root, where this process has it: limits on processes, for one, do not bind root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def unshare(kinds: int) -> None:
    """Leave the namespaces of these kinds for new, empty ones. A new user namespace needs a single thread."""
    _check(_libc.unshare(ctypes.c_int(kinds)), "unshare")


def enter_new_users(kinds: int) -> None:
    """Enter a new user namespace in which this process is itself, has every capability, and nobody else exists.

    `kinds` are further namespaces to make in it.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USERS | kinds)
    # bytes, for a text needs a codec, which may lie where this process can no longer read
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))


def mount_nothing() -> str:
    """Mount an empty, read-only file system somewhere in this mount namespace. Returns where."""
    place = next(path for path in _MOUNT_POINTS if os.path.isdir(path))
    flags = ctypes.c_ulong(MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _check(_libc.mount(b"none", place.encode(), b"tmpfs", flags, b"size=4k,nr_inodes=2,mode=555"), "mount")
    return place


def live_in(place: str) -> None:
    """Make a directory the root of all this process can name."""
    os.chroot(place)
    os.chdir("/")


class ProcessNamespaces:
    """Gives each next child a process namespace of its own: the child is its process 1, and all in it die with it.

    To be made where this process has every capability over its own process namespace.
    """

    def __init__(self) -> None:
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def for_next_child(self) -> None:
        unshare(NEW_PROCESSES)

    def as_before(self) -> None:
        _check(_libc.setns(ctypes.c_int(self._own), ctypes.c_int(NEW_PROCESSES)), "setns")
