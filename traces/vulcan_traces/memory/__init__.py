"""Page accesses of programs: how often each page of memory was read and written, interval by interval.

`load_page_counts` reads recorded counts from a file, or runs a real algorithm and records what it accesses.
"""

from vulcan_traces.memory.load import load_page_counts
from vulcan_traces.memory.page_counts import PageCounts
from vulcan_traces.memory.workloads import MEMORY_WORKLOADS

__all__ = ["MEMORY_WORKLOADS", "PageCounts", "load_page_counts"]
