"""Kernels of the cache simulator, compiled by numba."""
