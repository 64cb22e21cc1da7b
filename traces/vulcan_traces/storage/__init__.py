"""Decoded traces on disk: the cache of traces, and exports in other formats."""
