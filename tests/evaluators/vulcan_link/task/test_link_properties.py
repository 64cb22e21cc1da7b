"""What `vulcan verify` says of the shipped policies is what is known of them."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.anvil.proofs import verify

BOUNDS, LOSS, TIMEOUT, MONOTONE, DELAY = (
    "window within bounds", "backs off at a loss", "backs off at a time-out", "longer delay, no larger window",
    "backs off under delay",
)  # fmt: skip


def outcomes(task, source, *names):
    """What is found of the properties of these names."""
    chosen = [p for p in task.properties if p.name in names]
    return {found.property.name: found.outcome for found in verify(check(source, task), chosen)}


@pytest.mark.parametrize("name", ["reno_like", "cubic_like", "vegas_like", "fast", "bdp"])
def test_every_shipped_policy_backs_off_at_losses_and_timeouts(task, name):
    found = outcomes(task, task.seed_policies()[name], LOSS, TIMEOUT)
    assert found == {LOSS: "proved", TIMEOUT: "proved"}


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("reno_like", "refuted"), ("cubic_like", "refuted"), ("vegas_like", "unknown"), ("fast", "unknown")],
)
def test_vegas_and_fast_are_not_refuted_to_back_off_under_delay(task, name, outcome):
    """Reno and CUBIC look at losses alone, and fill any buffer; that the others look at the delay no rule can prove."""
    assert outcomes(task, task.seed_policies()[name], DELAY) == {DELAY: outcome}


@pytest.mark.parametrize("name", ["reno_like", "cubic_like", "vegas_like", "fast"])
def test_the_textbook_policies_stay_within_the_declared_window(task, name):
    assert outcomes(task, task.seed_policies()[name], BOUNDS) == {BOUNDS: "proved"}


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("return state.cwnd_packets + 1", {BOUNDS, LOSS, TIMEOUT, DELAY}),
        ("return 0", {BOUNDS}),
        ("return min(max(state.rtt_us, 2), 65535)", {LOSS, TIMEOUT, MONOTONE, DELAY}),
        ("return 2", set()),
    ],
)
def test_what_is_wrong_with_a_policy_is_refuted(task, body, wrong):
    everything = (BOUNDS, LOSS, TIMEOUT, MONOTONE, DELAY)
    found = outcomes(task, f"def cwnd(state, window):\n    {body}\n", *everything)
    assert {name for name, outcome in found.items() if outcome == "refuted"} == wrong
    assert {name for name, outcome in found.items() if outcome == "proved"} == set(everything) - wrong
