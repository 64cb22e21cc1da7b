"""The measured claims: each module runs as `python -m benchmarks.NAME` and takes --json, --quick and --check."""
