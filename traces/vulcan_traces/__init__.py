"""Cache traces: readers of the usual formats, seeded generators, and a cache of decoded traces."""

from vulcan_traces.load import load_trace
from vulcan_traces.request_trace import Trace
from vulcan_traces.synthetic.workloads import EMBEDDED

__all__ = ["EMBEDDED", "Trace", "load_trace"]
