"""Queue managers of the bottleneck, as `simulate` takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan_link import engine_state as m
from vulcan_link.aqm import layout as q
from vulcan_link.kernels.random_numbers import generator_state

_KINDS = {"red": q.RED, "pie": q.PIE}
PACKET_BYTES = 1500
_STREAM = 1 << 20
_CALLED = {
    "drop_probability": m.MANAGER_SCORE,
    "update": m.MANAGER_UPDATE,
    "departure": m.MANAGER_DEPARTURE,
    "on_enqueue": m.MANAGER_ENQUEUE,
    "on_dequeue": m.MANAGER_DEQUEUE,
    "on_drop": m.MANAGER_DROP,
    "on_timer": m.MANAGER_TIMER,
}
MAX_SHOWN = 1 << 30
"""The largest limit of the queue that is shown to a policy, in packets."""


@dataclass(frozen=True, slots=True)
class QueueManager:
    """Queue manager: RED, PIE or a policy of `active_queue_management`; drop-tail and CoDel are the queue's own.

    RED's thresholds in packets are those that ns-2 chooses by the link's rate: the least is what `target_ms` / 2 carry
    and at least 5, the most three times that, and its average forgets within a second (Floyd, Gummadi and Shenker,
    "Adaptive RED", 2001). `target_ms` is PIE's reference delay too (RFC 8033: 15).
    """

    who: Policy | Literal["red", "pie"]
    seed: int = 1
    target_ms: float = 15.0

    def install(self, settings: NDArray[np.int64], rate_bps: float, limit_packets: int) -> NDArray[np.float64]:
        """Write the manager into the kernel's settings. Returns its state, which must outlive the run."""
        from vulcan_link.kernels.queue_manager import manage

        state = np.zeros(q.OWN)
        if not isinstance(self.who, str):
            native = self.who.native(q.LAYOUT)
            state = native.new_globals(self.seed)
            settings[[*_CALLED.values()]] = native.addresses(*_CALLED)
            state[q.PACKET] = PACKET_BYTES  # a timer may come before the first packet
            state[q.TIMER] = 0.0 if settings[m.MANAGER_TIMER] else math.inf
        state[q.LIMIT] = min(limit_packets, MAX_SHOWN)
        state[q.RANDOM] = generator_state(self.seed, _STREAM)
        state[q.BUSY_FROM] = -1.0
        rate = rate_bps / 8.0 / PACKET_BYTES  # packets a second
        state[q.MIN] = max(5.0, rate * self.target_ms / 2e3)
        state[q.MAX] = 3.0 * state[q.MIN]
        state[q.MAX_PROBABILITY] = 0.1
        state[q.WEIGHT] = -math.expm1(-1.0 / max(rate, 1.0))
        state[q.TYPICAL_MS] = 1e3 / max(rate, 1.0)
        state[q.COUNT] = -1.0
        state[q.REFERENCE] = state[q.PERIOD_MS] = self.target_ms
        state[q.NEXT_UPDATE] = self.target_ms
        state[q.BURST] = 150.0
        settings[m.MANAGER] = manage.address
        settings[m.MANAGER_KIND] = _KINDS[self.who] if isinstance(self.who, str) else q.POLICY
        settings[m.MANAGER_STATE] = state.ctypes.data
        settings[m.MANAGER_SLOTS] = len(state)
        return state


def decisions_of_state(state: NDArray[np.float64]) -> int:
    """Return a hash of a policy's decisions in a run."""
    return int(state[q.DECISIONS]) * 31 + int(state[q.CALLS])
