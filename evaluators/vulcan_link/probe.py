"""Behavioural probe: short runs that distinguish policies by the windows they choose, before the real instances."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vulcan.anvil import Policy
from vulcan_link.scenario import Scenario
from vulcan_link.simulate import simulate

SECONDS = 2.0
LOSS = 0.002
"""Some packets are lost, so that what a policy does then is seen where no queue is ever full."""

_MAX = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """Probe: some of the instances for a short time, so that a policy's constants mean the same on both."""

    scenarios: tuple[Scenario, ...]

    @classmethod
    def of(cls, scenarios: Sequence[Scenario]) -> Probe:
        """The probe for instances of these scenarios: the one that most flows share, and the narrowest and the widest
        path of the others."""
        by_width = sorted(scenarios, key=lambda s: s.link.mean_rate * s.flows[0].round_trip_ms)
        shared = max(scenarios, key=lambda s: len(s.flows))
        chosen = [shared, by_width[0], by_width[-1]]
        told_apart = [s for place, s in enumerate(chosen) if all(s is not earlier for earlier in chosen[:place])]
        return cls(
            tuple(replace(s, duration_s=min(s.duration_s, SECONDS), loss=max(s.loss, LOSS)) for s in told_apart[:_MAX])
        )

    def digest(self, policy: Policy) -> str:
        """Return a hash of the windows that the policy chooses, in order, and of the packets sent, as 16 hex digits."""
        made = hashlib.sha256()
        for scenario in self.scenarios:
            for flow in simulate(scenario, policy).flows:
                made.update(f"{flow.decisions} {flow.sent} {flow.delivered} {flow.calls}\n".encode())
        return made.hexdigest()[:16]
