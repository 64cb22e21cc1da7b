"""Policies as C: `double_header` computes in doubles as the reference does, `fixed_header` in 64-bit integers."""
