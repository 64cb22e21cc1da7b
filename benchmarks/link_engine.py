"""Speed of the link simulator: packets per second for one flow on one core, and against ns-3 on the same cells.

    python -m benchmarks.link_engine [--quick] [--check] [--json]

A packet is one transmission. ns-3's times are those of tests/data/link/ns3_matrix.jsonl, measured on another run of a
machine of 2 cores: the ratios are of that order, and the goal is far below them.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.harness import Goal, arguments, finish
from benchmarks.link_cells import ns3_cells, wire
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate

PACKETS_PER_SECOND = 3e6
TIMES_NS3 = 50.0


def seconds_of(scenario: Scenario, turns: int) -> tuple[float, int]:
    """Return the least CPU time of these turns, for others can only slow a run, and the packets sent."""
    took, sent = [], 0
    for _ in range(turns):
        began = time.process_time()
        sent = simulate(scenario).sent
        took.append(time.process_time() - began)
    return min(took), sent


def main() -> None:
    options = arguments("packets per second of the link simulator")
    turns = 3 if options.quick else 7
    simulate(Scenario(wire(1), Queue(packets=10), (Flow("reno"),), 0.1))  # compiles, or loads what was
    table = [f"{'one flow':34}{'packets':>10}{'seconds':>10}{'Mpackets/s':>12}"]
    speeds = {}
    for algorithm in ("fixed", "reno", "cubic", "bbr"):
        flow = Flow(algorithm, delay_ms=20.0, parameter=400.0)
        scenario = Scenario(wire(96), Queue(packets=320), (flow,), 60.0 if options.quick else 120.0)
        took, sent = seconds_of(scenario, turns)
        speeds[algorithm] = sent / took
        table.append(f"{algorithm + ', 96 Mbit/s, buffer 1 BDP':34}{sent:10}{took:10.4f}{sent / took / 1e6:12.2f}")
    table += ["", f"{'ns-3.44 on the same cell':34}{'ns-3, s':>10}{'ours, s':>10}{'times':>12}"]
    times = []
    for cell in ns3_cells():
        if options.quick and cell.rate_mbps > 48:
            continue
        took, _ = seconds_of(cell.scenario, turns)
        times.append(cell.reference["wall"] / took)
        table.append(f"{cell.name:34}{cell.reference['wall']:10.2f}{took:10.4f}{times[-1]:12.0f}")
    goals = [
        Goal("one flow of CUBIC, packets per second", speeds["cubic"], PACKETS_PER_SECOND, in_quick=False),
        Goal("one flow of Reno, packets per second", speeds["reno"], PACKETS_PER_SECOND, in_quick=False),
        Goal("times ns-3, the least of the cells", min(times), TIMES_NS3),
        Goal("times ns-3, the median of the cells", statistics.median(times), TIMES_NS3),
    ]
    finish(options, table, goals)


if __name__ == "__main__":
    main()
