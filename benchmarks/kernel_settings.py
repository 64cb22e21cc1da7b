"""Settings of a search's links against Linux: jitter, batches, random loss, reordering, policers, applications that
write little, transfers, traffic the other way, unlike round trips, a competitor.

    sudo python -m benchmarks.kernel_settings [--transfers] [--only WORD ...] [--quick] [--json]

Each cell runs in this machine's kernel over the emulated link with an exact clock, and in the simulator; figures are
medians of the repetitions and of as many seeds. docs/link-validation.md has the table. Needs what `vulcan kernel run`
needs for a policy.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.harness import argument_parser, finish
from vulcan.anvil import Policy, check
from vulcan.export.formats import find_exporter
from vulcan.export.provenance import Provenance
from vulcan.registry import find_task
from vulcan_link.kernel.cell import Cell, Completion, predict, predicted_completion
from vulcan_link.kernel.run import run_cell
from vulcan_link.kernel.struct_ops import in_the_kernel
from vulcan_link.workloads import transfer_starts
from vulcan_traces.links import load_link

TASK = find_task("congestion_control")
POLICIES = ("vegas", "bdp", "fast")
LINK, DELAY_MS, BUFFER = "constant:rate=20", 20.0, 67
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """Row of the table: what differs from a plain link, and the algorithms that are measured."""

    name: str
    algorithms: tuple[str, ...]
    changed: dict[str, Any] = field(default_factory=dict)
    competing: str | None = None
    seconds: float = 8.0


EVERY = ("reno", "cubic", "bbr", *POLICIES)
SETTINGS = (
    Setting("exact", EVERY),
    Setting("jitter 0.5 ms", EVERY, {"jitter_ms": 0.5}),
    Setting("jitter 2 ms", EVERY, {"jitter_ms": 2.0}),
    Setting("ACKs in batches of 10 ms", EVERY, {"ack_batch_ms": 10.0}),
    Setting("1 % random loss", EVERY, {"loss": 0.01}),
    Setting("1 % of packets 10 ms late", EVERY, {"jitter_ms": 0.5, "reordering": (0.01, 10.0)}),
    Setting("1 % of packets 30 ms late", EVERY, {"jitter_ms": 0.5, "reordering": (0.01, 30.0)}),
    Setting("a policer, 8 Mbit/s and 64 kB", EVERY, {"jitter_ms": 0.5, "policer": (8.0, 64_000)}),
    Setting("20 packets written every 100 ms", EVERY, {"jitter_ms": 0.5, "application": (20, 100.0)}),
    Setting("CUBIC the other way", EVERY, {"jitter_ms": 0.5, "reverse": "cubic"}),
    Setting(
        "CUBIC the other way, 10 ms later", EVERY, {"jitter_ms": 0.5, "reverse": "cubic", "reverse_after_ms": 10.0}
    ),
    Setting(
        "CUBIC the other way, 20 ms later", EVERY, {"jitter_ms": 0.5, "reverse": "cubic", "reverse_after_ms": 20.0}
    ),
    Setting("with one CUBIC", POLICIES, {"jitter_ms": 0.5}, "cubic", 15.0),
    Setting(
        "RTT 40 ms with 120 ms, same kind",
        ("reno", "cubic", "bbr"),
        {"jitter_ms": 0.5, "competing_delay_ms": 60.0},
        "same",
        20.0,
    ),
)
TRANSFERS = (
    Setting("10 packets every 250 ms", EVERY, {"jitter_ms": 0.5, "transfers": (10, 250.0)}),
    Setting("100 packets every 500 ms", EVERY, {"jitter_ms": 0.5, "transfers": (100, 500.0)}),
    Setting("400 packets every 1 s", EVERY, {"jitter_ms": 0.5, "transfers": (400, 1000.0)}),
    Setting("100 packets, 1 % random loss", EVERY, {"jitter_ms": 0.5, "loss": 0.01, "transfers": (100, 500.0)}),
    Setting("100 packets beside one CUBIC", EVERY, {"jitter_ms": 0.5, "transfers": (100, 500.0)}, "cubic"),
)


def cell_of(setting: Setting, algorithm: str, name: str) -> Cell:
    """Return the cell; `name` is the algorithm's in the kernel, or that of the simulator."""
    others = {None: (), "same": (name,)}.get(setting.competing, (setting.competing or "",))
    short = setting.changed.get("transfers")
    own = len(transfer_starts(short[1], setting.seconds)) if short else 1
    cell = Cell(load_link(LINK), (name,) * own + others, DELAY_MS, BUFFER, setting.seconds, own=own, exact_clock=True)
    return replace(cell, **setting.changed)


def figures_of(result: Any, goodputs: list[float], loss: float, short: Completion | None) -> dict[str, float]:
    return {
        "utilisation": result.utilisation,
        "queueing_delay_avg_ms": result.queueing_delay_avg_ms,
        "loss": loss,
        "first_mbps": goodputs[0],
        "second_mbps": goodputs[-1],
        **(asdict(short) if short else {}),
    }


def median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


@contextmanager
def loaded(algorithm: str) -> Iterator[tuple[str, Policy | None]]:
    """Yield the name in the kernel, and the policy where it is one."""
    if algorithm not in POLICIES:
        yield algorithm, None
        return
    policy = check(TASK.seed_policies()[algorithm], TASK)
    settings = {"called": "ack", "slow_start": "mechanism"}
    origin = Provenance(TASK.name, run="", candidate="", proposer="", date="", settings=settings)
    with in_the_kernel(find_exporter("bpf").export(policy, origin)) as name:
        yield name, policy


def measured(setting: Setting, algorithm: str, repetitions: int) -> dict[str, Any]:
    """Return the medians of the kernel and of the simulator, and how much the kernel's utilisation varied."""
    kernel, simulated, late = [], [], 0.0
    with loaded(algorithm) as (name, policy):
        for seed in range(1, repetitions + 1):
            got, _ = run_cell(replace(cell_of(setting, algorithm, name), seed=seed))
            kernel.append(figures_of(got, [flow.goodput_mbps for flow in got.flows], got.loss, got.transfers))
            late = max(late, got.punctuality.worst_ms)
            cell = cell_of(setting, algorithm, "policy" if policy else algorithm)
            said = predict(replace(cell, seed=seed), policy)
            assert said is not None
            short = predicted_completion(cell, said) if cell.transfers[0] else None
            goodputs = [flow.goodput_bps * 1e-6 for flow in said.flows]
            simulated.append(figures_of(said, goodputs, said.drop_share, short))
    spread = [run["completion_ms" if cell.transfers[0] else "utilisation"] for run in kernel]
    return {
        "setting": setting.name, "algorithm": algorithm, "kernel": median(kernel), "simulator": median(simulated),
        "spread": max(spread) - min(spread), "worst_ms": late,
    }  # fmt: skip


def row_of(found: dict[str, Any]) -> str:
    """Return a row of the page's table: simulator / Linux."""
    kernel, simulator = found["kernel"], found["simulator"]
    pairs = [
        f"{simulator['utilisation']:.3f} / {kernel['utilisation']:.3f}",
        f"{simulator['queueing_delay_avg_ms']:.1f} / {kernel['queueing_delay_avg_ms']:.1f}",
        f"{100 * simulator['loss']:.2f} / {100 * kernel['loss']:.2f}",
        f"{simulator['first_mbps']:.1f} + {simulator['second_mbps']:.1f} / "
        f"{kernel['first_mbps']:.1f} + {kernel['second_mbps']:.1f}"
        if simulator["first_mbps"] != simulator["second_mbps"]
        else "",
    ]
    return f"| {found['setting']} | {found['algorithm']} | " + " | ".join(pairs) + f" | {found['spread']:.3f} |"


def row_of_transfers(found: dict[str, Any]) -> str:
    """Return a row of the page's table of transfers: simulator / Linux."""
    kernel, simulator = found["kernel"], found["simulator"]
    pairs = [
        *(f"{simulator[name]:.0f} / {kernel[name]:.0f}" for name in ("completion_ms", "completion_p95_ms")),
        f"{simulator['completion_ms'] / kernel['completion_ms']:.2f}",
        f"{100 * simulator['completed']:.0f} / {100 * kernel['completed']:.0f}",
        f"{100 * simulator['loss']:.2f} / {100 * kernel['loss']:.2f}",
    ]
    return f"| {found['setting']} | {found['algorithm']} | " + " | ".join(pairs) + f" | {found['spread']:.0f} |"


def main() -> None:
    parser = argument_parser("settings of a search's links, in the kernel and simulated")
    parser.add_argument("--only", nargs="+", default=[""], help="settings whose names have one of these words")
    parser.add_argument("--transfers", action="store_true", help="short flows, and how long they take")
    options = parser.parse_args()
    head = (
        "| transfers | algorithm | mean, ms | p95, ms | ratio of means | complete, % | drops, % | spread, ms |"
        if options.transfers
        else "| setting | algorithm | utilisation | average delay, ms | drops, % | Mbit/s of each | spread |"
    )
    table = [head, "|---" * (head.count("|") - 1) + "|"]
    cells = []
    for setting in TRANSFERS if options.transfers else SETTINGS:
        if not any(word in setting.name for word in options.only):
            continue
        for algorithm in setting.algorithms[:1] if options.quick else setting.algorithms:
            found = measured(setting, algorithm, 1 if options.quick else REPETITIONS)
            cells.append(found)
            table.append(row_of_transfers(found) if options.transfers else row_of(found))
            if not options.json:
                print(table[-1], flush=True)
    finish(options, {"cells": cells}, table, [])


if __name__ == "__main__":
    main()
