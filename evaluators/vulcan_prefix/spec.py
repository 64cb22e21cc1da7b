"""An instance: a trace of prompts, the sizes of the caches, and the server."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.simulator import within
from vulcan_serving.server import Server


@dataclass(frozen=True, slots=True)
class PrefixSpec:
    """Requests from `measure_from` to `measure_to` are measured, always from an empty cache; sizes are in tokens."""

    trace: str
    trace_format: str | None
    block_tokens: int
    digest: str
    capacity: int
    host_capacity: int
    load: float
    measure_from: int
    measure_to: int
    token_us: float
    pair_ns: float
    overhead_ms: float
    decode_ms: float
    transfer_us: float

    @property
    def server(self) -> Server:
        return Server(self.overhead_ms, self.token_us, self.pair_ns, 0.0, 0.0, self.capacity)

    def __post_init__(self) -> None:
        within(
            self, load=(0, 100), token_us=(0, 1e9), pair_ns=(0, 1e9), overhead_ms=(1e-3, 1e9), decode_ms=(0, 1e9),
            transfer_us=(0, 1e9),
        )  # fmt: skip
