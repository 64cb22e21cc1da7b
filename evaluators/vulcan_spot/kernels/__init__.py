"""Kernels of the spot-instance simulator, compiled by numba."""
