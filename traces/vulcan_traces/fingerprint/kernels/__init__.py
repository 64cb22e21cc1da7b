"""Kernels of the workload fingerprint, compiled by numba."""
