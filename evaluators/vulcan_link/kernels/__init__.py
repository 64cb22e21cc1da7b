"""The kernel of the link simulator, compiled by numba."""
