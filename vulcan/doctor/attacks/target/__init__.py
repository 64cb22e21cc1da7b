"""A task to attack: its evaluator runs an attack's code, as if a candidate had broken out of its language."""
