"""C code generation: `double_header` in doubles, as in the reference, `fixed_header` in 64-bit integers."""
