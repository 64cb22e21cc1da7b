"""Stand-ins for what an exported module defines above the code of a format."""

_USES = frozenset()


class RequestPolicy:
    """See `export/python.py` of the task `request_scheduling`."""


class RoutingPolicy:
    """See `export/python.py` of the task `request_routing`."""


class _Request:
    """See there."""


class _Answer:
    """See there."""
