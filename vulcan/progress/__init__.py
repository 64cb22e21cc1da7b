"""Progress displays: listeners to the events of a running search.

`open_display` picks one: drawn on a terminal, plain lines elsewhere, JSON lines for programs, or none.
"""
