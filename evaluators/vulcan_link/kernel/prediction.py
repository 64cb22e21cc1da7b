"""The simulator's prediction for a cell that the kernel runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vulcan_link.kernel.cell import Cell

if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan_link.result import Result

LATENESS_US = 2075.0
"""Up to how late an emulator in user space, with a clock of milliseconds, hands over what it carries. It was chosen so
that BBR, which takes the highest of its rate samples for the bandwidth, has the queue that Linux's has over Mahimahi on
a constant link (`docs/link-validation.md`); other algorithms hardly depend on it."""

Called = Literal["ack", "round"]
SlowStart = Literal["mechanism", "policy"]


def predict(
    cell: Cell, policy: Policy | None = None, called: Called = "ack", slow_start: SlowStart = "mechanism"
) -> Result | None:
    """The same link, buffer, delay and flows, simulated; None for an algorithm that the simulator does not have.

    With a policy, all flows ask it, whatever they are called in the kernel; `called` and `slow_start` are then those of
    `vulcan_link.Flow`. Raises UserError for others.
    """
    from vulcan_link import Flow, Queue, Scenario, simulate
    from vulcan_link.algorithms import ALGORITHMS

    if policy is None and any(algorithm not in ALGORITHMS for algorithm in cell.algorithms):
        return None
    names = ("policy",) * len(cell.algorithms) if policy else cell.algorithms
    scenario = Scenario(
        link=cell.link,
        queue=Queue("droptail", packets=cell.buffer),
        flows=tuple(
            Flow(algorithm=name, delay_ms=cell.delay_ms, called=called, slow_start=slow_start) for name in names
        ),
        duration_s=cell.seconds,
        clock_ms=1.0,
        jitter_us=LATENESS_US,
    )
    return simulate(scenario, policy)
