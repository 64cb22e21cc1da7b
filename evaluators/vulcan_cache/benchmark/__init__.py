"""Engine throughput benchmarks, for `vulcan bench` and the checkout's `benchmarks/`."""
