"""Availability of spot VMs over time: a reader of the public traces, and a seeded Markov generator."""

from vulcan_traces.spot.environments import EMBEDDED_REGIONS, EMBEDDED_SPOT
from vulcan_traces.spot.load import load_spot
from vulcan_traces.spot.spot_trace import SpotTrace

__all__ = ["EMBEDDED_REGIONS", "EMBEDDED_SPOT", "SpotTrace", "load_spot"]
