"""The modelled server: what a prompt and an output take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError


@dataclass(frozen=True, slots=True)
class Server:
    """Times of a server of a model.

    Computing `n` tokens of a prompt after `c` cached ones takes `overhead_ms` + `token_us` * n + `pair_ns` *
    (n * c + n * n / 2): the model's weights for each token, and attention for each pair of tokens. An output token
    takes `decode_ms`, whatever else runs, and a token that comes from host memory `transfer_us`.

    The defaults are those of a dense model of 70 billion parameters (80 layers of width 8192, 8 heads of keys and
    values of 128 numbers of 2 bytes) on eight A100s of 312 TFLOP/s at half of their peak: 2 * 70e9 operations a token
    and 4 * 80 * 8192 a pair (Kaplan et al., 2020, section 2.1) make 112 us and 2.1 ns; 320 KiB a token over one PCIe
    4.0 x16 link at 25 GB/s make 13 us. `overhead_ms` and `decode_ms` are assumptions.
    """

    token_us: float = 112.0
    pair_ns: float = 2.1
    overhead_ms: float = 10.0
    decode_ms: float = 30.0
    transfer_us: float = 13.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) <= 1e9:
                raise UserError(f"{name.replace('_', '-')} is {getattr(self, name)}: must be from 0 to 1e9")
        if self.token_us + self.pair_ns <= 0:
            raise UserError("token-us and pair-ns are both 0: prompts would take no time")

    def prefill_seconds(self, new: float, cached: float) -> float:
        """Time to compute so many tokens after so many cached ones."""
        pairs = new * cached + new * new / 2
        return self.overhead_ms * 1e-3 + self.token_us * 1e-6 * new + self.pair_ns * 1e-9 * pairs

    def numbers(self, tlru_threshold: float, tlru_estimate: float) -> NDArray[np.float64]:
        """Return them as the kernel takes them: see `layout`."""
        own = [
            1e-3 * self.overhead_ms, 1e-6 * self.token_us, 1e-9 * self.pair_ns, 1e-3 * self.decode_ms,
            1e-6 * self.transfer_us,
        ]  # fmt: skip
        return np.array([*own, tlru_threshold, tlru_estimate])
