"""Vulcan: machine-written heuristics for computer systems."""

__version__ = "0.1.0"
