"""Runs that were worked out by hand: a tick of 600 s, prices of 3.06 and 0.9731 dollars an hour."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.simulate import simulate
from vulcan_spot.windows import Windows
from vulcan_traces.spot import SpotTrace

TASK = find_task("spot_single")
HEAD = "def decide(job, spot, vm):\n    return "


def run(who, available, job, gap=600, prices=None, net="exact"):
    trace = SpotTrace("hand", gap, np.array(available, np.uint8))
    policy = who if who in ("greedy", "on_demand", "spot_only", "uniform_progress", "least_cost") else None
    runs = simulate(
        policy or check(HEAD + who + "\n", TASK), Windows.of([trace], [(0, 0, len(available))]), job, prices, net
    )
    return {
        "spot": int(runs.spot_ticks[0]), "on_demand": int(runs.on_demand_ticks[0]), "finished": int(runs.finished[0]),
        "starts": int(runs.starts[0]), "preemptions": int(runs.preemptions[0]), "overruled": int(runs.overruled[0]),
        "cost": float(runs.cost[0]),
    }  # fmt: skip


def dollars(spot, on_demand):
    return pytest.approx((spot * 0.9731 + on_demand * 3.06) / 6)


def test_on_demand_pays_its_start_and_whole_ticks():
    """48 h of work and 72 s to start are 288.12 ticks: 289 are paid, and the job is done 72 s into the last."""
    made = run("on_demand", [], SpotJob.of_hours(48, 52, 0.02))
    assert made == {
        "spot": 0, "on_demand": 289, "finished": 48 * 3600 + 72, "starts": 1, "preemptions": 0, "overruled": 0,
        "cost": dollars(0, 289),
    }  # fmt: skip
    assert round(made["cost"], 2) == 147.39


def test_a_preemption_costs_a_start():
    """Four ticks of work and half a tick to start. Ticks: S(300) - S(300) S S S(300 of 600 needed): 5 on spot."""
    made = run("spot_only", [1, 0, 1, 1, 1, 1, 1], SpotJob(2400, 24000, 300))
    # work after each tick: 300, 300, 600, 1200, 1800, 2400: done at the end of tick 5
    assert (made["spot"], made["starts"], made["preemptions"], made["finished"]) == (5, 2, 1, 3600)


def test_an_overhead_longer_than_a_tick_begins_anew_with_each_start():
    """900 s to start: ticks 0 and, after the preemption, 2 give nothing, tick 3 gives 300 s, tick 4 600 s."""
    made = run("spot_only", [1, 0, 1, 1, 1, 1], SpotJob(900, 24000, 900))
    assert (made["spot"], made["starts"], made["finished"]) == (4, 2, 3000)


def test_the_last_tick_is_paid_in_full_and_the_job_ends_within_it():
    made = run("on_demand", [], SpotJob(601, 24000, 0))
    assert (made["on_demand"], made["finished"]) == (2, 601)


def test_the_safety_net_takes_on_demand_when_a_start_and_the_work_take_all_ticks():
    """4 ticks of work and 60 s to start take 5 ticks, of 8: a policy that waits is overruled from tick 3 on."""
    made = run("0", [1] * 8, SpotJob(2400, 4800, 60))
    assert (made["on_demand"], made["spot"], made["overruled"]) == (5, 0, 5)
    assert made["finished"] == 3 * 600 + 60 + 2400


def test_the_safety_net_lets_a_spot_vm_that_works_go_on():
    """Work of 4 ticks, one to start, 6 ticks. From tick 1 on the net has to act: spot goes on, whatever is asked."""
    made = run("1 if job.elapsed_s < 600 else 2", [1] * 8, SpotJob(2400, 3600, 600))
    assert (made["spot"], made["on_demand"], made["overruled"], made["finished"]) == (5, 0, 4, 3000)


def test_the_safety_net_lets_no_spot_vm_go_on_that_has_not_started_up():
    """The same with a tick and a half to start, and 7 ticks: in tick 1 the VM is not up yet, and on-demand starts."""
    made = run("1", [1] * 8, SpotJob(2400, 4200, 900))
    assert (made["spot"], made["on_demand"], made["finished"]) == (1, 6, 600 + 900 + 2400)


def test_under_the_published_net_a_preemption_in_that_very_tick_loses_a_tick_and_the_deadline():
    """Work of 4 ticks, one to start, 6 ticks. Tick 0 starts spot, tick 1 works. In tick 2, 3 ticks of work and a start
    take all 4 that are left: the net keeps spot, which is preempted right then. On-demand starts in tick 3."""
    made = run("1", [1, 1, 0, 0, 0, 0], SpotJob(2400, 3600, 600), net="published")
    assert made["spot"] == 2 and made["preemptions"] == 1
    assert made["on_demand"] == 1 + 3
    assert made["finished"] == 7 * 600 > 3600


def test_under_the_exact_net_on_demand_starts_in_that_tick():
    """On-demand starts in tick 2 and works in ticks 3 to 5: the job is done at the deadline."""
    made = run("1", [1, 1, 0, 0, 0, 0], SpotJob(2400, 3600, 600))
    assert (made["spot"], made["preemptions"], made["on_demand"], made["finished"]) == (2, 1, 4, 3600)


@pytest.mark.parametrize(
    ("hours", "what"),
    [((48, 48, 0.02), "not even"), ((0, 5, 0), "above 0"), ((5, 0, 0), "above 0"), ((1, 5, -1), "at least 0"),
     ((1e9, 1e9, 0), "10,000"), ((float("nan"), 5, 0), "10,000")],
)  # fmt: skip
def test_jobs_that_cannot_be(hours, what):
    with pytest.raises(UserError, match=what):
        SpotJob.of_hours(*hours)


@pytest.mark.parametrize("prices", [(1.0, 2.0, 0.0), (-1.0, -2.0, 0.0), (3.0, 1.0, -1.0), (float("nan"), 1.0, 0.0)])
def test_prices_that_cannot_be(prices):
    with pytest.raises(UserError):
        Prices(*prices)
