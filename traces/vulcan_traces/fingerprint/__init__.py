"""Workload fingerprints: statistics that characterise a trace.

from vulcan_traces.fingerprint import fingerprint
"""

from vulcan_traces.fingerprint.fingerprint import QUANTILES, STATISTICS, Distribution, Fingerprint
from vulcan_traces.fingerprint.measure import fingerprint

__all__ = ["QUANTILES", "STATISTICS", "Distribution", "Fingerprint", "fingerprint"]
