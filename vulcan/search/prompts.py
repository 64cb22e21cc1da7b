"""What a model is told: templates filled in from the task and the grammar table.

A task may bring a template of its own, `prompt.md.j2` in its directory, that extends `propose.md.j2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import jinja2

from vulcan.anvil.language import describe_language
from vulcan.errors import UserError
from vulcan.models.base import Message
from vulcan.search.population import Member
from vulcan.task import Json, Mechanism, Objective, Task


def mechanism_of(task: Task, settings: Mapping[str, Json]) -> Mechanism | None:
    """The mechanism that the settings choose, or the task's first; None where it declares none. Raises UserError."""
    chosen = settings.get("mechanism")
    for mechanism in task.signature.mechanisms:
        if chosen is None or mechanism.name == chosen:
            return mechanism
    if chosen is None:
        return None
    raise UserError(f"task {task.name!r} has no mechanism {chosen!r}")


class Prompts:
    """The prompts of one task under one configuration."""

    def __init__(self, task: Task, objective: Objective, settings: Mapping[str, Json]) -> None:
        """Raises UserError where the task's template cannot be read."""
        places = [task.directory, Path(__file__).parent / "prompts"]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(places),
            autoescape=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=False,
            keep_trailing_newline=True,
        )
        name = "prompt.md.j2" if (task.directory / "prompt.md.j2").is_file() else "propose.md.j2"
        self._place = task.directory / name
        with self._faults():
            self._propose = self._templates.get_template(name)
        self._repair = self._templates.get_template("repair.md.j2")
        mechanism = mechanism_of(task, settings)
        self._fixed = {
            "task": task,
            "objective": objective,
            "mechanism": mechanism.spelled(settings) if mechanism else "",
            "language": describe_language(task).strip(),
        }

    def propose(self, round_: int, parents: Sequence[Member]) -> str:
        """The first message of a proposal. Raises UserError where the task's template goes wrong."""
        with self._faults():
            return self._propose.render(self._fixed, round=round_, parents=parents)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except jinja2.TemplateError as error:
            raise UserError(f"the prompt template {self._place} cannot be used: {error}") from error

    def repair(self, feedback: str) -> str:
        """The answer to a reply that was rejected."""
        return self._repair.render(feedback=feedback)

    def chat(self, round_: int, parents: Sequence[Member]) -> tuple[Message, ...]:
        return (Message("user", self.propose(round_, parents)),)
