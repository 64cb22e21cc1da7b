"""What a network link lets through over time: readers of link traces, generators, and cutting along time."""

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
