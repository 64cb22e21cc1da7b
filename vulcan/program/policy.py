"""A checked program, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from vulcan.program.parameters import Parameter, with_values
from vulcan.program.running import Place, Running
from vulcan.task import Program, Task


@dataclass(frozen=True)
class ProgramPolicy:
    """A checked policy of a task whose interface is PROGRAM. It has never run: `code` is its translation, marshalled.

    `hooks` are the names of those that it defines. `size` counts the nodes of its syntax tree. What Anvil can say of a
    policy and nobody can of free Python is here too, and empty: a bound of `operations`, `warnings`, a `constant`
    result.
    """

    source: str
    task: Task
    code: bytes = field(repr=False)
    hooks: frozenset[str]
    fingerprint: str
    size: int
    tunable: tuple[Parameter, ...]
    place: Callable[[], Place] | None = field(default=None, compare=False, repr=False)

    operations: None = None
    constant: None = None
    warnings: tuple[()] = ()

    @property
    def interface(self) -> Program:
        """The declaration of the class."""
        assert isinstance(self.task.signature, Program)
        return self.task.signature

    @property
    def parameters(self) -> dict[str, float]:
        """The numeric constants at the top of the source, which a tuner may change."""
        return {parameter.name: parameter.value for parameter in self.tunable}

    def source_with(self, values: Mapping[str, float]) -> str:
        """The source with other parameters.

        Raises KeyError for a name it has not, ValueError for a value that is not a finite number.
        """
        if unknown := values.keys() - self.parameters.keys():
            raise KeyError(", ".join(sorted(unknown)))
        if endless := sorted(name for name, value in values.items() if not math.isfinite(value)):
            raise ValueError(f"parameter {', '.join(endless)}: not a finite number")
        return with_values(self.source, self.tunable, values)

    def within(self, place: Callable[[], Place]) -> ProgramPolicy:
        """The same, to be run where `place` opens a new process of the sandbox."""
        return replace(self, place=place)

    def start(self, *given: int, loop: bytes | None = None) -> Running:
        """An instance of the class, made with these numbers, in a process of its own. To be closed after use.

        With a `loop` (see `vulcan.program.running`) batches are served by that: marshalled code of a module that has a
        class `Loop`, made with the hooks by name, what makes records of rows by hook, and the numbers.

        Raises ProgramFailed where it cannot be made, and ValueError where there is no place to run it.
        """
        if self.place is None:
            raise ValueError("a program runs in the sandbox only, and this one was given no place there")
        return Running.begin(self.place(), self.code, self.interface, self.hooks, given, loop)
