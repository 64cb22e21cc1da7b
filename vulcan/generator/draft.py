"""A program in the making: the random generator, the task's vocabulary, and the parameters so far."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from vulcan.anvil import ir
from vulcan.anvil.rewrite.dead_code import cells_of
from vulcan.anvil.rewrite.traversal import numbered, with_children
from vulcan.generator.program_state import NO_STATE, NotMerged, ProgramState, merged, stem_of
from vulcan.generator.units import Unit, clashes, unit_of
from vulcan.generator.vocabulary import Vocabulary

T = TypeVar("T")


@dataclass
class PolicyDraft:
    rng: random.Random
    words: Vocabulary
    parameters: dict[str, float] = field(default_factory=dict)
    reserved_names: frozenset[str] = frozenset()
    """Names that a new parameter may not take: the locals and helpers of the program being edited."""
    state: ProgramState = NO_STATE
    donor: ProgramState = NO_STATE
    """The state of the program that expressions are adopted from."""

    def parameter(self, stem: str, value: float) -> ir.Parameter:
        """Add a parameter, rounded to three digits, named by the stem, with a number if that is taken."""
        name = numbered(stem, {*self.parameters, *self.reserved_names})
        self.parameters[name] = rounded(value)
        return ir.Parameter(name)

    def adopt(self, e: ir.Expression, parameters: Mapping[str, float]) -> ir.Expression:
        """Import an expression of another program, renaming its parameters where a name is taken.

        The state that it reads comes with it. Raises NotMerged.
        """
        roots = cells_of((ir.Return(e),))
        return self._adopt(e, parameters, self._adopt_state(roots, parameters) if roots else {})

    def _adopt(self, e: ir.Expression, parameters: Mapping[str, float], cells: Mapping[str, str]) -> ir.Expression:
        match e:
            case ir.Parameter(name):
                return ir.Parameter(self._adopted_name(name, parameters))
            case ir.Cell(name):
                return replace(e, name=cells[name])
            case ir.Element(name, index):
                return replace(e, name=cells[name], index=self._adopt(index, parameters, cells))
            case _:
                return with_children(e, tuple(self._adopt(part, parameters, cells) for part in ir.children(e)))

    def _adopted_name(self, name: str, parameters: Mapping[str, float]) -> str:
        value = parameters[name]
        if self.parameters.get(name) == value:
            return name
        return self.parameter(stem_of(name), value).name

    def _adopt_state(self, roots: frozenset[str], parameters: Mapping[str, float]) -> dict[str, str]:
        """Import the state that these names of the donor depend on, and return its names here.

        State that differs only in the values of parameters is shared, and the values stay as they are here.
        """
        own = self.state
        missing = [root for root in roots if own.sliced({root}) != self.donor.sliced({root})]
        part = self.donor.sliced(missing)
        changed = {name: self._adopted_name(name, parameters) for name in sorted(part.parameters)}
        taken = {*self.parameters, *self.reserved_names}
        self.state, names = merged(own, part.renamed(changed), missing, taken)
        self.reserved_names |= self.state.names
        if self.state.exceeds(self.words.task.state_limits):
            raise NotMerged("the state of both is over the limits")
        return {root: root for root in roots} | names

    def unit(self, e: ir.Expression) -> Unit | None:
        return unit_of(e, self.words.units, self.parameters)

    def clashes(self, e: ir.Expression) -> int:
        return len(clashes(e, self.words.units, self.parameters))

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, weighted: Sequence[tuple[float, T]]) -> T:
        """Draw one item by weight."""
        return self.rng.choices([item for _, item in weighted], [weight for weight, _ in weighted])[0]

    def lognormal(self, sigma: float) -> float:
        return math.exp(self.rng.gauss(0.0, sigma))

    def within(self, low: float, high: float) -> float:
        """Draw a number of the range: log-uniformly where it spans more than a factor of 100, else uniformly."""
        low, high = max(low, -1e12), min(high, 1e12)
        start = max(low, 1e-3 * min(high, 1.0)) if high > 0.0 else low
        if low >= 0.0 and high > 0.0 and high / start > 100.0:
            return math.exp(self.rng.uniform(math.log(start), math.log(high)))
        return self.rng.uniform(low, high)


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


def docstring_of(said: str) -> str:
    """Return a program's docstring, from what the generator says that it did."""
    return f"Written by t{said[1:].replace(') ', '), which ', 1)}"
