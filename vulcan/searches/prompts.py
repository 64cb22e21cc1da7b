"""Prompts to the model: templates filled in from the task and the grammar table.

A task may have its own template, `prompt.md.j2` in its directory, that extends `propose.md.j2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import jinja2

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.models.base import Message
from vulcan.python_policy.check import describe_policy
from vulcan.searches.feedback import PromptFeedback
from vulcan.searches.population import ScoredCandidate
from vulcan.searches.strategies.base import Draft
from vulcan.task import Json, Mechanism, Objective, Rank, Task, Value

ADVICE_LINES = 10
"""Number of lines of advice to ask for."""

_MAX_INSTANCES = 12
"""Most instances to list individually; of more, the best and the worst half of this number."""


NOTHING = PromptFeedback()


def mechanism_of(task: Task, settings: Mapping[str, Json]) -> Mechanism | None:
    """Return the mechanism that the settings choose, or the task's first; None if it has none. Raises UserError."""
    chosen = settings.get("mechanism")
    for mechanism in task.signature.mechanisms:
        if chosen is None or mechanism.name == chosen:
            return mechanism
    if chosen is None:
        return None
    raise UserError(f"task {task.name!r} has no mechanism {chosen!r}")


def _other(declared: Rank | Value, settings: Mapping[str, Json]) -> dict[str, str]:
    """Describe a further function, with the mechanism that the settings choose for it, else its first."""
    named = [m for m in declared.mechanisms if m.name == settings.get("mechanism")] or list(declared.mechanisms[:1])
    mechanism = named[0].description_with(settings) if named else ""
    return {"function": declared.function, "returns": declared.returns, "mechanism": mechanism}


class Prompts:
    """The prompts of one task under one configuration."""

    def __init__(
        self, task: Task, objective: Objective, settings: Mapping[str, Json], instances: Sequence[Instance] = ()
    ) -> None:
        """Load the templates; `instances` are those of a member's `scores`. Raises UserError."""
        places = [task.directory, Path(__file__).parent / "templates"]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(places),
            autoescape=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=False,
            keep_trailing_newline=True,
        )
        self._templates.filters["by_instance"] = _by_instance
        name = "prompt.md.j2" if (task.directory / "prompt.md.j2").is_file() else "propose.md.j2"
        self._path = task.directory / name
        with self._faults():
            self._propose = self._templates.get_template(name)
        self._advice = self._templates.get_template("advice.md.j2")
        self._repair = self._templates.get_template("repair.md.j2")
        mechanism = mechanism_of(task, settings)
        self._fixed = {
            "task": task,
            "objective": objective,
            "settings": settings,
            "mechanism": mechanism.description_with(settings) if mechanism else "",
            "others": [_other(declared, settings) for declared in task.others],
            "language": describe_policy(task).strip(),
            "instances": tuple(instance.name for instance in instances),
            "advice_lines": ADVICE_LINES,
        }

    def propose(self, draft: Draft, feedback: PromptFeedback = NOTHING) -> str:
        """Return the first message of a proposal. Raises UserError where the task's template fails."""
        with self._faults():
            return self._template(draft).render(
                self._fixed | {"instances": self._fixed["instances"] if feedback.shows_scores else ()},
                background=feedback.background,
                findings=feedback.policies,
                shows_scores=feedback.shows_scores,
                round=draft.round,
                operator=draft.operator,
                parents=draft.parents,
                inspirations=draft.inspirations,
                failures=draft.failures,
                advice=draft.advice,
                hints=draft.hints,
                form=draft.form,
                kind="Example" if draft.operator == "initial" else "Version",
                heading=_heading(draft),
            )

    def chat(self, draft: Draft, feedback: PromptFeedback = NOTHING) -> tuple[Message, ...]:
        """Return the initial chat of a proposal."""
        return (Message("user", self.propose(draft, feedback)),)

    def repair(self, feedback: str) -> str:
        """Return the answer to a rejected reply; `feedback` has the errors, from `ParsedReply`."""
        return self._repair.render(feedback=feedback)

    def _template(self, draft: Draft) -> jinja2.Template:
        return self._advice if draft.operator == "advice" else self._propose

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except jinja2.TemplateError as error:
            raise UserError(f"the prompt template {self._path} cannot be used: {error}") from error


def _heading(draft: Draft) -> str:
    if draft.operator == "initial":
        return "Policies to start from"
    if draft.operator == "crossover":
        return "Policies to combine"
    return "The best policies so far" if len(draft.parents) > 1 else "The policy to change"


def _by_instance(member: ScoredCandidate, instances: Sequence[str]) -> list[tuple[str, float]]:
    """Return instances with the member's scores; of many, those where it is best and where it is worst."""
    scored = list(zip(instances, member.scores, strict=True))
    if len(scored) <= _MAX_INSTANCES:
        return scored
    ranked = sorted(scored, key=lambda pair: -pair[1])
    return ranked[: _MAX_INSTANCES // 2] + ranked[-_MAX_INSTANCES // 2 :]
