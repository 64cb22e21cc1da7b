"""A sender that asks an exported policy of `congestion_control` for its window, on an emulated link.

    vulcan export RUN -o window.py && python sender.py window.py --rate 12 --delay 20 --buffer 150 --seconds 20

`Sender` is what a transport has to do for a policy; with `--format c` it is the same, by the names of the header. What
`run` adds stands for the network: a rate, a propagation delay in each direction, and a queue that drops at its end.
"""

import argparse
import importlib.util
import inspect
from collections import deque
from types import SimpleNamespace

MSS = 1448
STATE = (
    "now_us cause in_flight_packets acked_packets lost_packets rtt_us smoothed_rtt_us min_rtt_us max_rtt_us "
    "delivery_rate_bps send_rate_bps max_bandwidth_bps min_bandwidth_bps delivered_packets lost_total_packets "
    "ecn_marked_packets ecn_enabled since_loss_us in_recovery acked_since_change_packets round_trip_acked_packets "
    "round_trips"
)
WINDOW = (
    "duration_us delivered_packets delivered_bytes bandwidth_bps lost_packets ecn_packets min_rtt_us avg_rtt_us "
    "max_rtt_us"
)


class Sender:
    """The window of a flow, by a policy that is told of each acknowledgement and loss. Times are in microseconds."""

    def __init__(self, policy):
        self.policy = policy
        self.state = state = getattr(policy, "_Statistics", SimpleNamespace)()  # a policy with state has it there
        self.window = SimpleNamespace(**dict.fromkeys(WINDOW.split(), 0.0))  # the latest that is complete
        self.flow = SimpleNamespace(in_slow_start=1.0, pacing_bps=0.0)  # and what handlers may set
        for name in STATE.split():
            setattr(state, name, 0.0)
        state.cwnd_packets = state.cwnd_exact_packets = state.max_cwnd_packets = 10.0
        state.ssthresh_packets, state.mss_bytes = 65535.0, float(MSS)
        self.recovered = self.lost_at = self.begun = self.marked = 0.0
        self.samples, self.lost_before = [], 0.0

    def acknowledged(self, now, packet):
        """Take the acknowledgement of a packet, which knows what `sending` made of it."""
        state, rtt = self.state, now - packet.sent
        state.now_us, state.cause, state.acked_packets, state.lost_packets, state.rtt_us = now, 0.0, 1.0, 0.0, rtt
        state.smoothed_rtt_us += (rtt - state.smoothed_rtt_us) / (8 if state.smoothed_rtt_us else 1)
        state.min_rtt_us = min(state.min_rtt_us or rtt, rtt)
        state.max_rtt_us = max(state.max_rtt_us, rtt)
        state.delivered_packets += 1.0
        state.in_flight_packets -= 1.0
        state.acked_since_change_packets += 1.0
        state.round_trip_acked_packets += 1.0
        state.since_loss_us = now - self.lost_at
        state.in_recovery = float(packet.number < self.recovered)
        if now > packet.clock:
            state.send_rate_bps = state.delivery_rate_bps = (
                8e6 * MSS * (state.delivered_packets - packet.delivered) / (now - packet.clock)
            )
        self.samples.append(rtt)
        if packet.number >= self.marked and now >= self.begun + 1000:
            self.complete(now)
        self.tell("observe")
        self.tell("on_ack")
        if self.flow.in_slow_start and rtt < state.min_rtt_us + max(4000, state.min_rtt_us / 8):
            self.set(state.cwnd_exact_packets + 1.0)  # the mechanism's slow start: the policy is not asked yet
        else:
            self.flow.in_slow_start = 0.0
            self.ask()

    def lost(self, now, packet, timed_out=False):
        """Take the loss of a packet: the policy is asked once for all of one recovery, and at each time-out."""
        state = self.state
        state.now_us, state.acked_packets, state.lost_packets = now, 0.0, 1.0
        state.lost_total_packets += 1.0
        state.in_flight_packets -= 1.0
        if packet.number < self.recovered and not timed_out:
            return
        state.cause, state.ssthresh_packets = (2.0 if timed_out else 1.0), state.in_flight_packets // 2
        state.in_recovery, state.since_loss_us, self.lost_at = 0.0, 0.0, now
        self.flow.in_slow_start = 0.0
        self.tell("observe")
        self.tell("on_timeout")
        self.ask()
        self.recovered = self.next

    def complete(self, now):
        """A round trip is over, and with it a measuring window."""
        state, window, packets = self.state, self.window, self.state.round_trip_acked_packets
        window.duration_us, window.delivered_packets, window.delivered_bytes = now - self.begun, packets, packets * MSS
        window.bandwidth_bps = 8e6 * window.delivered_bytes / window.duration_us
        window.lost_packets, self.lost_before = state.lost_total_packets - self.lost_before, state.lost_total_packets
        window.min_rtt_us, window.max_rtt_us = min(self.samples), max(self.samples)
        window.avg_rtt_us = float(round(sum(self.samples) / len(self.samples)))
        state.max_bandwidth_bps = max(state.max_bandwidth_bps, window.bandwidth_bps)
        state.min_bandwidth_bps = min(state.min_bandwidth_bps or window.bandwidth_bps, window.bandwidth_bps)
        state.round_trips += 1.0
        self.tell("observe_round_trip")
        self.tell("on_window")
        self.samples, self.begun, self.marked, state.round_trip_acked_packets = [], now, self.next, 0.0

    def tell(self, event):
        """Call the policy's method for an event, with what it takes of `window` and `flow`."""
        method = getattr(self.state, event, None)
        if method is not None:
            method(*(getattr(self, name) for name in inspect.signature(method).parameters))

    def ask(self):
        self.set(self.policy.cwnd(self.state, self.window))

    def set(self, answer):
        state, exact = self.state, min(max(answer, 2.0), 65535.0)
        if int(exact) != state.cwnd_packets:
            state.acked_since_change_packets = 0.0
        state.cwnd_exact_packets, state.cwnd_packets = exact, float(int(exact))
        state.max_cwnd_packets = max(state.max_cwnd_packets, state.cwnd_packets)

    next = 0  # number of the next packet

    def sending(self, now):
        """Return the packet that is sent now, or None where the window is full."""
        state = self.state
        if state.in_flight_packets >= state.cwnd_packets:
            return None
        packet = SimpleNamespace(number=self.next, sent=now, clock=state.now_us, delivered=state.delivered_packets)
        self.next += 1
        state.in_flight_packets += 1.0
        return packet


def run(policy, rate, delay, buffer, seconds):
    """Return the share of the link that was used, and the mean time in its queue in milliseconds."""
    sender, service, now, free = Sender(policy), 8.0 * (MSS + 52) / rate, 0.0, 0.0
    arriving, missing, waited, delivered = deque(), deque(), 0.0, 0
    while now < seconds * 1e6:
        while (packet := sender.sending(now)) is not None:
            if free > now + buffer * service:
                missing.append(packet)  # dropped
                continue
            free = max(free, now) + service
            waited += free - service - now
            arriving.append((free + 2e3 * delay, packet))
        if not arriving:
            now += 1e6  # the time-out
            sender.lost(now, missing.popleft(), timed_out=True)
            continue
        now, packet = arriving.popleft()
        delivered += 1
        while missing and missing[0].number + 3 <= packet.number:
            sender.lost(now, missing.popleft())
        sender.acknowledged(now, packet)
    return delivered * service / (seconds * 1e6), waited / max(delivered, 1) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policy")
    for option, default in (("rate", 12.0), ("delay", 20.0), ("buffer", 150.0), ("seconds", 20.0)):
        parser.add_argument(f"--{option}", type=float, default=default)
    given = parser.parse_args()
    found = importlib.util.spec_from_file_location("policy", given.policy)
    policy = importlib.util.module_from_spec(found)
    found.loader.exec_module(policy)
    used, queued = run(policy, given.rate, given.delay, given.buffer, given.seconds)
    print(f"utilisation {used:.3f}, mean queueing delay {queued:.1f} ms")


if __name__ == "__main__":
    main()
