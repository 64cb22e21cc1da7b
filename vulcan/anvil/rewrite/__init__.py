"""Program transformations that preserve behaviour: simplification, dead code removal, and lifting of constants."""
