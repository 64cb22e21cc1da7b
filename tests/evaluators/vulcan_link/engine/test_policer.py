"""A policer before the queue: what a token bucket lets through, by hand and by another account."""

from __future__ import annotations

import pytest
from test_policies import LINK

from vulcan_link import engine_state as m
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link


def run(flow: Flow, mbps: float, bucket: int, seconds: float = 20.0, **around: object) -> LinkResult:
    scenario = Scenario(
        load_link("constant:rate=20"), Queue(packets=200), (flow,), seconds, policer_mbps=mbps, policer_bytes=bucket,
        **around,  # type: ignore[arg-type]
    )  # fmt: skip
    return simulate(scenario, log=True)


def test_of_a_burst_passes_what_the_bucket_holds() -> None:
    """A window of 10 packets at once, of 1500 bytes each, before anything is acknowledged: 4500 bytes are 3 of them."""
    result = run(Flow("fixed", delay_ms=50.0, parameter=10.0, initial_window=10), 0.01, 4500, seconds=0.09)
    assert (result.flows[0].sent, result.dropped, result.delivered) == (10, 7, 3)


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr", "copa"])
@pytest.mark.parametrize(("mbps", "bucket"), [(8.0, 30_000), (3.0, 200_000)])
def test_every_packet_meets_the_fate_that_another_account_gives_it(algorithm: str, mbps: float, bucket: int) -> None:
    """The link is never full: whatever is dropped is the policer's."""
    result = run(Flow(algorithm), mbps, bucket)
    tokens, last, fates = float(bucket), 0.0, {m.QUEUED: 0, m.REFUSED: 0}
    for time, kind, *_ in result.log.tolist():
        if kind not in fates:
            continue
        tokens = min(float(bucket), tokens + (time - last) / 1e9 * mbps * 1e6 / 8)
        last = time
        conforms = tokens >= 1500 - 1e-6
        assert kind == (m.QUEUED if conforms else m.REFUSED), time
        tokens -= 1500 if conforms else 0
        fates[kind] += 1
    assert fates[m.REFUSED] == result.dropped > 0
    assert fates[m.QUEUED] * 1500 <= bucket + 20 * mbps * 1e6 / 8


def test_who_sends_more_than_is_let_through_gets_the_rate_and_no_more() -> None:
    result = run(Flow("bbr"), 8.0, 30_000)
    assert result.throughput_bps == pytest.approx(8e6, rel=0.03)
    free = simulate(Scenario(LINK, Queue(packets=100), (Flow("cubic"),), 10.0))
    loose = simulate(
        Scenario(LINK, Queue(packets=100), (Flow("cubic"),), 10.0, policer_mbps=100.0, policer_bytes=1_000_000)
    )
    assert free == loose, "it is faster than the link"
