"""Public sets of cache traces: what there is, under which terms, and fetching it."""

from vulcan_traces.catalogue.catalogue import CATALOGUE, TraceFile, TraceSet, find_file, read_catalogue
from vulcan_traces.catalogue.fetch import fetch

__all__ = ["CATALOGUE", "TraceFile", "TraceSet", "fetch", "find_file", "read_catalogue"]
