"""Settings of a search that are changed when it is resumed: what may change, from which proposal on, and what did."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vulcan import __version__
from vulcan.errors import UserError
from vulcan.searches.config import SearchConfig
from vulcan.searches.options import ASK, RESUME_OPTIONS
from vulcan.searches.strategies import Strategy, make_strategy
from vulcan.store import RunRecord, Store
from vulcan.store.events import RunStarted
from vulcan.trust import trust, trust_commands

log = logging.getLogger(__name__)


def with_settings(config: SearchConfig, given: Mapping[str, Any], where: str) -> SearchConfig:
    """Return the configuration with these settings, as plain values by name. Raises UserError."""
    changes = {name: RESUME_OPTIONS[name].parse(value, where) for name, value in given.items()}
    if isinstance(changes.get("api_base"), str):
        trust("addresses", changes["api_base"])
    if "model" in changes:
        if ASK in (*config.model, *changes["model"]):
            raise UserError(f"who answers cannot be changed to or from --model {ASK}: start a new search")
        trust_commands(changes["model"])
        changes["model"] = tuple(changes["model"])
    if (proposals := changes.get("budget_candidates")) is not None:  # the plan limits proposals too
        changes["rounds"] = max(config.rounds, -(-proposals // config.samples))
    return replace(config, **changes)


def warn_of_version(run: Path, record: RunRecord) -> None:
    """Say where a run that is to be continued or repeated was made by another version."""
    if record.version != __version__:
        log.warning(
            "%s was made by Vulcan %s, and this is %s: what is searched or scored now may come out otherwise",
            run, record.version[:40], __version__,
        )  # fmt: skip


def change_settings(run: Path, store: Store, config: SearchConfig) -> RunStarted | None:
    """Record settings that apply from the first proposal on that was not asked; None if they are as before.

    Raises UserError for a run that asks no more.
    """
    record = RunRecord.of(store.events())
    if config == SearchConfig.from_json(record.config):
        return None
    if record.confirmed or record.chosen is not None:
        raise UserError(
            f"{run.name} has measured its finalists on what it did not see: it searches no further; start a new search"
        )
    asked = [call.proposal for call in store.calls()] + [number for number, _ in store.questions()]
    event = RunStarted(config.to_json(), __version__, max([*record.proposals, *asked], default=0) + 1)
    store.append(event)
    return event


def describe_changes(record: RunRecord) -> list[str]:
    """Say in a line for each change of settings what they became, and from which proposal on."""
    lines = []
    for before, after in zip(record.searches, record.searches[1:], strict=False):
        names = [name for name in RESUME_OPTIONS if before.config.get(name) != after.config.get(name)]
        values = ", ".join(f"{name} {_spelled(after.config.get(name))}" for name in names)
        if names:
            lines.append(f"from proposal {after.since} on: {values}")
    return lines


def _spelled(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "unset" if value is None else str(value)


class Settings:
    """The configurations of a run in order, each with its strategy; the last is `config`.

    Each applies to the proposals from the one on that it was given before.
    """

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
