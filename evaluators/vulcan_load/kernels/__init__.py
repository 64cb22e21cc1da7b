"""The kernel of the load-balancing simulator, compiled by numba."""
