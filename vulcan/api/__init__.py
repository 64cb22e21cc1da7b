"""Vulcan in Python: `vulcan.search` and `vulcan.load`, and what they give.

The command line takes the same way: what a search is to be (`wanted`), and running it in its directory (`running`).
"""
