"""Checks of a host: which defences hold on it, and attacks that try them."""
