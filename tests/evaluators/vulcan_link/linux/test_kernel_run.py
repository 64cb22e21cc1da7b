"""The kernel's own TCP over the emulated link: figures near those of the same cells over Mahimahi.

The machine may be busy with other things, so bounds are wide: wrong semantics miss them by far all the same.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from console import COMMAND, Console
from effort import few
from kernel_host import agreeing, as_predicted, in_namespaces, late_ms
from locations import TESTS
from waiting import wait_for_end

from vulcan_link.linux.bottleneck import LinkLog
from vulcan_link.linux.figures import Measurement
from vulcan_link.linux.run import run_in_kernel
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_traces.links import LinkTrace, make_link

pytestmark = in_namespaces
MS = 1_000_000
REFERENCE = TESTS / "data" / "link" / "linux_tcp.jsonl"


def constant(mbps: int) -> LinkTrace:
    """Mahimahi's trace of a constant link: an opportunity a millisecond for each 12 Mbit/s."""
    return make_link(f"const{mbps}", "opportunities", np.full(mbps // 12, MS, np.int64), MS)


def measured(algorithm: str, mbps: int, delay_ms: float, buffer: int, seconds: float, flows: int = 1) -> Measurement:
    mine = (Flow(algorithm, delay_ms),) * flows
    return run_in_kernel(Scenario(constant(mbps), Queue(packets=buffer), mine, seconds, clock_ms=1.0))[0]


def late(run: Measurement) -> float:
    return run.punctuality.worst_ms


def worst(runs: list[Measurement]) -> float:
    return max(map(late, runs))


def reference(algorithm: str, trace: str, buffer: int) -> dict[str, float]:
    rows = [json.loads(line) for line in REFERENCE.read_text(encoding="utf-8").splitlines()]
    (row,) = (
        row
        for row in rows
        if (row["cc"], row["trace"], row["queue"], len(row["flows"])) == (algorithm, trace, buffer, 1)
    )
    return dict(row)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["cubic", "reno", "bbr"])
def test_a_constant_link_is_used_and_queued_on_as_over_mahimahi(algorithm: str) -> None:
    expected = reference(algorithm, "const12", 40)

    def as_over_mahimahi(runs: list[Measurement]) -> None:
        average = statistics.median(run.queueing_delay_avg_ms for run in runs)
        assert abs(statistics.median(run.utilisation for run in runs) - expected["util"]) < 0.05
        assert 0.6 * expected["qd_avg"] < average < 1.3 * expected["qd_avg"]
        for run in runs:
            assert run.queueing_delay_max_ms <= 41 + late(run)  # 40 packets and its own opportunity
            assert 41 <= run.flows[0].min_rtt_ms < 46 + late(run)  # twice 21 ms, less what is rounded off
            assert run.retransmitted >= 0.9 * run.dropped
            assert run.goodput_mbps == pytest.approx(run.throughput_mbps * 1448 / 1504, rel=0.04)

    agreeing(lambda: [measured(algorithm, 12, 21, 40, 8) for _ in range(3)], as_over_mahimahi, worst)


def test_a_rate_trace_with_an_outage_holds_packets_through_it() -> None:
    link = make_link("gap", "rates", np.array([0, 2000, 2500]) * MS, 4000 * MS, np.array([12e6, 0.0, 12e6]))
    scenario = Scenario(link, Queue(packets=60), (Flow("cubic", 10.0),), 4.0, clock_ms=1.0)

    def held(found: tuple[Measurement, LinkLog]) -> None:
        run, log = found
        departed = np.array([when for when, _, _ in log.departed]) / MS
        assert not ((departed > 2001) & (departed < 2500)).any()
        assert run.queueing_delay_max_ms >= 450
        assert run.utilisation > 0.8

    agreeing(lambda: run_in_kernel(scenario), held, lambda found: late(found[0]))


def test_the_command_prints_the_kernel_beside_the_simulator(tmp_path: Path) -> None:
    link = ("--link", "constant:rate=12", "--delay-ms", "21", "--seconds", "5")
    agreeing(lambda: Console(tmp_path).document("kernel", "run", "cubic", *link), as_predicted, late_ms)


AROUND = (("reordering", "0.01/10"), ("policer", "8/64"), ("application", "20/100"))


@pytest.mark.parametrize(("setting", "value"), few(AROUND, 1))
def test_what_is_around_a_link_is_as_predicted(setting: str, value: str, tmp_path: Path) -> None:
    link = ("--link", "constant:rate=12", "--buffer", "60", "--seconds", "4", "--exact-clock", "--jitter-ms", "0.5")
    document = agreeing(
        lambda: Console(tmp_path).document("kernel", "run", "cubic", *link, f"--{setting}", value),
        as_predicted,
        late_ms,
    )
    assert document[setting] is not None


@pytest.mark.parametrize("ending", few([signal.SIGINT, signal.SIGKILL], 1))
def test_nothing_is_left_of_a_run_that_was_cut_short(ending: signal.Signals) -> None:
    command = (COMMAND, "kernel", "run", "reno", "--link", "constant:rate=12", "--seconds", "60")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        began = []
        for _ in range(6000):
            began = [int(number) for number in children.read_text().split()]
            if len(began) == 3:
                break
            time.sleep(0.01)
        assert len(began) == 3
        namespaces = {os.readlink(f"/proc/{number}/ns/net") for number in began}
        time.sleep(0.5)
        process.send_signal(ending)
        _, err = process.communicate(timeout=60)
    assert len(namespaces) <= 3
    assert wait_for_end(began)
    if ending is signal.SIGINT:
        assert process.returncode == 130, err
        assert err.splitlines() == ["sending for 60 s", "interrupted; nothing is left of the link"]
