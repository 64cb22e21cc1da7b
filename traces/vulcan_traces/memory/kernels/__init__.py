"""Programs whose memory accesses are recorded, compiled by numba."""
