"""How a scheduling policy is used at run time: the class `RequestPolicy`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (first come, first served) the file works as it is.
"""

from vulcan.export.stand_ins import _Entity, _Statistics

_USES = frozenset({"request.arrived"})
PATIENCE = 120.0


def score(now: float, request: "_Request", engine: "_Engine") -> float:
    return -request.arrived


def preempt(now: float, request: "_Request", engine: "_Engine") -> float:
    return request.arrived


def reserve(now: float, engine: "_Engine") -> float:
    return 0.0


# --- exported modules have the policy above this line ---


class _Request(_Entity):
    """What the policy sees of a request: the argument `request`. Times are seconds since the first request came."""

    def __init__(self, identity: float, now: float) -> None:
        super().__init__()
        self.id, self.arrived = identity, now
        self.prompt = self.turn = 1.0
        self.predicted = self.priority = self.kind = self.session = self.ttft_goal = self.tpot_goal = 0.0
        self.cached = self.computed = self.first_token = self.generated = self.preempted = 0.0


class _Engine(_Statistics):
    """What the policy sees of the server: the argument `engine`."""

    def __init__(self) -> None:
        super().__init__()
        self.running = self.waiting = self.free = self.budget = self.step = 0.0
        self.capacity = self.max_running = 1.0


class RequestPolicy:
    """The policy, and what it remembers of requests.

    A server keeps a `request` of `new` for each request, sets its attributes (the features of the task) and those of
    `engine` before each call, and calls `arrived`, `admitted`, `began` (its first token is there), `made_room`,
    `finished` and, as the last, `forgotten` when that happens. `next` sorts the requests that wait, `victim` chooses
    one of those that run, and `kept_free` is how many tokens of memory admissions leave.
    """

    def __init__(self) -> None:
        self.engine = _Engine()

    def seed(self, seed: int) -> None:  # with state
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self.engine.seed(seed)

    def new(self, identity: float, now: float) -> _Request:
        """A request that has just come."""
        return _Request(float(identity), now)

    def arrived(self, request: _Request, now: float) -> None:
        """The request waits, its attributes set."""
        self.engine.enter(now, request)
        self.engine.on_arrival(now, request)  # with on_arrival

    def admitted(self, request: _Request, now: float) -> None:
        """The request joins those that run."""
        self.engine.update(now, request)
        self.engine.on_admit(now, request)  # with on_admit

    def began(self, request: _Request, now: float) -> None:
        """Its first token is written."""
        self.engine.on_first_token(now, request)  # with on_first_token

    def made_room(self, request: _Request, now: float) -> None:
        """It waits again."""
        self.engine.update(now, request)
        self.engine.on_preempt(now, request)  # with on_preempt

    def finished(self, request: _Request, now: float) -> None:
        """Its last token is written."""
        self.engine.on_finish(now, request)  # with on_finish

    def forgotten(self, request: _Request) -> None:
        """It has left, finished or not."""
        self.engine.leave(request)

    def next(self, waiting: list[_Request], now: float) -> list[_Request]:
        """The requests in the order in which they are to be admitted; who waited too long is ahead of all others."""

        def place(request: _Request) -> tuple[bool, float, float]:
            is_late = self._is_late(request, now)
            return (not is_late, 0.0 if is_late else -score(now, request, self.engine), request.id)

        return sorted(waiting, key=place)

    def victim(self, running: list[_Request], now: float) -> _Request:
        """The one of those that run that is to make room."""

        def readiness(request: _Request) -> tuple[bool, float, float]:
            is_late = self._is_late(request, now)
            ready = 0.0  # without preempt
            ready = 0.0 if is_late else preempt(now, request, self.engine)  # with preempt
            return (not is_late, ready, request.id)

        return max(running, key=readiness)

    def kept_free(self, now: float) -> float:
        """Tokens of memory that are kept free when requests are admitted, unless nothing runs."""
        kept = 0.0  # without reserve
        kept = min(max(reserve(now, self.engine), 0.0), 1e15)  # with reserve
        return kept

    def _is_late(self, request: _Request, now: float) -> bool:
        return PATIENCE > 0.0 and request.arrived + PATIENCE <= now
