"""From a checked policy to machine code: LLVM's text, its compiler, and the functions that compiled code calls."""
