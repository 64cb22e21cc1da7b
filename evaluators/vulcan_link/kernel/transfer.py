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
REVERSE_PORT = 7001
"""Of the flow that sends the other way."""
_CHUNK = 1 << 16
# After how many ns an application tries again what the socket did not take
_RETRY = 1_000_000


@dataclass(frozen=True, slots=True)
class SentFlow:
    """Flow as its sender's kernel saw it."""

    port: int
    algorithm: str
    retransmitted: int
    min_rtt_ms: float
    smoothed_rtt_ms: float


@dataclass(frozen=True, slots=True)
class Writes:
    """What the application of the first flows writes: bytes at a time, from the start on, and the ns between."""

    size: int
    interval: int
    flows: int


def listen(address: str = RECEIVER_ADDRESS) -> socket.socket:
    """Return a receiver's socket, ready for connections."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
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


def send(algorithms: tuple[str, ...], begins: int, ends: int, writes: Writes | None = None) -> list[SentFlow]:
    """Send one flow per algorithm between two times (ns of the monotonic clock). Raises OSError."""
    flows = [_socket(algorithm, (SENDER_ADDRESS, FIRST_PORT + number)) for number, algorithm in enumerate(algorithms)]
    _send_all(flows, (RECEIVER_ADDRESS, PORT), begins, ends, writes)
    return [_sent(flow) for flow in flows]


def send_the_other_way(algorithm: str, begins: int, ends: int) -> None:
    """Send one flow from the receiver's side to the sender's. Raises OSError."""
    _send_all([_socket(algorithm, (RECEIVER_ADDRESS, REVERSE_PORT))], (SENDER_ADDRESS, PORT), begins, ends, None)


def _socket(algorithm: str, address: tuple[str, int]) -> socket.socket:
    flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    # At the end nothing is drained: the connection is cut
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.bind(address)
    flow.setblocking(False)
    return flow


def _send_all(flows: list[socket.socket], to: tuple[str, int], begins: int, ends: int, writes: Writes | None) -> None:
    limited = [] if writes is None else flows[: writes.flows]
    written = [0] * len(limited)
    poller = select.epoll()
    time.sleep(max(begins - time.monotonic_ns(), 0) * 1e-9)
    by_number = {flow.fileno(): flow for flow in flows}
    for flow in flows:
        flow.connect_ex(to)
        poller.register(flow.fileno(), select.EPOLLERR | (0 if flow in limited else select.EPOLLOUT))
    data = bytes(_CHUNK)
    while (left := ends - (now := time.monotonic_ns())) > 0:
        if writes is not None:
            due = ((now - begins) // writes.interval + 1) * writes.size
            for place, flow in enumerate(limited):
                written[place] += _write(flow, due - written[place], data)
            behind = any(count < due for count in written)
            left = min(left, _RETRY if behind else writes.interval - (now - begins) % writes.interval)
        for number, happened in poller.poll(left * 1e-9):
            flow = by_number[number]
            if happened & (select.EPOLLERR | select.EPOLLHUP):
                raise OSError(flow.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "the connection broke")
            if happened & select.EPOLLOUT:
                _write(flow, _CHUNK, data)


def _write(flow: socket.socket, size: int, data: bytes) -> int:
    """Write what the socket takes of so many bytes. Returns how many it took."""
    taken = 0
    while taken < size:
        try:
            count = flow.send(data[: size - taken])
        except BlockingIOError:  # its buffer is full, or it is not connected yet
            break
        taken += count
    return taken


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
