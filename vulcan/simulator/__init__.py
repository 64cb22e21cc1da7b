"""The simulator kit: a class with three methods is a simulator of typed instances."""

from typing_extensions import override

from vulcan.robustness import shipped
from vulcan.simulator.base import Case, ExplainedSimulator, Result, Simulator
from vulcan.simulator.calls import PolicyCalls
from vulcan.simulator.plan import kinds_of, label_of, measured_range, shares_in_time, sources, with_folders
from vulcan.simulator.spec import sparse, within
from vulcan.sizes import parse_size

__all__ = [
    "Case",
    "ExplainedSimulator",
    "PolicyCalls",
    "Result",
    "Simulator",
    "kinds_of",
    "label_of",
    "measured_range",
    "override",
    "parse_size",
    "shares_in_time",
    "shipped",
    "sources",
    "sparse",
    "with_folders",
    "within",
]
