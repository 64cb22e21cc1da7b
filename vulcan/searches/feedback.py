"""Feedback in prompts, beyond programs and scores: the workload, the known policies, findings on the policies shown.

Findings are of training instances alone: the workload is described when a run is opened (`evidence.open_run`), a policy
explained by a job that refuses other instances (`vulcan.scoring.Job`), and the events that hold them refuse them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.findings import EvaluatorFinding, InstanceFinding, Series, SmallTable, Statement
from vulcan.scoring import Executor, Job
from vulcan.searches.config import SearchConfig
from vulcan.searches.options import MAX_SECONDS
from vulcan.searches.scorer import Scorer
from vulcan.searches.strategies.base import Draft
from vulcan.store import RunRecord
from vulcan.store.events import PolicyExplained, WorkloadDescribed
from vulcan.task import Task

CHARACTERS_PER_TOKEN = 4
"""By which tokens are estimated, as no tokenizer fits all models."""

WORKLOAD_TOKENS, BASELINE_TOKENS, POLICY_TOKENS = 700, 700, 1600
"""Budgets of a prompt: for the workload; for the known policies; for findings about the parents, in equal parts."""

MAX_COLUMNS = 8
"""Most instances that the table of known policies has a column for; of more it gives the means alone."""

_BLANK_LINES = re.compile(r"\n{3,}")
_LONGER = 3.0
"""Time limit of findings, in time limits of a score."""


@dataclass(frozen=True, slots=True)
class PromptFeedback:
    """Text for one prompt: on the workload and the known policies, and on policies by their candidates."""

    background: str = ""
    policies: Mapping[int, str] = field(default_factory=dict)
    shows_scores: bool = True


@dataclass
class Feedback:
    """The feedback of one search: `--feedback none`, `scores` or `full`."""

    _task: Task
    _config: SearchConfig
    _record: RunRecord
    _scorer: Scorer
    _executor: Executor
    _pending: dict[int, PolicyExplained] = field(default_factory=dict)
    _recorded: Mapping[int, PolicyExplained] = field(default_factory=dict)

    def repeat(self, explained: Mapping[int, PolicyExplained]) -> None:
        """Say what another search said, whose replies are repeated: evaluators may have learnt other words since."""
        self._recorded = explained

    def about(self, draft: Draft, model: str) -> tuple[PromptFeedback, tuple[PolicyExplained, ...]]:
        """Return what to say in a prompt to the model, and the events of findings that nobody had asked for before.

        They belong to the proposal, and go into the store with it. The offline generator reads no prompt, and costs
        none. Raises what the executor raises.
        """
        if self._config.feedback == "none":
            return PromptFeedback(shows_scores=False), ()
        if self._config.feedback == "scores" or model.startswith("offline/"):
            return PromptFeedback(), ()
        added = self._explain([parent.candidate for parent in draft.parents]) if self._offers_findings else ()
        budget = POLICY_TOKENS // max(1, len(draft.parents))
        names = [instance.name for instance in self._scorer.asked]
        explained = {**self._pending, **self._record.explained}
        texts = {
            parent.candidate: as_text(event.located, budget, names)
            for parent in draft.parents
            if (event := explained.get(parent.candidate)) is not None
        }
        shown = {member.source for member in (*draft.parents, *draft.inspirations)}
        background = [self._workload, self._known_policies(shown)]
        found = {n: text for n, text in texts.items() if text}
        return PromptFeedback("\n".join(filter(None, background)), found), added

    def forget_pending(self) -> None:
        """Forget findings whose proposals were dropped before they were recorded."""
        self._pending.clear()

    @cached_property
    def _offers_findings(self) -> bool:
        return load_evaluator(self._task).offers(Evaluator.findings)

    def _explain(self, candidates: Iterable[int]) -> tuple[PolicyExplained, ...]:
        unknown = (n for n in candidates if n not in self._record.explained and n not in self._pending)
        missing = list(dict.fromkeys(unknown))
        running = {n: self._executor.submit(self._job(n)) for n in missing if n not in self._recorded}
        added = []
        for number in missing:
            if number in self._recorded:
                added.append(self._recorded[number])
                continue
            outcome = running[number].result()
            problem = "" if outcome.status == "scored" else f"{outcome.status}: {outcome.message}"
            added.append(PolicyExplained.of(number, outcome.findings, problem))
        self._pending.update({event.candidate: event for event in added})
        return tuple(added)

    def _job(self, number: int) -> Job:
        limit = min(_LONGER * self._config.limit, float(MAX_SECONDS))
        return Job(number, self._record.candidates[number].source, self._scorer.asked, limit, explain=True)

    @cached_property
    def _workload(self) -> str:
        return workload_text(self._record.workload, self._scorer.asked)

    def _known_policies(self, shown: Iterable[str]) -> str:
        """Return the scores of baselines and oracles, and the programs of the best that have one and are not shown."""
        training = self._scorer.of("train")
        known = [event for (_, split), event in self._record.baselines.items() if split == "train"]
        if not known:
            return ""
        text = "## Known policies\n\nScores of policies that others have written (an oracle knows the future):\n\n"
        scores = {event.label: self._scorer.on_each(training, event.metrics) for event in known}
        text += table_of_scores(scores.items(), training if len(training) <= MAX_COLUMNS else ()) + "\n"
        if len(text) > BASELINE_TOKENS * CHARACTERS_PER_TOKEN:
            return ""
        seeds = self._task.seed_policies()
        sources = {name.replace("_", "-"): source for name, source in seeds.items()}
        for event in sorted(known, key=lambda event: -event.score):
            source = sources.get(event.policy.replace("_", "-"))
            if source is not None and event.kind == "baseline":
                program = f"\n`{event.policy}` as a program of this task:\n\n```python\n{source.strip()}\n```\n"
                if source not in shown and len(text + program) <= BASELINE_TOKENS * CHARACTERS_PER_TOKEN:
                    text += program
        return text


def workload_text(described: WorkloadDescribed | None, training: Sequence[Instance]) -> str:
    """Return the part of a prompt that describes the training instances; empty where nothing does."""
    names = [instance.name for instance in training]
    text = as_text(described.located if described else (), WORKLOAD_TOKENS, names)
    return f"## The workload\n\n{text}\n" if text else ""


def as_text(findings: Sequence[InstanceFinding], tokens: int, instances: Sequence[str]) -> str:
    """Return findings as Markdown, those of the highest weight first, as many as the budget of tokens allows.

    One that does not fit is left out, and smaller ones that follow are not; those of weight 0 always are. Raises
    ValueError for a finding of held-out data.
    """
    left = tokens * CHARACTERS_PER_TOKEN
    chosen = []
    for one in sorted(findings, key=lambda finding: -finding.content.weight):
        if one.split != "train":
            raise ValueError(f"a finding of {one.instance} ({one.split}): prompts are of training instances alone")
        if not one.content.weight:
            continue
        text = _markdown_of(one.content, f"{one.instance}: " if len(instances) > 1 else "")
        if len(text) + 1 <= left:
            left -= len(text) + 1
            chosen.append(text)
    return _BLANK_LINES.sub("\n\n", "\n".join(chosen)).strip("\n")


def _markdown_of(content: EvaluatorFinding, prefix: str) -> str:
    match content:
        case Statement(text):
            return f"- {prefix}{text}"
        case SmallTable(title, columns, rows):
            return f"\n{prefix}{title}:\n\n{markdown(columns, [tuple(map(cell_text, row)) for row in rows])}\n"
        case Series(title, x, y, points):
            return f"- {prefix}{title} ({x}: {y}): " + ", ".join(f"{cell_text(a)}: {cell_text(b)}" for a, b in points)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (columns, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def table_of_scores(policies: Iterable[tuple[str, Sequence[float]]], instances: Sequence[Instance]) -> str:
    """Return a table of policies, the best mean score first, with the scores on these instances if there are several.

    Of policies of one name and with equal scores there is one.
    """
    columns = [instance.name for instance in instances] if len(instances) > 1 else []
    ranked = sorted(policies, key=lambda one: -fmean(one[1]))
    rows = [(name, *(f"{score:.4f}" for score in (fmean(of), *of)[: 1 + len(columns)])) for name, of in ranked]
    mean = "mean" if any(len(scores) > 1 for _, scores in ranked) else "score"
    return markdown(("policy", mean, *columns), dict.fromkeys(rows))


def cell_text(value: str | float) -> str:
    """Return a cell of a table: whole numbers with separators, others with four digits."""
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
