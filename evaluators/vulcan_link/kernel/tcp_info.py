"""What the kernel knows of a TCP connection."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

# The head of `struct tcp_info` (linux/tcp.h): eight bytes of flags, 24 counters of 32 bits, four of 64, and so on
_HEAD = struct.Struct("=8B24I4Q6I")
_RETRANSMITTED, _MIN_RTT, _SMOOTHED_RTT = 31, 39, 23


@dataclass(frozen=True, slots=True)
class TcpInfo:
    retransmitted: int  # segments
    min_rtt_ms: float
    smoothed_rtt_ms: float


def tcp_info(connection: socket.socket) -> TcpInfo:
    """`TCP_INFO` of a connection. Raises OSError."""
    fields = _HEAD.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _HEAD.size))
    return TcpInfo(fields[_RETRANSMITTED], fields[_MIN_RTT] / 1000, fields[_SMOOTHED_RTT] / 1000)
