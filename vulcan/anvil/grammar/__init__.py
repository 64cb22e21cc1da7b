"""The grammar tables that define the language."""
