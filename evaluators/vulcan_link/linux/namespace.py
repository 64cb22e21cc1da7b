"""Private network namespaces, each with one end of the emulated link.

A namespace here has no name: it lives in the process that made it and ends with it, and so do its devices. Nothing is
left behind, however a run ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_SIOCSIFADDR, _SIOCSIFDSTADDR, _SIOCSIFFLAGS, _SIOCSIFMTU, _SIOCSIFTXQLEN = 0x8916, 0x8918, 0x8914, 0x8922, 0x8943
_IFF_UP, _IFF_RUNNING = 0x1, 0x40
TUN = Path("/dev/net/tun")
DEVICE = "link"
MTU = 1500
SENDER_ADDRESS, RECEIVER_ADDRESS = "10.77.0.1", "10.77.0.2"
# Devices hold what the emulator has not read yet; far more than any window in flight
_DEVICE_QUEUE = 10_000


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent ends, however that happens; interruptions are the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it had ended already


def enter_new_namespace() -> None:
    """Move this process into a new network namespace. Raises OSError."""
    _call("unshare", _CLONE_NEWNET)


def open_link_end(address: str, peer: str) -> int:
    """Open a TUN device of this namespace, routed to its peer, as a non-blocking descriptor. Raises OSError."""
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    _silence_ipv6()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _set(control, _SIOCSIFADDR, _address(address))
        _set(control, _SIOCSIFDSTADDR, _address(peer))
        _set(control, _SIOCSIFMTU, struct.pack("i", MTU))
        _set(control, _SIOCSIFTXQLEN, struct.pack("i", _DEVICE_QUEUE))
        _set(control, _SIOCSIFFLAGS, struct.pack("h", _IFF_UP | _IFF_RUNNING))
    # Each flow begins with what a fresh host knows, not with what the last flow to the same address learnt
    Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
    return device


def dropped_by_device() -> int:
    """Packets that the device of this namespace lost because the emulator did not read them in time."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == DEVICE:
            return int(counters.split()[11])
    return 0


def _silence_ipv6() -> None:
    switch = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if switch.exists():
        switch.write_text("1")


def _set(control: socket.socket, request: int, value: bytes) -> None:
    fcntl.ioctl(control, request, struct.pack("16s24s", DEVICE.encode(), value))


def _address(address: str) -> bytes:
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def _call(function: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
