"""The modelled server: what a step takes, and how many tokens its memory holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError, did_you_mean
from vulcan.simulator import within


@dataclass(frozen=True, slots=True)
class Server:
    """Constants of a model on its hardware.

    A step takes `base_ms`, `prefill_us` for each token of a prompt, `pair_ns` for each pair of a token of a prompt and
    one that it attends to, `decode_us` for each request that writes a token and `context_ns` for each token of these
    requests' contexts. `memory` is the number of tokens that the KV cache holds.
    """

    base_ms: float
    prefill_us: float
    pair_ns: float
    decode_us: float
    context_ns: float
    memory: int

    def __post_init__(self) -> None:
        within(self, **{each.name: (0, 1e12) for each in fields(self)} | {"base_ms": (1e-3, 1e12)})

    def prefill_seconds(self, new: NDArray[np.int64], cached: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the times of steps that compute so many tokens of one prompt each, after so many cached ones."""
        pairs = new * cached + new * new / 2
        return self.base_ms * 1e-3 + self.prefill_us * 1e-6 * new + self.pair_ns * 1e-9 * pairs


def _dense(
    parameters: float, layers: int, width: int, token_bytes: float, devices: int, flops: float, bandwidth: float
) -> Server:
    """Return the server of a dense model with weights of 2 bytes on devices of 80 GB.

    A token of a prompt takes 2 operations a parameter, and a pair 4 a layer and number of its width (Kaplan et al.,
    2020, section 2.1), at half of the peak. A step reads the weights and the keys and values of the contexts, at six
    tenths of the bandwidth. The cache has what the weights leave of nine tenths of the memory.
    """
    speed, rate = devices * flops / 2, devices * bandwidth * 0.6
    return Server(
        base_ms=round(1e3 * 2 * parameters / rate, 2),
        prefill_us=round(1e6 * 2 * parameters / speed, 2),
        pair_ns=round(1e9 * 4 * layers * width / speed, 3),
        decode_us=round(1e6 * 2 * parameters / speed, 2),
        context_ns=round(1e9 * token_bytes / rate, 2),
        memory=round((0.9 * 80e9 * devices - 2 * parameters) / token_bytes / 1e3) * 1000,
    )


_A100, _H100 = (312e12, 2.039e12), (989e12, 3.35e12)
"""Operations (16 bits, dense) and bytes of memory a second, by NVIDIA's data sheets of the SXM modules of 80 GB."""

SERVERS = {
    "70b-8xa100": _dense(70e9, 80, 8192, 327_680, 8, *_A100),
    "70b-8xh100": _dense(70e9, 80, 8192, 327_680, 8, *_H100),
    "8b-h100": _dense(8e9, 32, 4096, 131_072, 1, *_H100),
}
"""Llama 3's dimensions, with 8 heads of keys and values of 128 numbers of 2 bytes in each layer."""


def find_server(text: str) -> Server:
    """Return a server by its name, or from a file that `vulcan traces fit-server` has written. Raises UserError."""
    if text in SERVERS:
        return SERVERS[text]
    path = Path(text)
    if not path.is_file():
        raise UserError(f"no server or file {text!r}{did_you_mean(text, SERVERS)} (known: {', '.join(SERVERS)})")
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        return Server(**given)
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: no server as `vulcan traces fit-server` writes it: {error}") from error
