"""Generated traces, from a one-line specification."""
