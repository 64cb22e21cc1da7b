"""How a routing policy is used at run time: the class `RoutingPolicy`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (least loaded) the file works as it is.
"""

from vulcan.export.stand_ins import _Entity, _Statistics

_USES = frozenset({"replica.mine"})


def score(now: float, replica: "_Replica", router: "_Router", request: "_Request") -> float:
    return -replica.mine


# --- exported modules have the policy above this line ---


class _Replica(_Entity):
    """What the policy sees of a replica: the argument `replica`."""

    def __init__(self, identity: float) -> None:
        super().__init__()
        self.id = identity
        self.mine = self.prefill = self.held = self.prefix = self.same = self.drawn = self.queue = self.chance = 0.0
        self.running = self.waiting = self.used = self.age_ms = self.sent = 0.0


class _Router(_Statistics):
    """What the policy sees of all replicas: the argument `router`."""

    def __init__(self) -> None:
        super().__init__()
        self.replicas = self.unfinished = 0.0
        self.routers = self.capacity = 1.0


class _Request:
    """What the policy sees of a request that is to be sent: the argument `request`."""

    __slots__ = ("kind", "predicted", "priority", "prompt", "session", "tpot_goal", "ttft_goal", "turn")

    def __init__(self) -> None:
        self.prompt = self.turn = 1.0
        self.predicted = self.priority = self.kind = self.session = self.ttft_goal = self.tpot_goal = 0.0


class _Answer:
    """What the policy sees of a request that has tokens: the argument `answer`. Times are since its arrival."""

    __slots__ = ("cached", "generated", "predicted", "prompt", "total", "ttft")

    def __init__(self) -> None:
        self.prompt = self.generated = 1.0
        self.predicted = self.cached = self.ttft = self.total = 0.0


class RoutingPolicy:
    """The policy, and what it remembers of replicas.

    A router keeps a `replica` of `new` for each replica, sets its attributes (the features of the task) and those of
    `router` before each call, and calls `arrived`, `dispatched`, `reported`, `began` (a first token), `finished` and
    `forgotten` when that happens. `ranked` sorts replicas for a request; of equals the first stays first. Times are
    seconds since the first request.
    """

    def __init__(self) -> None:
        self.router = _Router()

    def seed(self, seed: int) -> None:  # with state
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self.router.seed(seed)

    def new(self, identity: float) -> _Replica:
        """A replica that is there from now on."""
        replica = _Replica(float(identity))
        self.router.enter(0.0, replica, _Request(), _Answer())  # with state
        self.router.enter(0.0, replica, _Request())  # without state
        return replica

    def forgotten(self, replica: _Replica) -> None:
        """It is gone."""
        self.router.leave(replica)

    def arrived(self, request: _Request) -> None:
        """A request has come."""
        if hasattr(self.router, "observe_arrival"):  # only for policies with statistics of it
            self.router.observe_arrival(request)

    def ranked(self, replicas: list[_Replica], request: _Request, now: float) -> list[_Replica]:
        """The replicas, the best for the request first."""
        return sorted(replicas, key=lambda replica: -score(now, replica, self.router, request))

    def dispatched(self, replica: _Replica, request: _Request, now: float) -> None:
        """The request goes to the replica, whose `mine` does not count it yet."""
        self.router.on_dispatch(now, replica, request)  # with on_dispatch

    def reported(self, replica: _Replica, now: float) -> None:
        """A report of the replica has come."""
        self.router.update(now, replica, _Request(), _Answer())  # with state
        self.router.update(now, replica, _Request())  # without state
        self.router.on_report(now, replica)  # with on_report

    def began(self, replica: _Replica, answer: _Answer, now: float) -> None:
        """The first token of a request is there."""
        self.router.on_first_token(now, replica, answer)  # with on_first_token

    def finished(self, replica: _Replica, answer: _Answer, now: float) -> None:
        """A request is finished, and `mine` no longer counts it."""
        if hasattr(self.router, "observe_completion"):  # only for policies with statistics of it
            self.router.observe_completion(answer)
        self.router.on_finish(now, replica, answer)  # with on_finish
