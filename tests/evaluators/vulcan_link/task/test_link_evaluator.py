"""The evaluator on the real simulator: what policies score, see and may rely on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.evaluator import rungs_of
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan.testing.range_probe import WatchedPolicy
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_link.simulator import LinkSimulator
from vulcan_traces.links import load_link

WHOLE = Split(by="none")
QUIET = {"jitter_ms": [0.0], "handshake": "none"}
WIRED = {"link": ["constant:rate=12"], "duration_s": 20.0, **QUIET}


def prepared(task, split=WHOLE, **settings):
    """An evaluator and its instances."""
    evaluator = LinkSimulator()
    instances = evaluator.instances(complete_settings(task, settings), split)
    evaluator.prepare(instances)
    return evaluator, instances


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("reno_like", WIRED),
        ("reno_like", {**WIRED, "buffer": ["4bdp"], "duration_s": 60.0}),
        ("cubic_like", WIRED),
        ("cubic_like", {**WIRED, "buffer": ["4bdp"], "duration_s": 60.0}),
        ("cubic_like", {"link": ["constant:rate=48"], "delay_ms": [10.0], "duration_s": 30.0, **QUIET}),
    ],
)
def test_reno_and_cubic_in_anvil_come_near_those_of_the_simulator(task, name, settings):
    evaluator, (instance,) = prepared(task, **settings)
    mine = evaluator.evaluate(check(task.seed_policies()[name], task), instance)
    theirs = evaluator.evaluate_baseline(name.removesuffix("_like"), instance)
    assert mine["utilisation"] == pytest.approx(theirs["utilisation"], abs=0.05)
    assert mine["queueing_delay_avg_ms"] == pytest.approx(theirs["queueing_delay_avg_ms"], rel=0.25, abs=2)
    assert mine["queueing_delay_p95_ms"] == pytest.approx(theirs["queueing_delay_p95_ms"], rel=0.1, abs=2)


def test_settings_reach_the_simulator(task):
    base = {**WIRED, "buffer": ["4bdp"], "duration_s": 10.0}
    plain, (instance,) = prepared(task, **base)
    policy = check(task.seed_policies()["cubic_like"], task)
    usual = plain.evaluate(policy, instance)

    def measured(policy=policy, **more):
        evaluator, (other,) = prepared(task, **{**base, **more})
        return evaluator.evaluate(policy, other)

    assert measured(loss=0.02)["loss"] == pytest.approx(0.02, rel=0.5)
    assert measured(queue="codel")["queueing_delay_avg_ms"] < usual["queueing_delay_avg_ms"] / 2
    assert measured(ecn=True)["loss"] <= usual["loss"]
    assert measured(delay_ms=[40.0])["rtt_min_ms"] > usual["rtt_min_ms"] + 35
    assert measured(flows=3)["jain"] < 1
    assert measured(competing=["cubic:2"])["share"] != usual["share"]
    assert measured(called="round") != usual
    assert measured(slow_start="policy") != usual
    assert measured(jitter_ms=[2.0])["rtt_avg_ms"] > usual["rtt_avg_ms"]
    assert measured(competing=["cubic"], competing_delay_ms=80.0)["share"] > measured(competing=["cubic"])["share"]


def test_only_the_handshake_sees_the_round_trip_that_batched_acknowledgements_hide(task):
    """Linux takes its least round trip from the handshake; without it the batches would look like the path."""
    batched = {**WIRED, "buffer": ["4bdp"], "duration_s": 5.0, "ack_batch_ms": 45.0}
    seen = {}
    for handshake in ("measured", "none"):
        evaluator, (instance,) = prepared(task, **{**batched, "handshake": handshake})
        seen[handshake] = evaluator.evaluate(check(task.seed_policies()["vegas_like"], task), instance)["rtt_min_ms"]
    assert seen["measured"] == 40.0
    assert seen["none"] >= 41.0


def test_rungs_are_shorter_runs_of_the_same_instances(task):
    evaluator, instances = prepared(task, split=task.split)
    training = [i for i in instances if i.split == "train"]
    (rung,) = rungs_of(evaluator, training)
    assert [i.parameters["duration_s"] for i in rung.instances] == [3.0] * len(training)
    assert {i.parameters["digest"] for i in rung.instances} == {i.parameters["digest"] for i in training}
    evaluator.prepare(rung.instances)
    policy = check(task.seed_policies()["reno_like"], task)
    assert all(evaluator.evaluate(policy, i)["delivered_packets"] > 100 for i in rung.instances)
    assert rungs_of(evaluator, prepared(task, split=task.split, duration_s=2.0)[1][:7]) == ()


def test_a_trace_that_has_changed_since_is_not_measured_on(task, tmp_path):
    path = tmp_path / "link"
    path.write_text("1\n")
    _, (instance,) = prepared(task, link=[str(path)])
    path.write_text("2\n")
    with pytest.raises(UserError, match="has changed since"):
        LinkSimulator().prepare([instance])


PATHS = {
    "wired": ("constant:rate=12", Queue(packets=40), {}),
    "short queue": ("constant:rate=30", Queue(packets=3), {}),
    "outages": ("outage:rate=8,every=2,length=1,seed=1,seconds=30", Queue(packets=60), {}),
    "bloated": ("constant:rate=1", Queue(packets=500), {}),
    "marked": ("constant:rate=20", Queue(packets=60, ecn=True, mark_packets=10), {}),
    "codel": ("markov:low=2,high=20,seed=1", Queue(kind="codel", packets=200), {}),
    "lossy": ("steps:rates=20-2,every=1", Queue(packets=80), {"loss": 0.03}),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("called", ["ack", "round"])
@pytest.mark.parametrize("slow_start", ["mechanism", "policy"])
def test_no_policy_is_ever_shown_a_value_outside_of_its_declared_range(task, path, called, slow_start):
    """Every feature is looked at at every call, in machine code."""
    link, queue, more = PATHS[path]
    flow = Flow("policy", delay_ms=15.0, called=called, slow_start=slow_start, ecn=queue.ecn)
    others = (Flow("cubic", delay_ms=15.0, start_s=2.0, stop_s=6.0),)
    watched = WatchedPolicy.of(check(task.seed_policies()["reno_like"], task))
    simulate(Scenario(load_link(link), queue, (flow, *others), duration_s=12.0, **more), watched)
    assert watched.seen.checks > 50 * len(watched.plan.features) and watched.seen.count == {}


@pytest.mark.parametrize("beside", [[], ["cubic:1@7-14"]])
def test_blocks_of_a_run_make_up_the_run(task, beside):
    evaluator, (instance,) = prepared(task, **{**WIRED, "competing": beside, "loss": 0.002})
    policy = check(task.seed_policies()["cubic_like"], task)
    blocks = evaluator.windows(instance, 8)
    measured = [evaluator.evaluate(policy, block) for block in blocks]
    whole = evaluator.evaluate(policy, instance)
    assert sum(one["goodput_mbps"] for one in measured) / 8 == pytest.approx(whole["goodput_mbps"], rel=2e-3)
    assert sum(one["utilisation"] for one in measured) / 8 == pytest.approx(whole["utilisation"], rel=2e-3)
    assert evaluator.windows(evaluator.like(instance, "short", duration_s=4.0), 8) == ()
    evaluator.prepare([replace(one, split="train") for one in (instance, *blocks)])  # as a search with conversations
    assert evaluator.decisions(policy)
