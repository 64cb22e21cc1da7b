"""Every policy once more, slow and plain: lists and dictionaries, sums taken anew, no shared data structures.

Each class is written from the same definition as its kernel but in other terms (a ring for CLOCK, `min` over all
residents for the priority queues), so that a slip in one is not repeated in the other.
"""

from __future__ import annotations

from slow_lhd import Lhd
from slow_lirs import Lirs
from slow_policy import Policy, refusing, simulate_slowly
from slow_queues import Arc, Lecar, S3Fifo, Slru, TwoQ, WTinyLfu
from slow_ranking import Belady, BeladySizeSampled, Clock, Fifo, Gdsf, Lfu, Lru, Sieve

__all__ = ["SLOW_POLICIES", "simulate_slowly"]

SLOW_POLICIES: dict[str, type[Policy]] = {
    "fifo": Fifo,
    "lru": Lru,
    "lfu": Lfu,
    "clock": Clock,
    "sieve": Sieve,
    "s3-fifo": S3Fifo,
    "slru": Slru,
    "2q": TwoQ,
    "arc": Arc,
    "lirs": Lirs,
    "gdsf": Gdsf,
    "lhd": Lhd,
    "lecar": Lecar,
    "w-tinylfu": WTinyLfu,
    "s3-fifo-refusing": refusing(S3Fifo, 10),
    "lirs-refusing": refusing(Lirs, 100),
    "w-tinylfu-refusing": refusing(WTinyLfu, 100),
    "belady": Belady,
    "belady-size-sampled": BeladySizeSampled,
}
