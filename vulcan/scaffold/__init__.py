"""Writes a new task: a whole package that passes its own tests, to be changed into one's own."""

from vulcan.scaffold.new_task import KINDS, write_task

__all__ = ["KINDS", "write_task"]
