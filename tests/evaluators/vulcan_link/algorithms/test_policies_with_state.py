"""Policies with state against the simulator's own algorithms: the same where they are defined alike, else how far."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_link import engine_state as m
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

TASK = find_task("congestion_control")
POLICIES = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}


def run(flow: Flow, name: str, link: str, queue: int, seconds: float = 25.0) -> LinkResult:
    scenario = Scenario(load_link(link), Queue(packets=queue), (flow,), seconds)
    return simulate(scenario, POLICIES[name], log=True)


def carried_of(result: LinkResult) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When each packet left the link, s, and how long it had waited in the queue, ms."""
    rows = result.log[result.log[:, m.E_KIND] >= m.CARRIED]
    return rows[:, m.E_TIME] / 1e9, rows[:, m.E_VALUE] / 1e6


@pytest.mark.parametrize(
    ("link", "delay_ms", "queue"), [("constant:rate=12", 20.0, 40), ("constant:rate=40", 8.0, 400),
                                    ("constant:rate=6", 40.0, 200), ("constant:rate=77.72", 51.0, 94)]
)  # fmt: skip
def test_copa_runs_its_own_slow_start_and_is_the_native_one(link: str, delay_ms: float, queue: int) -> None:
    native = run(Flow("copa", delay_ms=delay_ms), "copa", link, queue)
    ours = run(Flow("policy", delay_ms=delay_ms, slow_start="mechanism"), "copa", link, queue)
    assert ours.utilisation == pytest.approx(native.utilisation, abs=0.02)
    assert ours.drop_share == pytest.approx(native.drop_share, abs=0.02)
    assert ours.queueing_delay_avg_ms == pytest.approx(native.queueing_delay_avg_ms, abs=1.0)


@pytest.mark.parametrize("slow_start", ["mechanism", "policy"])
@pytest.mark.parametrize(
    ("link", "delay_ms", "queue"), [("constant:rate=12", 20.0, 40), ("constant:rate=40", 8.0, 107),
                                    ("constant:rate=6", 30.0, 180)]
)  # fmt: skip
def test_bbr_like_is_within_two_percent_of_the_rate_of_bbr(
    link: str, delay_ms: float, queue: int, slow_start: str
) -> None:
    native = run(Flow("bbr", delay_ms=delay_ms), "bbr_like", link, queue)
    ours = run(Flow("policy", delay_ms=delay_ms, slow_start=slow_start), "bbr_like", link, queue)
    assert native.utilisation - 0.02 < ours.utilisation <= native.utilisation + 0.005
    assert ours.queueing_delay_avg_ms < native.queueing_delay_avg_ms


def test_bbr_like_probes_for_bandwidth_and_every_ten_seconds_for_the_round_trip_time() -> None:
    flow = Flow("policy", delay_ms=20.0, slow_start="policy")
    carried, waited = carried_of(run(flow, "bbr_like", "constant:rate=12", 160))
    a_tenth = np.bincount((carried * 10).astype(int))
    probes = a_tenth[20:250] < 50  # of 100 packets; what was in flight is carried first, and then 4 every 40 ms
    began = np.flatnonzero(probes[1:] & ~probes[:-1]) / 10 + 2.1
    assert began == pytest.approx([10.0, 20.4], abs=0.5)
    assert 2 <= probes.sum() <= 6  # each 200 ms
    cruising = waited[(carried > 3) & (carried < 9)]
    assert np.mean((cruising > 1) & (cruising < 4)) > 0.6  # 41 packets are under way on the link; 3 are the margin
    assert cruising.max() < 15


def test_bbr_like_finds_a_link_that_has_become_faster() -> None:
    flow = Flow("policy", delay_ms=20.0)
    result = run(flow, "bbr_like", "steps:rates=6-24,every=10", 80, 20.0)
    assert (carried_of(result)[0] > 13).sum() * 1500 * 8 / 7.0 > 0.9 * 24e6
