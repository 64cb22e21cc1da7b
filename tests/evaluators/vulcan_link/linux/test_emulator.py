"""The data path: packets cross between two devices, with the clock of Mahimahi. No privilege is needed."""

from __future__ import annotations

import os
import socket
import threading
import time

from vulcan_link.linux.bottleneck import Bottleneck, DelayLine
from vulcan_link.linux.emulator import OVERSLEPT, Stage, emulate

MS = 1_000_000
IPV4, IPV6 = b"\x45", b"\x60"


def test_a_stage_that_acted_at_a_fraction_of_a_millisecond_wakes_after_that_fraction() -> None:
    stage = Stage(Bottleneck([9 * MS, 10 * MS], 5))
    assert stage.pass_on(7_400_000, [b"a", b"b"]) == []
    assert stage.wakes == 9_400_000 + OVERSLEPT
    assert stage.pass_on(9_399_999, []) == []
    assert stage.pass_on(9_480_000, []) == [b"a", b"b"]
    assert stage.wakes is None


def test_a_stage_takes_every_opportunity_up_to_the_whole_millisecond() -> None:
    bottleneck = Bottleneck([8 * MS, 9 * MS, 10 * MS], 5)
    stage = Stage(bottleneck)
    stage.pass_on(7_900_000, [bytes(1500)] * 3)
    assert stage.wakes == 8_900_000 + OVERSLEPT
    assert len(stage.pass_on(9_100_000, [])) == 2  # woken late, for two at once
    assert stage.wakes == 10_100_000 + OVERSLEPT
    assert [when for when, _, _ in bottleneck.log.departed] == [8 * MS, 9 * MS]
    assert {came for _, _, came in bottleneck.log.departed} == {7 * MS}


def test_a_delay_counts_from_the_whole_millisecond() -> None:
    stage = Stage(DelayLine(20 * MS))
    stage.pass_on(7_400_000, [b"a"])
    assert stage.wakes == 27_400_000 + OVERSLEPT
    assert stage.pass_on(27_000_000, []) == []
    assert stage.pass_on(27_460_000, []) == [b"a"]


class TwoHosts:
    """Sockets that stand for the devices of the sender and the receiver, and what their hosts see."""

    def __init__(self) -> None:
        self.sender, self.sender_device = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.receiver, self.receiver_device = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for device in (self.sender_device, self.receiver_device):
            device.setblocking(False)

    def emulate(self, bottleneck: Bottleneck, delay: int, duration: int) -> None:
        devices = (self.sender_device.fileno(), self.receiver_device.fileno())
        emulate(*devices, bottleneck, DelayLine(delay), DelayLine(delay), time.monotonic_ns(), duration)


def test_packets_cross_in_order_and_acknowledgements_come_back() -> None:
    hosts = TwoHosts()
    seen: list[bytes] = []

    def answer() -> None:
        for _ in range(20):
            packet = hosts.receiver.recv(2000)
            seen.append(packet)
            hosts.receiver.send(packet[:40])

    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    sent = [IPV4 + bytes([number]) + bytes(1498) for number in range(20)]
    for packet in sent:
        hosts.sender.send(packet)
    bottleneck = Bottleneck([(ms + 1) * MS for ms in range(3000)], 100)
    hosts.emulate(bottleneck, 5 * MS, 1500 * MS)
    answering.join(timeout=10)
    assert seen == sent
    hosts.sender.setblocking(False)
    assert [os.read(hosts.sender.fileno(), 2000) for _ in range(20)] == [packet[:40] for packet in sent]
    delays = [(when - came) // MS for when, _, came in bottleneck.log.departed]
    assert delays == list(range(delays[0], delays[0] + 20))  # one a millisecond
    assert bottleneck.log.opportunities == 1500


def test_the_kernels_own_ipv6_messages_stay_out() -> None:
    hosts = TwoHosts()
    hosts.sender.send(IPV6 + bytes(99))
    hosts.sender.send(IPV4 + bytes(99))
    bottleneck = Bottleneck([(ms + 1) * MS for ms in range(100)], 10)
    hosts.emulate(bottleneck, MS, 50 * MS)
    assert [size for _, size in bottleneck.log.arrived] == [104]
