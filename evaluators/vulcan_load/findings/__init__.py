"""Findings of the evaluator of load balancing: what a cluster is like, and where requests wait in vain."""
