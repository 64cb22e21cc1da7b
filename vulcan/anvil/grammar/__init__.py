"""The tables that define the language."""
