"""An instance: requests, the replicas that serve them, and what is known and asked for."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.errors import UserError
from vulcan.simulator import within
from vulcan_serving.server import Server

Goal = tuple[str, float, float, float]
"""A kind of requests, with its objectives for the time to the first token and of a further one, s, and its weight."""

GOALS: tuple[Goal, ...] = (
    ("all", 10.0, 0.1, 1.0),
    ("chat", 2.0, 0.1, 1.0),
    ("agent", 5.0, 0.1, 1.0),
    ("api", 30.0, 0.3, 1.0),
)
"""Objectives where the user gives none: people who wait for an answer, agents, programs, and everything else."""

MAX_REPLICAS = 64


@dataclass(frozen=True, slots=True)
class ServingSpec:
    """The first `requests` of a trace are served, by servers that are empty at first, and some of them measured.

    These are the ones from `measure_from` to `measure_to`. Arrivals are spread to the `load`, a share of what the
    replicas can do (`simulate.pace`); 0 leaves them as recorded.
    """

    trace: str
    trace_format: str | None
    block_tokens: int
    digest: str
    requests: int
    measure_from: int
    measure_to: int
    load: float
    base_ms: float
    prefill_us: float
    pair_ns: float
    decode_us: float
    context_ns: float
    memory: int
    replicas: int
    budget: int = 2048
    max_running: int = 256
    prefill: str = "chunked"
    lengths: str = "predicted"
    prediction_error: float = 0.5
    goals: tuple[Goal, ...] = GOALS
    patience_s: float = 0.0
    routers: int = 1
    delay_ms: float = 0.0
    seed: int = 1

    @property
    def server(self) -> Server:
        return Server(self.base_ms, self.prefill_us, self.pair_ns, self.decode_us, self.context_ns, self.memory)

    def __post_init__(self) -> None:
        within(
            self, load=(0, 10), replicas=(1, MAX_REPLICAS), routers=(1, MAX_REPLICAS), budget=(1, 2**20),
            max_running=(1, 2**16), prediction_error=(0, 5), patience_s=(0, 1e9), delay_ms=(0, 10_000), seed=(0, 2**31),
        )  # fmt: skip


def goals_of(texts: list[str]) -> tuple[Goal, ...]:
    """Return the objectives of texts such as `chat:ttft=2,tpot=0.1,weight=1`, else the default ones. Raises UserError.

    What a text leaves out is as in `all`.
    """
    made = {goal[0]: goal for goal in (GOALS[:1] if texts else GOALS)}
    for text in texts:
        kind, _, rest = text.partition(":")
        _, ttft, tpot, weight = made.get(kind, made["all"])
        values = {"ttft": ttft, "tpot": tpot, "weight": weight}
        for part in filter(None, rest.split(",")):
            name, _, number = part.partition("=")
            try:
                values[name] = float(number)
            except ValueError:
                values[name] = -1.0
            if len(values) > 3 or not 0 < values[name] <= 1e9:
                raise UserError(f"--goal {text}: {part!r} is none of ttft=S, tpot=S and weight=W, with numbers above 0")
        made[kind] = kind, values["ttft"], values["tpot"], values["weight"]
    return tuple(made.values())
