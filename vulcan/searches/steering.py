"""Steering of a search by a person: hints, pinned and banned candidates, policies of one's own.

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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from vulcan.documents.conversation import InstructionDocument
from vulcan.errors import UserError
from vulcan.registry import recorded_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.population import Population, ScoredCandidate
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

MAX_SOURCE = 64 << 10
"""Maximum characters of a program; the checker itself accepts fewer."""

MAX_WAITING = 100
"""Instructions that may wait for a search at a time."""

PINNED_SHARE = 0.5
"""Share of the proposals with a single parent that build on a pinned candidate, as long as there is one."""

InstructionState = Literal["waiting", "applied", "not used"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction and its state; one that is `applied` has the number of a proposal."""

    event: SearchSteered
    state: InstructionState


class Inbox:
    """The instructions that wait in a run's directory, a file each."""

    def __init__(self, run: Path) -> None:
        self._directory = run / DIRECTORY

    def leave(self, given: SearchSteered) -> SearchSteered:
        """Write an instruction for the search to take. Raises UserError."""
        made = replace(given, id=f"{time.time_ns():020d}{secrets.token_hex(3)}", proposal=0)
        plain = {"act": made.act, "candidate": made.candidate, "text": made.text}
        try:
            self._directory.mkdir(exist_ok=True)
            if len(self.waiting()) >= MAX_WAITING:
                raise UserError(f"{MAX_WAITING} instructions wait for the search already: let it take them first")
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
        return sorted(instructions, key=_age)

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
    candidate, text = plain.get("candidate"), plain.get("text", "")
    if not isinstance(text, str) or not (candidate is None or type(candidate) is int):
        raise ValueError("its candidate or text is none")
    return SearchSteered(0, identity, plain["act"], candidate, text)


def _age(given: SearchSteered) -> str:
    return given.id


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
        self._given = sorted((taken | {event.id: event for event in record.steered}).values(), key=_age)

    def repeat(self, given: Iterable[SearchSteered]) -> None:
        """Repeat the instructions of another search, and take no others."""
        self._inbox = None
        self._given = sorted(given, key=_age)

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
                self._given = sorted((*self._given, taken), key=_age)
            self._inbox.remove(waiting)

    def events(self, number: int) -> tuple[SearchSteered, ...]:
        """Return the instructions that apply from this proposal on."""
        return tuple(event for event in self._given if event.proposal == number)

    def added(self, number: int) -> str | None:
        """Return the program that a person gave for this proposal, if any."""
        return next((event.text for event in self.events(number) if event.act == "add"), None)

    def draft(self, strategy: Strategy, drafted: int, number: int, population: Population, rng: random.Random) -> Draft:
        """Draft a proposal as the strategy does, under the instructions that apply to it."""
        given = [event for event in self._given if event.proposal <= number]
        if not given:
            return strategy.draft(drafted, population, rng)
        own = next((event for event in given if event.act == "add" and event.proposal == number), None)
        hints, pinned, banned = _in_force(given)
        draft = strategy.draft(drafted, _without(population, banned), rng)
        if own is not None:
            based = tuple(member for member in population.members if member.candidate == own.candidate)
            return Draft(draft.round, ADDED, based, island=draft.island)
        if draft.operator in ("mutate", "crossover"):
            draft = _with_pinned(draft, [m for m in population.members if m.candidate in pinned], rng)
            if not draft.parents:
                draft = replace(draft, operator="fresh")
        return replace(draft, hints=tuple(hints[-MAX_HINTS:]))


def _in_force(given: Sequence[SearchSteered]) -> tuple[list[str], set[int], set[int]]:
    """Return the hints, and the pinned and the banned candidates; later instructions replace earlier ones."""
    hints: list[str] = []
    pinned: set[int] = set()
    banned: set[int] = set()
    for event in given:
        if event.act == "hint":
            hints.append(event.text)
        elif event.act == "drop-hints":
            hints.clear()
        elif event.act != "add" and event.candidate is not None:
            pinned.discard(event.candidate)
            banned.discard(event.candidate)
            if event.act != "release":
                (pinned if event.act == "pin" else banned).add(event.candidate)
    return hints, pinned, banned


def _without(population: Population, banned: set[int]) -> Population:
    """Return the population without the banned candidates; all of it if nothing would be left."""
    left = [member for member in population.members if member.candidate not in banned]
    if not left or len(left) == len(population):
        return population
    return Population(left, population.attempts, population.advice)


def _with_pinned(draft: Draft, pinned: Sequence[ScoredCandidate], rng: random.Random) -> Draft:
    """Give a draft pinned parents: all of them where there are several parents, else one of them at times."""
    chosen = [member for member in pinned if member not in draft.parents]
    if not chosen:
        return draft
    if len(draft.parents) == 1:
        if rng.random() >= PINNED_SHARE:
            return draft
        parents: tuple[ScoredCandidate, ...] = (rng.choice(pinned),)
    else:
        room = max(1, len(draft.parents) - len(chosen))
        parents = (*draft.parents[:room], *chosen[: max(1, len(draft.parents) - room)])
    shown = {member.candidate for member in parents}
    return replace(
        draft, parents=parents, inspirations=tuple(m for m in draft.inspirations if m.candidate not in shown)
    )


def steer(run: Path, record: RunRecord, given: Sequence[SearchSteered]) -> list[SearchSteered]:
    """Leave instructions for the search of a run, which takes them with its next proposal, or once it is resumed.

    All are checked before one is written. Raises UserError.
    """
    if not record.config:
        raise RunNotStarted(run)
    if problem := steering_refusal(record):
        raise UserError(f"{run.name} {problem}")
    config = SearchConfig.from_json(record.config)
    checked = [_checked(event, record, config) for event in given]
    inbox = Inbox(run)
    return [inbox.leave(event) for event in checked]


def steering_refusal(record: RunRecord) -> str:
    """Say why the search of a run takes no instructions; empty if it does."""
    if record.confirmed or record.chosen is not None:
        return "has measured its finalists: its search takes no more instructions; start a new one"
    if record.repeats:
        return "replays another run: it takes no instructions"
    return ""


def hint_refusal(config: SearchConfig) -> str:
    """Say why hints have no effect in a search; empty if they do."""
    return "the offline generator reads no prompt: a hint has no effect" if config.offline else ""


def instructions(run: Path, record: RunRecord, taken: Iterable[InstructionTaken]) -> list[Instruction]:
    """Return all instructions given to the search of a run, the oldest first, and those that it has `taken`."""
    over = record.stopped is not None and record.stopped.reason == "finished"
    by_id = {event.id: Instruction(event, "not used" if over else "waiting") for event in Inbox(run).waiting()}
    by_id |= {event.id: Instruction(event, "not used" if over else "applied") for event in taken}
    by_id |= {event.id: Instruction(event, "applied") for event in record.steered}
    return [by_id[identity] for identity in sorted(by_id)]


def steered_as(given: Iterable[Instruction], candidate: int) -> Literal["pin", "ban"] | None:
    """Return whether a candidate is pinned or banned by the instructions, those that wait included."""
    _, pinned, banned = _in_force([one.event for one in given if one.state != "not used"])
    return "pin" if candidate in pinned else "ban" if candidate in banned else None


def instruction_documents(run: Path, record: RunRecord, taken: Iterable[InstructionTaken]) -> list[InstructionDocument]:
    """Return all instructions given to the search of a run as JSON, the oldest first."""
    return [
        {
            "act": one.event.act,
            "candidate": one.event.candidate,
            "text": one.event.text,
            "state": one.state,
            "proposal": one.event.proposal or None,
        }
        for one in instructions(run, record, taken)
    ]


def _checked(given: SearchSteered, record: RunRecord, config: SearchConfig) -> SearchSteered:
    """Check an instruction against the run. Raises UserError."""
    match given.act:
        case "hint":
            if problem := hint_refusal(config):
                raise UserError(f"{problem}; pin, ban or add instead")
            text = " ".join(given.text.split())
            if not 0 < len(text) <= MAX_HINT:
                raise UserError(f"a hint has 1 to {MAX_HINT:,} characters, and this one {len(text):,}")
            return replace(given, text=text)
        case "add":
            return replace(given, text=_checked_source(given.text, record, config))
        case "pin" | "ban" | "release":
            if config.strategy == "best-of-n":
                raise UserError("best-of-n builds on no candidate: there is nothing to pin or to ban")
            judged = record.candidates.get(given.candidate or 0)
            if judged is None:
                raise UserError(f"no candidate {given.candidate}: they go from 1 to {len(record.candidates)}")
            if judged.verdict != "scored":
                raise UserError(
                    f"candidate {judged.candidate} is {judged.verdict}: no proposal builds on it, and only one that "
                    "is scored can be pinned or banned"
                )
    return given


def _checked_source(source: str, record: RunRecord, config: SearchConfig) -> str:
    if len(source) > MAX_SOURCE:
        raise UserError(f"a program of {len(source):,} characters: at most {MAX_SOURCE:,} are looked at")
    reading = parse_source(source, recorded_task(config.task), config.target)
    if reading.policy is None:
        why = reading.feedback.splitlines()[0].removeprefix("- ")
        raise UserError(f"the checker rejects this program: {why}")
    known = record.candidate_with(reading.policy.fingerprint)
    if known is not None:
        raise UserError(f"this program is candidate {known} of the run already; pin it to have more made of it")
    return source
