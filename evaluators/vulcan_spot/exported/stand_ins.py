"""Stand-ins for what an exported module defines above the code of a format."""


class SpotRun:
    """See the task's `export/python.py`."""
