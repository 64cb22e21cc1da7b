"""The kernels of the prefix-cache simulator, compiled by numba."""
