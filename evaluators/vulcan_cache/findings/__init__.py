"""Findings of the cache evaluators: what a workload is like, and where a policy's misses come from."""
