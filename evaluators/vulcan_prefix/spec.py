"""An instance: a trace of prompts, the sizes of the caches, and the server."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan_prefix.server import Server


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
        return Server(self.token_us, self.pair_ns, self.overhead_ms, self.decode_ms, self.transfer_us)
