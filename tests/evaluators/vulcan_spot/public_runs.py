"""The 360 runs whose mean costs under the public evaluator are known.

They are those of the figures "6 zones x the first 10 windows": which ten was found by looking for the choice that gives
these figures. They are every 30th of the 300 windows of a zone in the alphabetical order of their names (`0.json`,
`125.json`, ...), and the zones are the six of the public evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vulcan_spot.job import SpotJob
from vulcan_spot.windows import Windows
from vulcan_traces.spot import load_spot

ZONES = (
    "us-west-2a_k80_8", "us-west-2b_k80_1", "us-west-2b_k80_8", "us-west-2a_v100_1", "us-west-2a_v100_8",
    "us-west-2b_v100_1",
)  # fmt: skip
OVERHEADS = (0.02, 0.05, 0.1)
DEADLINES = (52, 70)

COSTS = {
    "on_demand": {52: 147.39, 70: 147.39},
    "greedy": {52: 131.27, 70: 104.94},
    "spot_only": {52: 131.11, 70: 104.92},
    "uniform_progress": {52: 114.54, 70: 90.50},
}
"""Mean dollars of the 180 runs of each deadline, as measured by the public evaluator in Python."""


def folder(overhead: float, zone: str) -> str:
    return f"real/ddl=search+task=48+overhead={overhead:.2f}/real/{zone}/traces/random_start"


def public_runs(spot_traces: Path) -> Iterator[tuple[int, SpotJob, Windows]]:
    """For every overhead, zone and deadline the deadline in hours, the job and its ten windows."""
    archive = spot_traces / "adrs" / "cant_be_late_real_traces.tar.gz"
    for overhead in OVERHEADS:
        for zone in ZONES:
            traces = load_spot(f"{archive}:{folder(overhead, zone)}")[::30]
            windows = Windows.of(traces, [(i, 0, trace.ticks) for i, trace in enumerate(traces)])
            for deadline in DEADLINES:
                yield deadline, SpotJob.of_hours(48, deadline, overhead), windows
