"""Kernels of parsing text and numbering objects, compiled by numba; import them late, numba is slow to load."""
