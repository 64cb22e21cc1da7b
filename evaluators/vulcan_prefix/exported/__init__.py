"""How exported policies of the task `prefix_cache` are used in servers; written into exported modules as they stand."""
