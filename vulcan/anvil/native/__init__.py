"""Native back end: LLVM codegen for checked policies, the JIT, and runtime functions that compiled code calls."""
