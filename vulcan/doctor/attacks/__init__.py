"""Attacks on the sandbox, the checkers, the score and the local Ray."""
