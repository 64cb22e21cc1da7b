"""Availability of spot VMs over time: a reader of the public traces, and a seeded Markov generator."""

from vulcan_traces.spot.environments import EMBEDDED_REGIONS, EMBEDDED_SPOT, PRICED_REGIONS
from vulcan_traces.spot.load import load_spot
from vulcan_traces.spot.spot_trace import SpotTrace

__all__ = ["EMBEDDED_REGIONS", "EMBEDDED_SPOT", "PRICED_REGIONS", "SpotTrace", "load_spot"]
