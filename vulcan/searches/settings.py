"""The settings under which each proposal of a search is drafted: those it was resumed with apply to later ones only."""

from __future__ import annotations

from vulcan.searches.config import SearchConfig
from vulcan.searches.strategies import Strategy, make_strategy
from vulcan.store import RunRecord


class Settings:
    """The configurations of a run in order, each with its strategy; the last is `config`."""

    def __init__(self, record: RunRecord, config: SearchConfig) -> None:
        earlier = [(one.since, SearchConfig.from_json(one.config)) for one in record.searches]
        last = earlier.pop()[0] if earlier else 0
        self._all = [(since, each, make_strategy(each, each.offline)) for since, each in (*earlier, (last, config))]

    @property
    def strategy(self) -> Strategy:
        """The strategy of what is asked next."""
        return self._all[-1][2]

    def at(self, number: int, first: int) -> tuple[SearchConfig, Strategy, int]:
        """Return the configuration and the strategy of a proposal, and its barrier; `first` is the first proposal.

        A barrier never moves back, though more proposals may be in flight than before.
        """
        known = [each for each in self._all if each[0] <= number] or self._all[:1]
        _, config, strategy = known[-1]
        ends = [since - 1 for since, _, _ in known[1:]]
        earlier = [each[2].barrier(max(0, end - first)) for each, end in zip(known, ends, strict=False)]
        return config, strategy, max([strategy.barrier(number - first), *earlier])
