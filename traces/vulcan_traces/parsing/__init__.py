"""Trace files as bytes, lines and records, for the readers of all formats."""
