"""Catalogue of public cache traces: their origin and licence, and downloading them."""

from vulcan_traces.catalogue.catalogue import TraceFile, TraceSet, find_file, read_catalogue
from vulcan_traces.catalogue.fetch import fetch

__all__ = ["TraceFile", "TraceSet", "fetch", "find_file", "read_catalogue"]
