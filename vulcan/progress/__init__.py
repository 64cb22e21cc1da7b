"""How a search is shown while it runs: listeners to its events, and nothing more.

`open_display` gives the one that fits: drawn on a terminal, plain lines elsewhere, JSON lines for programs, or nothing.
"""
