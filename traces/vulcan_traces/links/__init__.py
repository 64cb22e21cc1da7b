"""Traces of a network link's capacity over time: readers, generators, and cutting along time."""

from vulcan_traces.links.link_trace import OPPORTUNITY_BYTES, LinkTrace, cut_link, make_link, repeated
from vulcan_traces.links.load import FORMATS, load_link

__all__ = [
    "FORMATS",
    "OPPORTUNITY_BYTES",
    "LinkTrace",
    "cut_link",
    "load_link",
    "make_link",
    "repeated",
]
