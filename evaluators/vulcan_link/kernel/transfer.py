"""Bulk transfer over plain sockets: one process sends, one receives."""

from __future__ import annotations

import select
import socket
import struct
import time
from dataclasses import asdict, dataclass

from vulcan_link.kernel.namespace import RECEIVER_ADDRESS, SENDER_ADDRESS

PORT = 5001
FIRST_PORT = 6001
"""The sender's port of the first flow; of the others, those after it."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class SentFlow:
    """Flow as its sender's kernel saw it."""

    port: int
    algorithm: str
    retransmitted: int
    min_rtt_ms: float
    smoothed_rtt_ms: float


def listen() -> socket.socket:
    """Return the receiver's socket, ready for connections."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((RECEIVER_ADDRESS, PORT))
    listener.listen(64)
    listener.setblocking(False)
    return listener


def receive(listener: socket.socket, ends: int) -> dict[int, int]:
    """Receive until `ends` (ns of the monotonic clock). Returns the bytes by the sender's port."""
    received: dict[int, int] = {}
    ports: dict[int, int] = {}
    flows: dict[int, socket.socket] = {}
    buffer = bytearray(1 << 20)
    poller = select.epoll()
    poller.register(listener, select.EPOLLIN)
    while (left := ends - time.monotonic_ns()) > 0:
        for number, _ in poller.poll(left * 1e-9):
            if number == listener.fileno():
                flow, (_, port) = listener.accept()
                flow.setblocking(False)
                flows[flow.fileno()], ports[flow.fileno()], received[port] = flow, port, 0
                poller.register(flow, select.EPOLLIN)
                continue
            count = flows[number].recv_into(buffer)
            received[ports[number]] += count
            if not count:
                poller.unregister(number)
    return received


def send(algorithms: tuple[str, ...], begins: int, ends: int) -> list[SentFlow]:
    """Send one flow per algorithm between two times (ns of the monotonic clock). Raises OSError."""
    flows: dict[int, socket.socket] = {}
    poller = select.epoll()
    for algorithm in algorithms:
        flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        # At the end nothing is drained: the connection is cut
        flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flow.bind((SENDER_ADDRESS, FIRST_PORT + len(flows)))
        flow.setblocking(False)
        flows[flow.fileno()] = flow
    time.sleep(max(begins - time.monotonic_ns(), 0) * 1e-9)
    for number, flow in flows.items():
        flow.connect_ex((RECEIVER_ADDRESS, PORT))
        poller.register(number, select.EPOLLOUT)
    data = bytes(_CHUNK)
    while (left := ends - time.monotonic_ns()) > 0:
        for number, happened in poller.poll(left * 1e-9):
            if happened & (select.EPOLLERR | select.EPOLLHUP):
                error = flows[number].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                raise OSError(error, "the connection broke")
            try:
                flows[number].send(data)
            except BlockingIOError:
                continue
    return [_sent(flow) for flow in flows.values()]


def _sent(flow: socket.socket) -> SentFlow:
    name = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
    return SentFlow(flow.getsockname()[1], name, **asdict(tcp_info(flow)))


# TCP_INFO of a connection.

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
