"""The toy task, whose evaluator misbehaves on request."""

from locations import TASKS

from vulcan.evaluator import Instance
from vulcan.scoring import Job, Limits, Setup

TOY_TASK = str(TASKS / "toy_task")
MIN = "def decide(load, room):\n    return min(load, room)\n"
LIMIT = 30.0
"""Seconds that an honest job never takes, not even on a busy host."""


class Toy:
    """Instances by kind of behaviour, their set-up, and jobs on them; children are warmed up with the first."""

    def __init__(self, *kinds: str, first: str = "honest", **limits: float) -> None:
        names = dict.fromkeys((first, "honest", *kinds))
        self.instances = {kind: Instance(kind, "train", {"kind": kind}) for kind in names}
        self.setup = Setup(TOY_TASK, tuple(self.instances.values()), Limits(**{"memory_bytes": 256 << 20, **limits}))

    def job(self, *kinds: str, id: int = 1, source: str = MIN, limit: float = LIMIT, probe: bool = False) -> Job:
        return Job(id, source, tuple(self.instances[kind] for kind in kinds), limit, probe)
