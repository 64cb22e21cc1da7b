"""Execution of a measurement: two namespaces, the link between them, and the flows."""

from __future__ import annotations

import gc
import os
import time
from functools import partial
from multiprocessing.reduction import recv_handle, send_handle
from random import Random

from vulcan.errors import UserError
from vulcan_link.linux.bottleneck import Bottleneck, DelayLine, LinkLog, opportunity_times
from vulcan_link.linux.emulator import emulate
from vulcan_link.linux.figures import PAYLOAD, Measurement, measure
from vulcan_link.linux.host import require_algorithm, require_namespaces
from vulcan_link.linux.namespace import (
    RECEIVER_ADDRESS,
    SENDER_ADDRESS,
    dropped_by_device,
    enter_new_namespace,
    open_link_end,
)
from vulcan_link.linux.processes import Channel, TestbedProcess, become_real_time, children
from vulcan_link.linux.transfer import FIRST_PORT, Source, listen, receive, send
from vulcan_link.scenario import Scenario

_SECOND = 1_000_000_000
# From the word to go until everyone waits for the start
_LEAD = _SECOND // 5
# Extra link time for packets still queued at the end; nothing waits for it
_DRAIN = 120 * _SECOND
# Milliseconds after which the noise repeats
_NOISES = 100_003


def run_in_kernel(scenario: Scenario) -> tuple[Measurement, LinkLog]:
    """Run a measurement in real time. Returns its result and the log of its bottleneck.

    Of the scenario's flows the algorithms are the kernel's names; its clock is exact, or Mahimahi's of milliseconds.
    Raises UserError where the host lacks what it needs, does not know an algorithm, or could not keep up.
    """
    require_namespaces()
    algorithms = tuple(flow.algorithm for flow in scenario.flows)
    for algorithm in set(algorithms):
        require_algorithm(algorithm)
    duration = round(scenario.duration_s * _SECOND)
    times = opportunity_times(scenario.link, duration + _DRAIN).tolist()
    policer = (scenario.policer_mbps * 1e6 / 8, scenario.policer_bytes) if scenario.policer_mbps else None
    bottleneck = Bottleneck(times, scenario.queue.packets or 1, scenario.loss, scenario.seed, policer=policer)
    with children() as start:
        receiver = start("receiver", partial(_receiver, duration))
        sender = start("sender", partial(_sender, algorithms, sources_of(scenario), duration))
        receiving_end, sending_end = (_device_of(child) for child in (receiver, sender))
        link = start("link", partial(_link, sending_end, receiving_end, bottleneck, scenario, duration))
        begins = time.monotonic_ns() + _LEAD
        for child in (receiver, link, sender):
            child.channel.send(begins)
        sent, lost_by_device = sender.take()
        received = receiver.take()
        log, punctuality = link.take()
    if lost_by_device:
        raise UserError(
            f"the link could not keep up: {lost_by_device} packets were lost before it; free the processor or take "
            "a slower link"
        )
    changed = [flow.algorithm for flow in sent if flow.algorithm not in algorithms]
    if changed:
        raise RuntimeError(f"a flow of {algorithms} ended as {changed[0]}")
    return measure(log, scenario, sent, received, punctuality), log


def delay_lines(scenario: Scenario) -> tuple[DelayLine, DelayLine]:
    """Return the propagation of packets and that of acknowledgements."""
    delays = {FIRST_PORT + number: round(flow.delay_ms * 1e6) for number, flow in enumerate(scenario.flows)}
    random, jitter = Random(scenario.seed), 1e3 * scenario.jitter_us
    noise = [round(random.random() * jitter) for _ in range(_NOISES)] if jitter else (0,)
    delay = delays[FIRST_PORT]
    back = DelayLine(delay, delays=delays, noise=noise, batch=round(scenario.ack_batch_ms * 1e6))
    late = (scenario.late_share, round(scenario.late_ms * 1e6))
    return DelayLine(delay, delays=delays, late=late, seed=scenario.seed), back


def sources_of(scenario: Scenario) -> list[Source]:
    """Return what the application of each flow writes."""
    return [
        Source(round(flow.start_s * 1e9), flow.write_packets * PAYLOAD, round(flow.write_ms * 1e6))
        if flow.write_packets
        else Source()
        for flow in scenario.flows
    ]


def _give_device(channel: Channel, address: str, peer: str) -> None:
    device = open_link_end(address, peer)
    channel.send("ready")
    send_handle(channel, device, os.getppid())


def _device_of(child: TestbedProcess) -> int:
    child.take()
    return recv_handle(child.channel)


def _receiver(duration: int, channel: Channel) -> None:
    enter_new_namespace()
    _give_device(channel, RECEIVER_ADDRESS, SENDER_ADDRESS)
    become_real_time(20)
    listener = listen()
    begins = channel.recv()
    channel.send(receive(listener, begins, begins + duration))
    channel.recv()  # the namespace ends with this process, and others may still be at work in it


def _sender(algorithms: tuple[str, ...], sources: list[Source], duration: int, channel: Channel) -> None:
    enter_new_namespace()
    _give_device(channel, SENDER_ADDRESS, RECEIVER_ADDRESS)
    become_real_time(20)
    begins = channel.recv()
    sent = send(algorithms, begins, begins + duration, sources)
    channel.send((sent, dropped_by_device()))
    channel.recv()


def _link(
    sending_end: int,
    receiving_end: int,
    bottleneck: Bottleneck,
    scenario: Scenario,
    duration: int,
    channel: Channel,
) -> None:
    become_real_time(50)
    gc.disable()
    begins = channel.recv()
    forth, back = delay_lines(scenario)
    punctuality = emulate(
        sending_end,
        receiving_end,
        bottleneck,
        forth,
        back,
        begins,
        duration,
        exact=not scenario.clock_ms,
    )
    channel.send((bottleneck.log, punctuality))
