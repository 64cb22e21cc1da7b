"""Stand-ins for what an exported module defines above the code of a format."""

_USES = frozenset()


class _Entity:
    __slots__ = ()


class _Statistics:
    pass


class PrefixPolicy:
    """See the task's `export/python.py`."""
