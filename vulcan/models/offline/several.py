"""Policies of several functions: one of them is worked on at a time, and the others stay as they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil import program as p
from vulcan.anvil.emit_source import emit_source
from vulcan.models.offline.breed import Breeder, Genome, Written
from vulcan.models.offline.join import join, part_of
from vulcan.models.offline.vocabulary import vocabulary
from vulcan.task import Task

_TRIES = 20
_WHOLE_FUNCTION = 0.3
"""How often a crossover takes a whole function of the second parent, instead of mixing the two parents' one."""


@dataclass(frozen=True, slots=True)
class Genomes:
    """A parent, and each of its functions as a parent of a policy that has no other one, by name."""

    policy: Policy
    parts: dict[str, Genome]
    label: str = "a parent"


class SeveralBreeder:
    """Writes policies of one task that declares several functions."""

    def __init__(self, task: Task) -> None:
        """Raises ValueError for a task that has a function which is shown nothing."""
        self._task = task
        self._alone = {declared.function: task.alone(declared.function) for declared in task.functions}
        self._breeders = {name: Breeder(vocabulary(alone)) for name, alone in self._alone.items()}

    def genome(self, source: str) -> Genomes:
        """What there is to work on in a policy's source. Raises Rejected."""
        policy = check(source, self._task)
        parts = {name: breeder.genome(self._written(policy, name)) for name, breeder in self._breeders.items()}
        return Genomes(policy, parts)

    def _written(self, policy: Policy, name: str) -> str:
        return emit_source(part_of(policy.program, name), self._alone[name].signature)

    def write(self, rng: random.Random, parents: Sequence[Genomes], proposal: int, operator: str = "") -> Written:
        """A valid policy, unlike each of the parents, of which there may be none; `operator` as `Breeder` has it."""
        prints = {parent.policy.fingerprint for parent in parents}
        for _ in range(_TRIES if parents and operator != "fresh" else 0):
            written = self._changed(rng, parents, proposal, operator)
            if written is not None and written.policy.fingerprint not in prints:
                return written
        found: Written | None = None
        for _ in range(_TRIES):
            found = self._fresh(rng, proposal) or found
            if found is not None and found.policy.fingerprint not in prints:
                break
        if found is None:
            raise AssertionError("functions that read a declared feature are a valid policy")
        return found

    def _fresh(self, rng: random.Random, proposal: int) -> Written | None:
        made = [breeder.write(rng, [], proposal, "fresh").policy.program for breeder in self._breeders.values()]
        return self._checked(made, "wrote a new program from the task's features")

    def _changed(self, rng: random.Random, parents: Sequence[Genomes], proposal: int, operator: str) -> Written | None:
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

    def _put(self, parent: Genomes, name: str, new: p.Program, said: str) -> Written | None:
        """The parent with another program in place of one of its functions."""
        parts = [new if other == name else part.policy.program for other, part in parent.parts.items()]
        # the others first: their names stay
        order = sorted(range(len(parts)), key=lambda index: parts[index] is new)
        return self._checked([parts[index] for index in order], said)

    def _checked(self, parts: Sequence[p.Program], done: str) -> Written | None:
        said = f"The offline generator (offline/evolve, not a language model) {done}."
        named = [declared.function for declared in (*self._task.others, self._task.signature)]
        program = join(parts, named, self._task.interface, f"Written by {said[0].lower()}{said[1:]}")
        try:
            return Written(said, check(emit_source(program, self._task.interface), self._task))
        except Rejected:
            return None


def _done(description: str) -> str:
    """What the generator of one function says that it did."""
    return description.partition("not a language model) ")[2].rstrip(".")
