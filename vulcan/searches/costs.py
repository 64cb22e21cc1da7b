"""Totals of the model calls of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vulcan.store.events import CallRecord


@dataclass
class Costs:
    """Sums over calls. `unpriced` counts those of unknown price, which are not in `dollars`.

    `unreported` counts those whose tokens the server did not report.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    unreported: int = field(default=0, compare=False)

    @classmethod
    def of(cls, calls: Iterable[CallRecord]) -> Costs:
        costs = cls()
        for call in calls:
            costs.add(call)
        return costs

    def add(self, call: CallRecord) -> None:
        self.calls += 1
        self.tokens_in += call.tokens_in or 0
        self.tokens_out += call.tokens_out or 0
        self.unreported += call.tokens_in is None and call.dollars != 0
        if call.dollars is None:
            self.unpriced += 1
        else:
            self.dollars += call.dollars

    def text(self) -> str:
        """Format for display: `$0.12`, or `$0.12 + 3 calls of unknown price`."""
        unknown = f" + {self.unpriced} calls of unknown price" if self.unpriced else ""
        return f"${self.dollars:.2f}{unknown}"
