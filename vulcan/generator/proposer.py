"""The proposer `offline/evolve`: the offline generator, which is not a language model.

A policy of several functions is split into one program per function and joined again; one function is changed at a
time, and the others stay as they are. Where a task has several mechanisms or optional functions, a change may also be
another mechanism that uses the same functions, or a function more or less.
"""

from __future__ import annotations

import functools
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vulcan.anvil import Policy, Rejected, check, ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.dead_code import cells_read
from vulcan.anvil.rewrite.traversal import names_of
from vulcan.anvil.unparse import emit_source
from vulcan.generator.breeder import BredPolicy, Breeder, Genome
from vulcan.generator.draft import docstring_of
from vulcan.generator.program_state import NotMerged, ProgramState, free_name, merged, with_names, with_other_name
from vulcan.generator.vocabulary import vocabulary
from vulcan.models.base import Parent, Reply, Request
from vulcan.task import MECHANISM, Argument, Signature, Task


def part_of(program: ir.Module, name: str) -> ir.Module:
    """Extract one function's program, with the helpers and parameters it uses, but no choices. Raises KeyError."""
    part = replace(program.of(name), chosen=())
    if part.uses_state:
        return ProgramState.of(part).put_into(part, dict(part.parameters), [f.name for f in part.handlers])
    return part.without_unused_parameters()


def join(
    parts: Sequence[ir.Module],
    named: Sequence[str],
    interface: Signature,
    documentation: str,
    events: Sequence[str] = (),
    chosen: tuple[tuple[str, str], ...] = (),
) -> ir.Module:
    """Join the functions of all parts into one program, in the order of `named`, and handlers in that of `events`.

    It makes the choices that are `chosen`. Parameters, helpers and state that are the same in two parts are merged.
    Other names that two parts use for different things are renamed in the later one. Raises NotMerged.
    """
    arguments = {argument.name for argument in interface.arguments}
    parameters: dict[str, float] = {}
    helpers: dict[str, ir.Function] = {}
    entries: dict[str, ir.Function] = {}
    locals_: set[str] = set()
    state = ProgramState()
    for part in parts:
        reserved = {*grammar.BUILT_IN_NAMES, *arguments, *named}
        new = _renamed(part, reserved, parameters, helpers, locals_)
        if new.uses_state:
            state, new = _with_state(state, new, helpers)
        parameters |= dict(new.parameters)
        helpers |= {helper.name: helper for helper in new.helpers}
        entries[new.entry.name] = new.entry
        locals_ |= _locals(new)
    functions = (*helpers.values(), *(entries[name] for name in named))
    program = ir.Module(tuple(parameters.items()), functions, documentation, len(named), chosen=chosen)
    return state.put_into(program, parameters, events) if state.variables or state.handlers else program


def _with_state(
    state: ProgramState, part: ir.Module, helpers: Mapping[str, ir.Function]
) -> tuple[ProgramState, ir.Module]:
    """Add the part's state, and return the part with the names that its state then has. Raises NotMerged."""
    state, changed = merged(state, ProgramState.of(part), cells_read(part, part.entries), helpers)
    part = replace(part, functions=tuple(with_names(function, changed) for function in part.functions))
    if any(helpers.get(helper.name, helper) != helper for helper in part.helpers):
        raise NotMerged("a helper reads the state of two functions")
    return state, part


def _renamed(
    part: ir.Module,
    reserved: set[str],
    parameters: Mapping[str, float],
    helpers: Mapping[str, ir.Function],
    locals_: set[str],
) -> ir.Module:
    """Return the part with names changed where earlier parts use them for something else."""
    of_module = {*reserved, *parameters, *helpers}
    taken = {*of_module, *locals_}
    changed: dict[str, str] = {}

    def change(name: str) -> None:
        changed[name] = free_name(name, {*taken, *names_of(part), *changed.values()})

    for name in sorted(_locals(part) & of_module):
        change(name)
    for name, value in part.parameters:
        if parameters.get(name) != value and name in taken:
            change(name)
    for helper in part.helpers:
        if helpers.get(helper.name) != with_names(helper, changed) and helper.name in taken:
            change(helper.name)
    return replace(
        part,
        parameters=tuple((changed.get(name, name), value) for name, value in part.parameters),
        functions=tuple(with_names(function, changed) for function in part.functions),
        variables=tuple(with_other_name(variable, changed) for variable in part.variables),
    )


def _locals(part: ir.Module) -> set[str]:
    """Return the locals of all functions and the arguments of helpers."""
    assigned = {name for function in part.functions for name in ir.assigned_names(function.body)}
    return assigned | {name for helper in part.helpers for name in helper.arguments}


_TRIES = 20
_WHOLE_FUNCTION = 0.3
"""Probability that a crossover takes a whole function of the second parent, instead of mixing two."""

_OTHER_FORM = 0.12
"""Probability that a change is one of the mechanism, or of which optional functions there are."""


@dataclass(frozen=True, slots=True)
class Genomes:
    """A parent, and by name each of its functions as a genome of its own."""

    policy: Policy
    parts: dict[str, Genome]
    label: str = "a parent"

    @property
    def programs(self) -> dict[str, ir.Module]:
        return {name: part.policy.program for name, part in self.parts.items()}


class SeveralBreeder:
    """A generator of policies for one task that declares several functions, or several mechanisms."""

    def __init__(self, task: Task) -> None:
        """Prepare a breeder per function. Raises ValueError if a function of the task has nothing to read."""
        self._task = task
        self._breeders: dict[tuple[str, tuple[Argument, ...]], Breeder] = {}
        kinds = [task.of_policy(mechanism) for mechanism in task.mechanisms or ("",)]
        for kind in kinds:
            self._of(kind)
        self._varies = len(kinds) > 1 or any(f.optional for kind in kinds for f in kind.functions)

    def _of(self, task: Task) -> dict[str, Breeder]:
        """Return the breeders of the functions of policies of one kind; mechanisms share those of equal functions."""
        found = {}
        for declared in task.functions:
            name, key = declared.function, (declared.function, declared.arguments)
            if key not in self._breeders:
                self._breeders[key] = Breeder(vocabulary(task.alone(name)))
            found[name] = self._breeders[key]
        return found

    def genome(self, source: str) -> Genomes:
        """Parse a policy's source into genomes, one per function. Raises Rejected."""
        policy = check(source, self._task)
        parts = {name: breeder.genome(_alone(policy, name)) for name, breeder in self._of(policy.task).items()}
        return Genomes(policy, parts)

    def write(self, rng: random.Random, parents: Sequence[Genomes], proposal: int, operator: str = "") -> BredPolicy:
        """Write a valid policy unlike each of the parents, if any; `operator` as for `Breeder.write`."""
        prints = {parent.policy.fingerprint for parent in parents}
        for _ in range(_TRIES if parents and operator != "fresh" else 0):
            written = self._changed(rng, parents, proposal, operator)
            if written is not None and written.policy.fingerprint not in prints:
                return written
        found: BredPolicy | None = None
        for _ in range(_TRIES):
            found = self._fresh(rng, proposal) or found
            if found is not None and found.policy.fingerprint not in prints:
                break
        if found is None:
            raise AssertionError("functions that read a declared feature are a valid policy")
        return found

    def _fresh(self, rng: random.Random, proposal: int) -> BredPolicy | None:
        kinds = [self._task.of_policy(name) for name in self._task.mechanisms] or [self._task]
        kind = rng.choice(kinds) if len(kinds) > 1 else kinds[0]
        left_out = {f.function for f in kind.functions if f.optional and rng.random() < 0.5}
        made = {
            name: breeder.write(rng, [], proposal, "fresh").policy.program
            for name, breeder in self._of(kind).items()
            if name not in left_out
        }
        return self._checked(made, kind, "wrote a new program from the task's features")

    def _changed(
        self, rng: random.Random, parents: Sequence[Genomes], proposal: int, operator: str
    ) -> BredPolicy | None:
        one = parents[0]
        if self._varies and operator != "crossover" and rng.random() < _OTHER_FORM:
            return self._of_other_form(rng, one, parents[1:], proposal)
        breeders = self._of(one.policy.task)
        name = rng.choice(list(breeders))
        like = [parent for parent in parents if _same(parent, one, name)]
        if operator == "crossover" and min(len(like), len(breeders)) > 1 and rng.random() < _WHOLE_FUNCTION:
            said = f"took {name} of {like[1].label} into {one.label}"
            return self._put(one, name, like[1].programs[name], said)
        own = [replace(parent.parts[name], label=parent.label) for parent in like]
        written = breeders[name].write(rng, own, proposal, operator)
        kept = "" if one.label in written.description else f", and kept the rest of {one.label}"
        return self._put(one, name, written.policy.program, f"{_done(written.description)}, in {name}{kept}")

    def _of_other_form(
        self, rng: random.Random, one: Genomes, others: Sequence[Genomes], proposal: int
    ) -> BredPolicy | None:
        """Return the parent under another mechanism that uses its functions, or with an optional function changed."""
        own = one.policy.mechanism
        kinds = [self._task.of_policy(name, one.parts) for name in self._task.mechanisms if name != own]
        kinds = [kind for kind in kinds if all(f.function in one.parts for f in kind.functions)]
        whole = self._task.of_policy(own)
        optional = [f.function for f in whole.functions if f.optional]
        if not kinds and not optional:
            return None
        if rng.random() * (len(kinds) + len(optional)) < len(kinds):
            kind = rng.choice(kinds)
            parts = {f.function: one.programs[f.function] for f in kind.functions}
            return self._checked(parts, kind, f"changed {one.label}: put it under the mechanism {kind.mechanism}")
        name = rng.choice(optional)
        if name in one.parts:
            parts = {other: part for other, part in one.programs.items() if other != name}
            return self._checked(parts, one.policy.task, f"changed {one.label}: left {name} out")
        donor = next((other for other in others if name in other.parts), None)
        if donor is not None and rng.random() < 0.5:
            return self._put(one, name, donor.programs[name], f"changed {one.label}: took {name} of {donor.label}")
        new = self._of(whole)[name].write(rng, [], proposal, "fresh").policy.program
        return self._put(one, name, new, f"changed {one.label}: wrote a new {name}")

    def _put(self, parent: Genomes, name: str, new: ir.Module, said: str) -> BredPolicy | None:
        """Return the parent with one of its functions replaced or added."""
        # the new one last: the names of the others stay
        parts = {other: part for other, part in parent.programs.items() if other != name}
        return self._checked({**parts, name: new}, parent.policy.task, said, parent.policy.program.chosen)

    def _checked(
        self,
        parts: Mapping[str, ir.Module],
        kind: Task,
        done: str,
        chosen: tuple[tuple[str, str], ...] = (),
    ) -> BredPolicy | None:
        said = f"The offline generator (offline/evolve, not a language model) {done}."
        mechanism = kind.mechanism if len(self._task.mechanisms) > 1 else ""
        whole = self._task.of_policy(mechanism) if mechanism else kind
        named = [f.function for f in (*whole.others, whole.signature) if f.function in parts]
        if mechanism and not chosen:
            chosen = ((MECHANISM, mechanism),)
        interface, events = whole.whole_interface, [event.function for event in whole.events]
        try:
            program = join(list(parts.values()), named, interface, docstring_of(said), events, chosen)
            return BredPolicy(said, check(emit_source(program, interface), self._task))
        except (NotMerged, Rejected):
            return None


def _alone(policy: Policy, name: str) -> str:
    return emit_source(part_of(policy.program, name), policy.task.alone(name).whole_interface)


def _same(one: Genomes, other: Genomes, name: str) -> bool:
    """Check whether both have the function, with the same arguments."""
    if name not in one.parts or name not in other.parts:
        return False
    return one.policy.task.function(name).arguments == other.policy.task.function(name).arguments


def _done(description: str) -> str:
    """Return the action part of a single function's description."""
    return description.partition("not a language model) ")[2].rstrip(".")


NAME = "offline/evolve"

log = logging.getLogger(__name__)


class OfflineEvolve:
    """A proposer of Anvil programs, by typed mutation and crossover over a task's declared features.

    It reads the task's signature and the request's parents and operator, but no messages. A reply is determined by
    the `seed`, `proposal`, `turn`, `parents` and `operator` of its request. Safe to call from many threads.
    """

    def __init__(self, task: Task, fitted: Sequence[str] = (), first: int = 1) -> None:
        """Prepare to write policies of the task, every second one of the `first` proposals one of the `fitted`."""
        self._fitted, self._first = tuple(fitted), first
        is_one = not task.others and len(task.mechanisms) < 2
        self._breeder: _Breeder = Breeder(vocabulary(task)) if is_one else SeveralBreeder(task)
        self._genome = functools.lru_cache(maxsize=64)(self._breeder.genome)  # proposals of a round share parents
        self._unreadable: set[str] = set()

    @property
    def name(self) -> str:
        return NAME

    def propose(self, request: Request) -> Reply:
        started = time.perf_counter()
        index, odd = divmod(request.proposal - self._first, 2)
        if not odd and not request.turn and 0 <= index < len(self._fitted):
            said = "The offline generator (offline/evolve, not a language model) fitted a program to training data."
            text = f"{said}\n\n```python\n{self._fitted[index]}```\n"
            return Reply(text, NAME, "stop", None, None, 0.0, time.perf_counter() - started)
        rng = random.Random(f"{request.seed}:{request.proposal}:{request.turn}")
        written = self._breeder.write(rng, self._genomes(request), request.proposal, request.operator)
        text = f"{written.description}\n\n```python\n{written.policy.source}```\n"
        return Reply(text, NAME, "stop", None, None, 0.0, time.perf_counter() - started)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _genomes(self, request: Request) -> list[Any]:
        """Return the parents that are valid for this task: in request order for a crossover, else best first."""
        found: list[Any] = []
        for parent in _in_order(request):
            try:
                genome: Any = self._genome(parent.source)
            except Rejected as rejected:
                if parent.source not in self._unreadable:  # else it is named every time
                    self._unreadable.add(parent.source)
                    log.warning("candidate %d cannot be a parent: %s", parent.candidate, rejected)
                continue
            found.append(replace(genome, label=f"candidate {parent.candidate}"))
        return found


class _Breeder(Protocol):
    """The interface of both breeders; each has its own type of genome, with a `label`."""

    def genome(self, source: str) -> Any: ...
    def write(self, rng: random.Random, parents: Sequence[Any], proposal: int, operator: str = "") -> BredPolicy: ...


def _in_order(request: Request) -> Sequence[Parent]:
    if request.operator == "crossover":
        return request.parents
    return sorted(request.parents, key=lambda parent: -parent.score)
