"""Prompts to the model: templates filled in from the task and the grammar table.

A task may have its own template, `prompt.md.j2` in its directory, that extends `propose.md.j2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.models.base import Message
from vulcan.python_policy.check import describe_policy
from vulcan.searches.feedback import PromptFeedback
from vulcan.searches.population import ScoredCandidate
from vulcan.searches.strategies.base import Draft
from vulcan.task import Json, Objective, Program, Task

if TYPE_CHECKING:
    from vulcan.searches.conversation import Conversation

ADVICE_LINES = 10
"""Number of lines of advice to ask for."""

_MAX_INSTANCES = 12
"""Most instances to list individually; of more, the best and the worst half of this number."""


NOTHING = PromptFeedback()


def _uses(task: Task, settings: Mapping[str, Json]) -> list[dict[str, Any]]:
    """Return how each mechanism uses a policy: its name, where there are several, and its functions in order."""
    uses = []
    for name in task.mechanisms or ("",):
        functions = [
            {
                "function": declared.function,
                "returns": declared.returns,
                "mechanism": declared.mechanisms[0].description_with(settings) if declared.mechanisms else "",
                "optional": declared.optional,
            }
            for declared in task.of_policy(name).functions
        ]
        uses.append({"mechanism": name if len(task.mechanisms) > 1 else "", "functions": functions})
    return uses


class Prompts:
    """The prompts of one task under one configuration."""

    def __init__(
        self,
        task: Task,
        objective: Objective,
        settings: Mapping[str, Json],
        instances: Sequence[Instance] = (),
        limit: float | None = None,
    ) -> None:
        """Load the templates; `instances` are those of a member's `scores`, which programs run in `limit` seconds.

        Raises UserError.
        """
        places = [task.directory, Path(__file__).parent / "templates"]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(places),
            autoescape=False,
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        self._templates.filters["by_instance"] = _by_instance
        name = "prompt.md.j2" if (task.directory / "prompt.md.j2").is_file() else "propose.md.j2"
        self._path = task.directory / name
        with self._faults():
            self._propose = self._templates.get_template(name)
        self._advice = self._templates.get_template("advice.md.j2")
        self._engineer = self._templates.get_template("engineer.md.j2")
        self._repair = self._templates.get_template("repair.md.j2")
        self._fixed = {
            "task": task,
            "objective": objective,
            "settings": settings,
            "uses": _uses(task, settings),
            "default": task.mechanism,
            "limit": limit if isinstance(task.signature, Program) else None,
            "task_advice": [line for kind in task.kinds for line in kind.advice],
            "required": [each for kind in task.kinds for each in kind.properties if each.required],
            "language": describe_policy(task).strip(),
            "instances": tuple(instance.name for instance in instances),
            "advice_lines": ADVICE_LINES,
        }

    def propose(self, draft: Draft, feedback: PromptFeedback = NOTHING) -> str:
        """Return the first message of a proposal. Raises UserError where the task's template fails."""
        with self._faults():
            template = self._advice if draft.operator == "advice" else self._propose
            return template.render(
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

    def chat(
        self, draft: Draft, feedback: PromptFeedback = NOTHING, talk: Conversation | None = None
    ) -> tuple[Message, ...]:
        """Return the initial chat of a proposal, which may `talk` with tools."""
        text = self.propose(draft if talk is None else replace(draft, advice=""), feedback)
        if talk is not None:
            told = {"tools": talk.schemas, "turns": talk.share.turns, "drafts": talk.share.drafts}
            text += self._engineer.render(told, notes=draft.advice)
        return (Message("user", text),)

    def repair(self, feedback: str) -> str:
        """Return the answer to a rejected reply; `feedback` has the errors, from `ParsedReply`."""
        return self._repair.render(feedback=feedback)

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
