"""Workload fingerprints: statistics that characterise a trace.

    from vulcan_traces.fingerprint import fingerprint

`Fingerprint` says what there is.
"""

from vulcan_traces.fingerprint.fingerprint import (
    QUANTILES,
    SHARES,
    STATISTICS,
    Curve,
    Distribution,
    Fingerprint,
    Window,
)
from vulcan_traces.fingerprint.measure import fingerprint

__all__ = ["QUANTILES", "SHARES", "STATISTICS", "Curve", "Distribution", "Fingerprint", "Window", "fingerprint"]
