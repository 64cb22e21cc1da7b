"""Kernels of the simulator, which numba compiles."""
