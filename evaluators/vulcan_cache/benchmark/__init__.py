"""How fast the engine is: what `vulcan bench` measures of it, and the benchmarks of the checkout more of."""
