"""Steering of a search by a person: hints for its prompts, and policies of one's own.

A search holds the lock of its run, so that others leave instructions as files in the run's directory, its inbox. The
search takes them when it drafts a proposal, from which on they apply, and records that in the run's log at once; the
event follows with that of the proposal. A resumed, repaired or replayed search therefore drafts each proposal under the
same instructions.
"""

from __future__ import annotations

import json
import logging
import random
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import Literal, get_args

from vulcan.documents.conversation import InstructionDocument
from vulcan.errors import UserError
from vulcan.registry import recorded_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.population import Population
from vulcan.searches.proposal import ADDED
from vulcan.searches.reply import parse_source
from vulcan.searches.strategies import Draft, Strategy
from vulcan.store import RunRecord, Store
from vulcan.store.events import InstructionTaken, SearchSteered, SteeringAct
from vulcan.store.runs import RunNotStarted

log = logging.getLogger(__name__)

DIRECTORY = "steering"
"""Directory of instructions, in the run's directory."""

MAX_HINT = 1_000
"""Maximum length of a hint in characters."""

MAX_HINTS = 10
"""Hints that a prompt shows: the latest."""


class Inbox:
    """The instructions that wait in a run's directory, a file each."""

    def __init__(self, run: Path) -> None:
        self._directory = run / DIRECTORY

    def leave(self, given: SearchSteered) -> SearchSteered:
        """Write an instruction for the search to take. Raises UserError."""
        made = replace(given, id=f"{time.time_ns():020d}{secrets.token_hex(3)}", proposal=0)
        plain = {"act": made.act, "text": made.text}
        try:
            self._directory.mkdir(exist_ok=True)
            hidden = self._directory / f".{made.id}"
            hidden.write_text(json.dumps(plain), encoding="utf-8")
            hidden.rename(self._path(made))
        except OSError as error:
            raise UserError(f"cannot write to {self._directory}: {error.strerror}") from error
        return made

    def waiting(self) -> list[SearchSteered]:
        """Return the instructions that wait, the oldest first."""
        instructions = []
        for path in self._directory.glob("*.json"):
            try:
                instructions.append(_instruction(json.loads(path.read_bytes()), path.stem))
            except FileNotFoundError:  # taken by the search in the meantime
                continue
            except (OSError, ValueError, RecursionError) as error:
                log.warning("%s is no instruction, and left out: %s", path, error)
                with suppress(OSError):
                    path.rename(path.with_suffix(".unread"))  # so that it is reported once
        return sorted(instructions, key=attrgetter("id"))

    def remove(self, taken: SearchSteered) -> None:
        """Remove an instruction that is in the log. Raises UserError."""
        try:
            self._path(taken).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"cannot write to {self._directory}: {error.strerror}") from error

    def _path(self, instruction: SearchSteered) -> Path:
        return self._directory / f"{instruction.id}.json"


def _instruction(plain: object, identity: str) -> SearchSteered:
    """Read an instruction from a file. Raises ValueError for one that Vulcan did not write."""
    if not isinstance(plain, dict) or plain.get("act") not in get_args(SteeringAct):
        raise ValueError("it has no act")
    if not isinstance(text := plain.get("text"), str):
        raise ValueError("it has no text")
    return SearchSteered(0, identity, plain["act"], text)


class Steering:
    """The instructions of one search: those of its record, and those it takes from its inbox."""

    def __init__(self, record: RunRecord, store: Store, run: Path | None, answered: int) -> None:
        """Read the instructions of a run; without its directory no others are taken.

        New ones apply after the proposal `answered`, the last that was asked before an interruption.
        """
        self._inbox = None if run is None else Inbox(run)
        self._store = store
        self._after = answered
        taken = {one.id: SearchSteered(**asdict(one)) for one in store.instructions()}
        self._given = sorted((taken | {event.id: event for event in record.steered}).values(), key=attrgetter("id"))

    def repeat(self, given: Iterable[SearchSteered]) -> None:
        """Repeat the instructions of another search, and take no others."""
        self._inbox = None
        self._given = sorted(given, key=attrgetter("id"))

    def take(self, number: int) -> None:
        """Take the waiting instructions, to apply from this proposal on; each added program has one of its own."""
        if self._inbox is None:
            return
        known = {event.id for event in self._given}
        for waiting in self._inbox.waiting():
            if waiting.id not in known:  # else a killed search left its file
                at = max(number, self._after + 1)
                occupied = {event.proposal for event in self._given if event.act == waiting.act == "add"}
                while at in occupied:
                    at += 1
                taken = replace(waiting, proposal=at)
                self._store.record(InstructionTaken(**asdict(taken)))
                self._given = sorted((*self._given, taken), key=attrgetter("id"))
            self._inbox.remove(waiting)

    def events(self, number: int) -> tuple[SearchSteered, ...]:
        """Return the instructions that apply from this proposal on."""
        return tuple(event for event in self._given if event.proposal == number)

    def added(self, number: int) -> str | None:
        """Return the program that a person gave for this proposal, if any."""
        return next((event.text for event in self.events(number) if event.act == "add"), None)

    def draft(self, strategy: Strategy, drafted: int, number: int, population: Population, rng: random.Random) -> Draft:
        """Draft a proposal as the strategy does, under the instructions that apply to it."""
        draft = strategy.draft(drafted, population, rng)
        if self.added(number) is not None:
            return Draft(draft.round, ADDED, (), island=draft.island)
        hints = [event.text for event in self._given if event.proposal <= number and event.act == "hint"]
        return replace(draft, hints=tuple(hints[-MAX_HINTS:]))


def steer(run: Path, record: RunRecord, given: Sequence[SearchSteered]) -> list[SearchSteered]:
    """Leave instructions for the search of a run, which takes them with its next proposal, or once it is resumed.

    All are checked before one is written. Raises UserError.
    """
    if not record.config:
        raise RunNotStarted(run)
    if record.confirmed or record.chosen is not None:
        raise UserError(
            f"{run.name} has measured its finalists: its search takes no more instructions; start a new one"
        )
    if record.repeats:
        raise UserError(f"{run.name} replays another run: it takes no instructions")
    config = SearchConfig.from_json(record.config)
    checked = [_checked(event, record, config) for event in given]
    inbox = Inbox(run)
    return [inbox.leave(event) for event in checked]


def instruction_documents(run: Path, record: RunRecord, taken: Iterable[InstructionTaken]) -> list[InstructionDocument]:
    """Return all instructions to the search of a run, and those that it has `taken`, as JSON, the oldest first."""
    over = record.stopped is not None and record.stopped.reason == "finished"
    by_id: dict[str, tuple[SearchSteered, Literal["waiting", "applied", "not used"]]] = {}
    by_id |= {event.id: (event, "not used" if over else "waiting") for event in Inbox(run).waiting()}
    by_id |= {event.id: (event, "not used" if over else "applied") for event in taken}
    by_id |= {event.id: (event, "applied") for event in record.steered}
    return [
        {"act": event.act, "text": event.text, "state": state, "proposal": event.proposal or None}
        for _, (event, state) in sorted(by_id.items())
    ]


def _checked(given: SearchSteered, record: RunRecord, config: SearchConfig) -> SearchSteered:
    """Check an instruction against the run. Raises UserError."""
    if given.act == "add":
        return replace(given, text=_checked_source(given.text, record, config))
    if config.offline:
        raise UserError("the offline generator reads no prompt: a hint has no effect; add a policy instead")
    text = " ".join(given.text.split())
    if not 0 < len(text) <= MAX_HINT:
        raise UserError(f"a hint has 1 to {MAX_HINT:,} characters, and this one {len(text):,}")
    return replace(given, text=text)


def _checked_source(source: str, record: RunRecord, config: SearchConfig) -> str:
    reading = parse_source(source, recorded_task(config.task), config.target)
    if reading.policy is None:
        why = reading.feedback.splitlines()[0].removeprefix("- ")
        raise UserError(f"the checker rejects this program: {why}")
    known = record.candidate_with(reading.policy.fingerprint)
    if known is not None:
        raise UserError(f"this program is candidate {known} of the run already")
    return source
