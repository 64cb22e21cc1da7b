"""Findings of the link evaluators: what a link is like, and where delay, idle capacity and losses come from."""
