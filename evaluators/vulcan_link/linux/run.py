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
from vulcan_link.linux.cell import PAYLOAD, Cell, Measurement, measure
from vulcan_link.linux.emulator import emulate
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

_SECOND = 1_000_000_000
# From the word to go until everyone waits for the start
_LEAD = _SECOND // 5
# Extra link time for packets still queued at the end; nothing waits for it
_DRAIN = 120 * _SECOND
# Milliseconds after which the noise repeats
_NOISES = 100_003


def run_cell(cell: Cell) -> tuple[Measurement, LinkLog]:
    """Run a measurement in real time. Returns its result and the log of its bottleneck.

    Raises UserError where the host lacks what it needs, does not know an algorithm, or could not keep up.
    """
    require_namespaces()
    for algorithm in set(cell.algorithms):
        require_algorithm(algorithm)
    duration = round(cell.seconds * _SECOND)
    times = opportunity_times(cell.link, duration + _DRAIN).tolist()
    policer = (cell.policer[0] * 1e6 / 8, cell.policer[1]) if cell.policer[0] else None
    bottleneck = Bottleneck(times, cell.buffer, cell.loss, cell.seed, policer=policer)
    with children() as start:
        receiver = start("receiver", partial(_receiver, cell, duration))
        sender = start("sender", partial(_sender, cell, duration))
        receiving_end, sending_end = (_device_of(child) for child in (receiver, sender))
        link = start("link", partial(_link, sending_end, receiving_end, bottleneck, cell, duration))
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
    changed = [flow.algorithm for flow in sent if flow.algorithm not in cell.algorithms]
    if changed:
        raise RuntimeError(f"a flow of {cell.algorithms} ended as {changed[0]}")
    return measure(log, cell, sent, received, punctuality), log


def delay_lines(cell: Cell) -> tuple[DelayLine, DelayLine]:
    """Return the propagation of packets and that of acknowledgements."""
    delays = {FIRST_PORT + number: round(delay * 1e6) for number, delay in enumerate(cell.delays_ms)}
    random = Random(cell.seed)
    noise = [round(random.random() * cell.jitter_ms * 1e6) for _ in range(_NOISES)] if cell.jitter_ms else (0,)
    delay = round(cell.delay_ms * 1e6)
    share, ms = cell.reordering
    back = DelayLine(delay, delays=delays, noise=noise, batch=round(cell.ack_batch_ms * 1e6))
    return DelayLine(delay, delays=delays, late=(share, round(ms * 1e6)), seed=cell.seed), back


def sources_of(cell: Cell) -> list[Source]:
    """Return what the application of each flow writes."""
    packets, ms = cell.application
    endless = Source()
    if cell.transfers[0]:
        own = [Source(round(start * 1e9), cell.transfers[0] * PAYLOAD) for start in cell.transfer_starts_s]
    else:
        own = [Source(0, packets * PAYLOAD, round(ms * 1e6)) if packets else endless] * cell.own_flows
    return own + [endless] * (len(cell.algorithms) - len(own))


def _give_device(channel: Channel, address: str, peer: str) -> None:
    device = open_link_end(address, peer)
    channel.send("ready")
    send_handle(channel, device, os.getppid())


def _device_of(child: TestbedProcess) -> int:
    child.take()
    return recv_handle(child.channel)


def _receiver(cell: Cell, duration: int, channel: Channel) -> None:
    enter_new_namespace()
    _give_device(channel, RECEIVER_ADDRESS, SENDER_ADDRESS)
    become_real_time(20)
    listener = listen()
    begins = channel.recv()
    channel.send(receive(listener, begins, begins + duration))
    channel.recv()  # the namespace ends with this process, and others may still be at work in it


def _sender(cell: Cell, duration: int, channel: Channel) -> None:
    enter_new_namespace()
    _give_device(channel, SENDER_ADDRESS, RECEIVER_ADDRESS)
    become_real_time(20)
    begins = channel.recv()
    sent = send(cell.algorithms, begins, begins + duration, sources_of(cell))
    channel.send((sent, dropped_by_device()))
    channel.recv()


def _link(
    sending_end: int,
    receiving_end: int,
    bottleneck: Bottleneck,
    cell: Cell,
    duration: int,
    channel: Channel,
) -> None:
    become_real_time(50)
    gc.disable()
    begins = channel.recv()
    forth, back = delay_lines(cell)
    punctuality = emulate(
        sending_end,
        receiving_end,
        bottleneck,
        forth,
        back,
        begins,
        duration,
        exact=cell.exact_clock,
    )
    channel.send((bottleneck.log, punctuality))
