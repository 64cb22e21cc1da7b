"""Attacks on the sandbox and the local Ray."""
