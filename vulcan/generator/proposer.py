"""The proposer `offline/evolve`: the offline generator, which is not a language model.

A policy of several functions is split into one program per function and joined again; one function is changed at a
time, and the others stay as they are.
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
from vulcan.anvil.unparse import emit_source
from vulcan.generator.breeder import BredPolicy, Breeder, Genome
from vulcan.generator.program_state import NotMerged, ProgramState, free_name, merged, with_names, with_other_name
from vulcan.generator.vocabulary import vocabulary
from vulcan.models.base import Parent, Reply, Request
from vulcan.task import Signature, Task


def part_of(program: ir.Module, name: str) -> ir.Module:
    """Extract one function's program, with the helpers and parameters it uses. Raises KeyError."""
    part = program.of(name)
    if part.uses_state:
        return ProgramState.of(part).put_into(part, dict(part.parameters), [f.name for f in part.handlers])
    used = {e.name for f in part.functions for e in ir.expressions(f.body) if isinstance(e, ir.Parameter)}
    return replace(part, parameters=tuple((name, value) for name, value in part.parameters if name in used))


def join(
    parts: Sequence[ir.Module],
    named: Sequence[str],
    interface: Signature,
    documentation: str,
    events: Sequence[str] = (),
) -> ir.Module:
    """Join the functions of all parts into one program, in the order of `named`, and handlers in that of `events`.

    Parameters, helpers and state that are the same in two parts are merged. Other names that two parts use for
    different things are renamed in the later one. Raises NotMerged.
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
    program = ir.Module(tuple(parameters.items()), functions, documentation, len(named))
    program = replace(program, chosen=next((part.chosen for part in parts if part.chosen), ()))
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
    changed: dict[str, str] = {}
    for name in sorted(_locals(part) & of_module):
        changed[name] = free_name(name, {*of_module, *locals_, *_all(part), *changed.values()})
    for name, value in part.parameters:
        is_known = parameters.get(name) == value and name in parameters
        if not is_known and name in {*of_module, *locals_}:
            changed[name] = free_name(name, {*of_module, *locals_, *_all(part), *changed.values()})
    for helper in part.helpers:
        if helpers.get(helper.name) == with_names(helper, changed):
            continue
        if helper.name in {*of_module, *locals_}:
            changed[helper.name] = free_name(helper.name, {*of_module, *locals_, *_all(part), *changed.values()})
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


def _all(part: ir.Module) -> set[str]:
    own = {name for name, _ in part.parameters} | {function.name for function in part.functions}
    return own | _locals(part)


_TRIES = 20
_WHOLE_FUNCTION = 0.3
"""Probability that a crossover takes a whole function of the second parent, instead of mixing two."""


@dataclass(frozen=True, slots=True)
class Genomes:
    """A parent, and by name each of its functions as a genome of its own."""

    policy: Policy
    parts: dict[str, Genome]
    label: str = "a parent"


class SeveralBreeder:
    """A generator of policies for one task that declares several functions."""

    def __init__(self, task: Task) -> None:
        """Prepare a breeder per function. Raises ValueError if a function of the task has nothing to read."""
        self._task = task
        self._alone = {declared.function: task.alone(declared.function) for declared in task.functions}
        self._breeders = {name: Breeder(vocabulary(alone)) for name, alone in self._alone.items()}

    def genome(self, source: str) -> Genomes:
        """Parse a policy's source into genomes, one per function. Raises Rejected."""
        policy = check(source, self._task)
        parts = {name: breeder.genome(self._written(policy, name)) for name, breeder in self._breeders.items()}
        return Genomes(policy, parts)

    def _written(self, policy: Policy, name: str) -> str:
        return emit_source(part_of(policy.program, name), self._alone[name].whole_interface)

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
        made = [breeder.write(rng, [], proposal, "fresh").policy.program for breeder in self._breeders.values()]
        return self._checked(made, "wrote a new program from the task's features")

    def _changed(
        self, rng: random.Random, parents: Sequence[Genomes], proposal: int, operator: str
    ) -> BredPolicy | None:
        name = rng.choice(list(self._breeders))
        one = parents[0]
        if operator == "crossover" and len(parents) > 1 and rng.random() < _WHOLE_FUNCTION:
            other = parents[1]
            said = f"took {name} of {other.label} into {one.label}"
            return self._put(one, name, other.parts[name].policy.program, said)
        own = [replace(parent.parts[name], label=parent.label) for parent in parents]
        written = self._breeders[name].write(rng, own, proposal, operator)
        kept = "" if one.label in written.description else f", and kept the rest of {one.label}"
        return self._put(one, name, written.policy.program, f"in {name}: {_done(written.description)}{kept}")

    def _put(self, parent: Genomes, name: str, new: ir.Module, said: str) -> BredPolicy | None:
        """Return the parent with one of its functions replaced."""
        parts = [new if other == name else part.policy.program for other, part in parent.parts.items()]
        # the new one last: the names of the others stay
        order = sorted(range(len(parts)), key=lambda index: parts[index] is new)
        return self._checked([parts[index] for index in order], said)

    def _checked(self, parts: Sequence[ir.Module], done: str) -> BredPolicy | None:
        said = f"The offline generator (offline/evolve, not a language model) {done}."
        named = [declared.function for declared in (*self._task.others, self._task.signature)]
        interface, events = self._task.whole_interface, [event.function for event in self._task.events]
        try:
            program = join(parts, named, interface, f"Written by {said[0].lower()}{said[1:]}", events)
            return BredPolicy(said, check(emit_source(program, interface), self._task))
        except (NotMerged, Rejected):
            return None


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

    def __init__(self, task: Task, state: bool = False) -> None:
        """Prepare to write policies of the task; with `state`, they may also handle its events."""
        offered = task if state else replace(task, events=())
        self._breeder: _Breeder = SeveralBreeder(offered) if task.others else Breeder(vocabulary(offered))
        self._genome = functools.lru_cache(maxsize=64)(self._breeder.genome)  # proposals of a round share parents
        self._unreadable: set[str] = set()

    @property
    def name(self) -> str:
        return NAME

    def propose(self, request: Request) -> Reply:
        started = time.perf_counter()
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
                if parent.source not in self._unreadable:  # else a seed policy that keeps state is named every time
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
