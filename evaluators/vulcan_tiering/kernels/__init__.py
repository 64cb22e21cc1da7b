"""Kernels of the memory-tiering simulator, compiled by numba."""
