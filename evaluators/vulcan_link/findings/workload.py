"""A path in words: the link's rate and its variation, the round trip, the buffer, noise and the flows beside."""

from __future__ import annotations

import math

import numpy as np

from vulcan.findings import EvaluatorFinding, Statement
from vulcan_link.findings.account import MIN_WINDOW, Numbers, carried_until
from vulcan_link.scenario import Scenario
from vulcan_traces.links import LinkTrace

_SECOND = 1e9
_VARIES = 0.02


def describe_path(scenario: Scenario, competing: tuple[str, ...] = ()) -> list[EvaluatorFinding]:
    """Return the findings on a path: `competing` are the flows beside, as their setting has them."""
    flow, link = scenario.flows[0], scenario.link
    packets = scenario.queue.packets or 0
    bdp = link.mean_rate * flow.round_trip_ms / 1e3 / 12e3
    drains = 12e6 * packets / link.mean_rate
    text = (
        f"{_rate(scenario)} Base round trip {flow.round_trip_ms:g} ms: {bdp:.1f} packets fill the path (BDP). The "
        f"queue ({scenario.queue.kind}) holds {packets} packets, {packets / bdp:.2g} BDP or {drains:.0f} ms at the "
        "mean rate."
    )
    noise = []
    if scenario.jitter_us:
        noise.append(f"jitter of acknowledgements up to {scenario.jitter_us / 1e3:g} ms")
    if scenario.ack_batch_ms:
        noise.append(f"acknowledgements in batches every {scenario.ack_batch_ms:g} ms")
    if scenario.loss:
        noise.append(f"random loss of {scenario.loss:.3%}")
    if noise:
        text += f" Noise: {', '.join(noise)}."
    if competing:
        other = scenario.flows[-1]
        text += f" Beside it: {', '.join(competing)}, with a base round trip of {other.round_trip_ms:g} ms."
    return [Statement(text, 10.0)]


def _rate(scenario: Scenario) -> str:
    """Describe the rate over a run, in windows of one base round trip."""
    link = scenario.link
    rates = window_rates(link, scenario.duration_s, scenario.flows[0].round_trip_ms)
    mean = rates.mean()
    if rates.std() < _VARIES * mean:
        return f"Constant link of {mean:.3g} Mbit/s."
    low, high = np.quantile(rates, [0.1, 0.9])
    steps = np.abs(np.diff(rates)) > 0.2 * np.maximum(rates[1:], rates[:-1])
    every = scenario.duration_s / max(int(steps.sum()), 1)
    text = (
        f"Varying link: {mean:.3g} Mbit/s on average over a run, 10 % of the time below {low:.3g}, 10 % above "
        f"{high:.3g}; from one base round trip to the next it changes by over a fifth every {every:.2g} s."
    )
    stopped = float((rates < 0.05 * mean).mean())
    return text + (f" It stands still for {stopped:.1%} of the time." if stopped else "")


def window_rates(link: LinkTrace, seconds: float, round_trip_ms: float) -> Numbers:
    """Return the link's rates in windows of one base round trip, Mbit/s."""
    width = max(round(round_trip_ms * 1e6), MIN_WINDOW)
    count = max(1, math.floor(seconds * _SECOND / width))
    until = carried_until(link, width * np.arange(count + 1))
    return np.asarray(np.diff(until) / (width / _SECOND) / 1e6)
