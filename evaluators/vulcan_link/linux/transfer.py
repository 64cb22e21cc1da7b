"""Bulk transfer over plain sockets: one process sends, one receives."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from vulcan_link.linux.namespace import RECEIVER_ADDRESS, SENDER_ADDRESS

PORT = 5001
FIRST_PORT = 6001
"""The sender's port of the first flow; of the others, those after it."""
_CHUNK = 1 << 16
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class SentFlow:
    """Flow as its sender's kernel saw it."""

    port: int
    algorithm: str
    retransmitted: int  # segments
    min_rtt_ms: float
    smoothed_rtt_ms: float


@dataclass(frozen=True, slots=True)
class Source:
    """What an application writes to a flow, which is opened for it: endless data from `begins` on, or `size` bytes then
    and after every `interval`; times in ns since the start."""

    begins: int = 0
    size: int = 0
    interval: int = _NEVER

    def due(self, now: int) -> int:
        """Return the bytes to be written by now."""
        if now < self.begins:
            return 0
        return ((now - self.begins) // self.interval + 1) * self.size if self.size else _NEVER

    def next(self, now: int) -> int:
        """Return when there is more to write."""
        if now < self.begins:
            return self.begins
        return self.begins + ((now - self.begins) // self.interval + 1) * self.interval


@dataclass(frozen=True, slots=True)
class Received:
    """What a receiver had of a flow: bytes, and when the latest of them came (ns since the start)."""

    size: int = 0
    latest: int = 0


def listen() -> socket.socket:
    """Return a receiver's socket, ready for connections."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((RECEIVER_ADDRESS, PORT))
    listener.listen(64)
    listener.setblocking(False)
    return listener


def receive(listener: socket.socket, begins: int, ends: int) -> dict[int, Received]:
    """Receive until `ends`; both times in ns of the monotonic clock. Returns what came, by the sender's port."""
    received: dict[int, Received] = {}
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
                flows[flow.fileno()], ports[flow.fileno()], received[port] = flow, port, Received()
                poller.register(flow, select.EPOLLIN)
                continue
            count = flows[number].recv_into(buffer)
            if not count:
                poller.unregister(number)
                continue
            before = received[ports[number]].size
            received[ports[number]] = Received(before + count, time.monotonic_ns() - begins)
    return received


def send(algorithms: tuple[str, ...], begins: int, ends: int, sources: Sequence[Source]) -> list[SentFlow]:
    """Send one flow per algorithm between two times (ns of the monotonic clock). Raises OSError."""
    flows = [_socket(algorithm, FIRST_PORT + number) for number, algorithm in enumerate(algorithms)]
    places = {flow.fileno(): place for place, flow in enumerate(flows)}
    written = [0] * len(flows)
    watched: dict[int, int] = {}  # what the poller waits for, of the flows that are open
    poller = select.epoll()
    time.sleep(max(begins - time.monotonic_ns(), 0) * 1e-9)
    data = bytes(_CHUNK)
    while (now := time.monotonic_ns()) < ends:
        for number, place in places.items():
            owes = written[place] < sources[place].due(now - begins)
            events = select.EPOLLERR | (select.EPOLLOUT if owes else 0)
            if owes and number not in watched:
                flows[place].connect_ex((RECEIVER_ADDRESS, PORT))
                poller.register(number, events)
                watched[number] = events
            elif watched.get(number, events) != events:
                poller.modify(number, events)
                watched[number] = events
        wakes = min(ends, begins + min(source.next(now - begins) for source in sources))
        for number, happened in poller.poll(max(wakes - time.monotonic_ns(), 0) * 1e-9):
            place = places[number]
            if happened & (select.EPOLLERR | select.EPOLLHUP):
                raise OSError(flows[place].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "the connection broke")
            written[place] += _write(flows[place], min(_CHUNK, sources[place].due(now - begins) - written[place]), data)
    return [sent_flow(flow) for flow in flows]


def _socket(algorithm: str, port: int) -> socket.socket:
    flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    # At the end nothing is drained: the connection is cut
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.bind((SENDER_ADDRESS, port))
    flow.setblocking(False)
    return flow


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


# The head of `struct tcp_info` (linux/tcp.h): eight bytes of flags, 24 counters of 32 bits, four of 64, and so on
_HEAD = struct.Struct("=8B24I4Q6I")
_RETRANSMITTED, _MIN_RTT, _SMOOTHED_RTT = 31, 39, 23


def sent_flow(flow: socket.socket) -> SentFlow:
    """Return what the kernel has of a connection (TCP_INFO). Raises OSError."""
    name = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
    info = _HEAD.unpack(flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _HEAD.size))
    return SentFlow(
        flow.getsockname()[1], name, info[_RETRANSMITTED], info[_MIN_RTT] / 1000, info[_SMOOTHED_RTT] / 1000
    )
