"""The sandbox of candidates: what each layer is, and how a process locks itself down."""
