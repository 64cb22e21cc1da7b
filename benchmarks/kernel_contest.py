"""Policies and the kernel's own algorithms over emulated links: power in Linux, and as the simulator predicts it.

    sudo python -m benchmarks.kernel_contest POLICY.py [--links FOLDER] [--quick] [--json]

Power is that of the task's objective `power`. Links have an exact clock and half a millisecond of jitter; each cell is
the median of the repetitions, and `late` is how late the emulated link was at its worst moment. FOLDER has the
recordings of mahimahi (traces/ of its repository); without it, or where one is missing, its cells are left out.
docs/results/congestion-control.md has the table. Needs what `vulcan kernel run` of a policy needs.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness import argument_parser, finish
from vulcan.anvil import Policy, check
from vulcan.export.formats import find_exporter
from vulcan.export.provenance import Provenance
from vulcan.registry import find_task
from vulcan_link.linux.cell import Cell, predict
from vulcan_link.linux.run import run_cell
from vulcan_link.linux.struct_ops import in_the_kernel
from vulcan_traces.links import load_link

TASK = find_task("congestion_control")
OTHERS = ("copa.py", "bbr", "cubic")
"""The task's Copa, which the kernel does not have, and two of the kernel's own."""

REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the contest: a specification or the name of a recording, and what is beside the flow."""

    link: str
    delay_ms: float
    buffer: int
    competing: str | None = None
    seconds: float = 12.0

    @property
    def label(self) -> str:
        name = self.link.removesuffix(".down").replace("constant:rate=", "") + (" Mbit/s" if ":" in self.link else "")
        beside = f", beside {self.competing}" if self.competing else ""
        return f"{name}, {self.delay_ms:g} ms, {self.buffer} packets{beside}"


LINKS = (
    Link("constant:rate=12", 20.0, 40),
    Link("constant:rate=48", 10.0, 160),
    Link("constant:rate=6", 40.0, 200),
    Link("Verizon-LTE-short.down", 20.0, 150, seconds=20.0),
    Link("TMobile-LTE-short.down", 20.0, 150, seconds=20.0),
    Link("ATT-LTE-driving-2016.down", 20.0, 150, seconds=20.0),
    Link("constant:rate=20", 20.0, 67, competing="cubic", seconds=20.0),
)


def power(goodput: float, capacity: float, flows: int, base_ms: float, delay_ms: float, drops: float) -> float:
    """Return the objective, at most 1, with the drops of all flows: the kernel does not say whose they are."""
    share = min(goodput / (capacity / flows), 1.0)
    return share * base_ms / (base_ms + delay_ms) * max(1 - 10 * drops, 0.0)


def cell_of(link: Link, place: Path | None, name: str, seed: int) -> Cell:
    source = link.link if ":" in link.link or place is None else str(place / link.link)
    names = (name, link.competing) if link.competing else (name,)
    cell = Cell(load_link(source), names, link.delay_ms, link.buffer, link.seconds, own=1, exact_clock=True)
    return replace(cell, jitter_ms=0.5, seed=seed)


@contextmanager
def loaded(contestant: str) -> Iterator[tuple[str, Policy | None]]:
    """Yield the name in the kernel, and the policy where it is one."""
    if not contestant.endswith(".py"):
        yield contestant, None
        return
    source = Path(contestant)
    text = source.read_text("utf-8") if source.is_file() else TASK.seed_policies()[source.stem]
    policy = check(text, TASK)
    settings = {"called": "ack", "slow_start": "mechanism"}
    origin = Provenance(TASK.name, run="", candidate="", proposer="", date="", settings=settings)
    with in_the_kernel(find_exporter("bpf").export(policy, origin)) as name:
        yield name, policy


def measured(link: Link, place: Path | None, name: str, policy: Policy | None, repetitions: int) -> dict[str, Any]:
    """Return the medians of power and of what it is made of, in the kernel and in the simulator."""
    rows = []
    for seed in range(1, repetitions + 1):
        got, _ = run_cell(cell_of(link, place, name, seed))
        said = predict(cell_of(link, place, "policy" if policy else name, seed), policy)
        assert said is not None
        base, flows = 2 * link.delay_ms, len(got.flows)
        kernel = (got.flows[0].goodput_mbps, got.queueing_delay_avg_ms, got.loss)
        simulator = (said.flows[0].goodput_bps * 1e-6, said.queueing_delay_avg_ms, said.drop_share)
        capacity = said.capacity_bps * 1e-6 * 1448 / 1500
        rows.append(
            {"kernel": power(kernel[0], capacity, flows, base, *kernel[1:]),
             "simulator": power(simulator[0], capacity, flows, base, *simulator[1:]),
             "mbps": kernel[0], "delay_ms": kernel[1], "drops": kernel[2],
             "late_ms": got.punctuality.worst_ms}
        )  # fmt: skip
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def main() -> None:
    parser = argument_parser("policies and the kernel's algorithms over emulated links")
    parser.add_argument("policy", nargs="+", help="policies' files")
    parser.add_argument("--links", type=Path, help="folder of mahimahi's recordings")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="runs of each cell")
    options = parser.parse_args()
    table = [
        "| link | algorithm | power, simulator / Linux | Mbit/s | delay, ms | drops, % | late, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    cells = []
    for contestant in (*options.policy, *OTHERS):
        with loaded(contestant) as (name, policy):
            for link in LINKS[:1] if options.quick else LINKS:
                if ":" not in link.link and (options.links is None or not (options.links / link.link).is_file()):
                    print(f"left out: {link.link} is not there", file=sys.stderr)
                    continue
                found = measured(link, options.links, name, policy, 1 if options.quick else options.repetitions)
                cells.append({"link": link.label, "algorithm": Path(contestant).stem, **found})
                print(f"{cells[-1]['algorithm']}: {link.label}: {found['kernel']:.3f}", file=sys.stderr, flush=True)
    for cell in sorted(cells, key=lambda cell: [link.label for link in LINKS].index(cell["link"])):
        table.append(
            f"| {cell['link']} | {cell['algorithm']} | {cell['simulator']:.3f} / {cell['kernel']:.3f} "
            f"| {cell['mbps']:.2f} | {cell['delay_ms']:.1f} | {100 * cell['drops']:.2f} | {cell['late_ms']:.1f} |"
        )
    finish(options, {"cells": cells}, table, [])


if __name__ == "__main__":
    main()
