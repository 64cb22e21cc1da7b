"""A VALUE task with a group of features that is observed once per round trip."""

from __future__ import annotations

from pathlib import Path

from anvil_toy import TOY

from vulcan.anvil import Layout, Policy, Slot, check
from vulcan.task import Feature, Global, Task, Value

WINDOW = Global(
    "window",
    "the latest round trip",
    (
        Feature("delivered", "int", "bytes", 0.0, 2.0**40, "bytes delivered in it", unknown=5.0),
        Feature("lost", "int", "bytes", 0.0, 2.0**40, "bytes lost in it"),
    ),
    observed="round_trip",
)
FLOW = Global("flow", "the connection", (Feature("rtt", "float", "seconds", 0.0, 60.0, "the latest round trip time"),))

TASK = Task(
    name="toy_flow",
    summary="How much may be under way.",
    signature=Value("cwnd", (FLOW, WINDOW), "a window"),
    evaluator="nowhere:Nothing",
    objectives=TOY.objectives,
    directory=Path(__file__).parent,
)
LAYOUT = Layout(
    {"flow.rtt": Slot("globals", 2), "window.delivered": Slot("globals", 0), "window.lost": Slot("globals", 1)}, 3
)


def policy(expression: str) -> Policy:
    """Return one that returns the expression."""
    return check(f"def cwnd(flow, window):\n    return {expression}\n", TASK)


def shown(delivered: float, rtt: float = 1.0, lost: float = 0.0) -> dict[str, float]:
    return {"flow.rtt": rtt, "window.delivered": delivered, "window.lost": lost}
