"""Files as bytes, lines and records: what the readers of all formats are built from."""
