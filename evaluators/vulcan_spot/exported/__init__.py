"""How exported policies for one region are used in other software; written into exported modules as they stand."""
