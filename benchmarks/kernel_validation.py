"""The emulated link against Mahimahi: the kernel's own Reno, CUBIC and BBR over both, cell by cell.

    sudo python -m benchmarks.kernel_validation [--quick] [--check] [--json]

Needs what `vulcan kernel run` needs, and the link traces in `VULCAN_DATA` or `../shared/data`. The Mahimahi runs are
those of tests/data/link/linux_tcp.jsonl; there a round trip took 3 ms more than twice the delay, for acknowledgements
crossed a link too, and here it takes 1 to 2 ms more; so each cell runs with 1 ms more of delay.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Goal, arguments, finish
from vulcan_link.kernel.cell import Cell, Measurement
from vulcan_link.kernel.run import run_cell
from vulcan_traces.links import LinkTrace, load_link, make_link

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "tests" / "data" / "link" / "linux_tcp.jsonl"
DATA = Path(os.environ.get("VULCAN_DATA", ROOT / ".." / "shared" / "data"))
MORE_DELAY_MS = 1.0
QUICK = (("const12", 40, 30), ("const48", 80, 30), ("Verizon-LTE-short.down", 100, 30))


def reference_cells() -> list[dict[str, Any]]:
    """Return every run of an algorithm that the kernel itself has."""
    rows = [json.loads(line) for line in REFERENCE.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["cc"] in ("reno", "cubic", "bbr")]


def reference_link(name: str) -> LinkTrace:
    """`const12` is one opportunity a millisecond, `const48` four; the others are files."""
    if name.startswith("const"):
        each = int(name.removeprefix("const")) // 12
        return make_link(name, "opportunities", np.full(each, 1_000_000, np.int64), 1_000_000)
    folder = "nyc-cellular" if name.startswith("trace-") else "mahimahi"
    return load_link(DATA / "cc" / folder / name)


def run_reference_cell(row: dict[str, Any], seconds: float | None = None) -> Measurement:
    flows = (row["cc"],) * len(row["flows"])
    cell = Cell(reference_link(row["trace"]), flows, row["owd"] + MORE_DELAY_MS, row["queue"], seconds or row["dur"])
    return run_cell(cell)[0]


def main() -> None:
    options = arguments("the emulated link against Mahimahi, with the kernel's own TCP")
    rows = reference_cells()
    if options.quick:
        rows = [row for row in rows if (row["trace"], row["queue"], row["dur"]) in QUICK]
    cells, goals = [], []
    table = [
        f"{'':5} {'link':26}{'buffer':>6}{'flows':>6} | {'utilisation':^19} | {'average delay, ms':^24} | "
        f"{'p95 delay, ms':^22} | {'loss, %':^13} | {'late':>5}"
    ]
    for row in rows:
        got = run_reference_cell(row)
        name = f"{row['cc']} {row['trace']} buffer {row['queue']} flows {len(row['flows'])}"
        shares = {
            "utilisation": got.utilisation / row["util"],
            "average": got.queueing_delay_avg_ms / row["qd_avg"],
            "p95": got.queueing_delay_p95_ms / row["qd_p95"],
        }
        table.append(
            f"{row['cc']:5} {row['trace']:26}{row['queue']:6}{len(row['flows']):6} | "
            f"{got.utilisation:6.4f} {row['util']:6.4f} {shares['utilisation']:5.3f} | "
            f"{got.queueing_delay_avg_ms:8.2f} {row['qd_avg']:8.2f} {shares['average']:6.3f} | "
            f"{got.queueing_delay_p95_ms:7.0f} {row['qd_p95']:7.0f} {shares['p95']:6.3f} | "
            f"{100 * got.loss:6.3f} {100 * row['loss']:6.3f} | {got.punctuality.late:5}"
        )
        print(table[-1], flush=True) if not options.json else None
        goals.append(Goal(f"{name}: utilisation differs by", abs(got.utilisation - row["util"]), 0.04, at_least=False))
        cells.append(
            {
                "cc": row["cc"], "trace": row["trace"], "owd": row["owd"], "queue": row["queue"], "dur": row["dur"],
                "flows": [flow.goodput_mbps for flow in got.flows], "util": got.utilisation,
                "qd_avg": got.queueing_delay_avg_ms, "qd_p95": got.queueing_delay_p95_ms,
                "qd_max": got.queueing_delay_max_ms, "drops": got.dropped, "loss": got.loss,
                "retx": got.retransmitted, "jain": got.jain, "min_rtt": got.flows[0].min_rtt_ms,
                "late": got.punctuality.late, "worst_ms": got.punctuality.worst_ms, "ratios": shares,
            }
        )  # fmt: skip
    finish(options, {"cells": cells}, table, goals)


if __name__ == "__main__":
    main()
