"""The measurements behind the tools of a conversation: all of them on training instances."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, Instance, load_evaluator, located
from vulcan.findings import InstanceFinding
from vulcan.lessons import WORTH, Lesson
from vulcan.scoring import Executor, Job
from vulcan.searches.config import SearchConfig
from vulcan.searches.evaluation import EvaluationPlan
from vulcan.searches.evidence import MIN_INSTANCES, WINDOWS, by_workload, equal_blocks, measure_baseline, workloads
from vulcan.searches.feedback import as_text, markdown
from vulcan.searches.options import MAX_SECONDS
from vulcan.searches.scorer import Scorer
from vulcan.searches.tuning import BatchEvaluation
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics
from vulcan.task import Task
from vulcan.terminal_text import count

FINDING_TOKENS = 1600
"""Tokens of findings in one result."""

_CLASSES = 6
"""Classes of a feature in a curve; of two features, half as many each."""


class Measured(NamedTuple):
    """A policy with its score on each training instance: the source of a program, or a baseline by its name."""

    name: str
    policy: str
    scores: tuple[float, ...] = ()
    is_program: bool = True

    @property
    def score(self) -> float:
        return fmean(self.scores)


@dataclass
class Bench:
    """What the tools of one search measure with, and what they have measured."""

    task: Task
    config: SearchConfig
    record: RunRecord
    scorer: Scorer
    executor: Executor
    plan: EvaluationPlan
    _on_windows: dict[str, list[float] | None] = field(default_factory=dict)

    @property
    def training(self) -> tuple[Instance, ...]:
        return self.scorer.of("train")

    def scores(self, metrics: InstanceMetrics) -> tuple[float, ...]:
        return self.scorer.on_each(self.training, metrics)

    @cached_property
    def evaluator(self) -> Evaluator:
        return load_evaluator(self.task)

    @cached_property
    def windows(self) -> tuple[tuple[Instance, ...], ...]:
        """The parts of each asked instance's time; none where one has none."""
        return equal_blocks(self.evaluator, self.scorer.asked)

    @cached_property
    def _window_scorer(self) -> Scorer:
        scorer = Scorer(self.scorer.objective, ())
        for policy in scorer.objective.references:
            for metrics in self._on_parts(Measured(policy, policy, is_program=False)):
                scorer.add_reference(policy, "train", metrics)
        return scorer

    def on(self, instances: Sequence[Instance]) -> BatchEvaluation:
        scorer = self._window_scorer if any(instances[0] in parts for parts in self.windows) else self.scorer
        return BatchEvaluation(self.task, tuple(instances), scorer, self.executor, self.config.limit)

    @cached_property
    def places(self) -> dict[str, tuple[Instance, ...]]:
        """Less than the training data, by name: rungs, each of several instances, parts of the time."""
        found = {rung.name: rung.instances for rung in self.record.rungs}
        found |= {one.name: (one,) for one in self.training if len(self.training) > 1}
        return found | {f"part {n}": part for n, part in enumerate(zip(*self.windows, strict=True), 1)}

    @cached_property
    def baselines(self) -> tuple[Measured, ...]:
        """The baselines and oracles, by their names with the kind."""
        known = [one for (_, split), one in self.record.baselines.items() if split == "train"]
        return tuple(Measured(b.label, b.policy, self.scores(b.metrics), is_program=False) for b in known)

    @property
    def best_known(self) -> list[Measured]:
        """The best baseline and the best oracle."""
        best = self.record.best_baseline("train"), self.record.best_baseline("train", "oracle")
        return [one for b in best if b is not None for one in self.baselines if one.policy == b.policy]

    def by_part(self, policy: Measured) -> list[float] | None:
        """Return the score on each part of the time, the mean over the asked instances; None for one that fails."""
        if policy.policy not in self._on_windows:
            measured = self._on_parts(policy)
            scores = [self._window_scorer.on_each(of, m) for of, m in zip(self.windows, measured, strict=True) if m]
            means = [fmean(at_once) for at_once in zip(*scores, strict=True)]
            self._on_windows[policy.policy] = means if len(scores) == len(self.windows) else None
        return self._on_windows[policy.policy]

    def _on_parts(self, policy: Measured) -> list[InstanceMetrics]:
        """Return metrics on the parts of each asked instance; empty where a program fails."""
        if not policy.is_program:
            results = [(of, measure_baseline(self.evaluator, policy.policy, of)) for of in self.windows]
            return [tuple((b.name, m) for b, m in zip(*one, strict=True)) for one in results]
        limit = min(self.config.limit * WINDOWS, float(MAX_SECONDS))
        # the last part first: an evaluator that remembers its run has measured the earlier ones on the way
        jobs = [self.executor.submit(Job(0, policy.policy, of[::-1], limit)) for of in self.windows]
        return [job.result().metrics for job in jobs]

    def gain(self, of: Measured, over: Measured) -> str:
        """Return by how much the score of one policy exceeds that of another, with its interval.

        It is over workloads, or where they are few over windows of their time.
        """
        from vulcan.searches.bootstrap import mean_interval

        gain, asked = of.score - over.score, workloads(self.scorer.asked)
        text, in_time = f"{gain:+.4f} over {over.name} ({over.score:.4f})", asked < MIN_INSTANCES
        units = [self.by_part(one) if in_time else by_workload(self.training, one.scores) for one in (of, over)]
        differences = [a - b for a, b in zip(*units, strict=True)] if all(units) else []
        offset = gain - fmean(differences or [gain])  # a ratio of the whole is not the mean of the ratios of its parts
        widest = self.scorer.objective.highest - self.scorer.objective.lowest
        interval = mean_interval([d + offset for d in differences], within=(-widest, widest), in_time=in_time)
        if interval is None:
            return f"{text}, no interval: {count(asked, 'workload')}, {count(len(differences), 'window')}"
        low, high, what = interval["low"], interval["high"], "windows" if in_time else "workloads"
        text += f", 95 % interval {low:+.4f} to {high:+.4f} over {len(differences)} {what}"
        if not any(differences):
            return f"{text}: the same in each of them"
        return f"{text}: it may be chance" if low <= 0 <= high else text

    def table(self, policies: Sequence[Measured]) -> str:
        """Return the scores of policies on each instance and each part of the time, as far as there are several."""
        instances = self.training if len(self.training) > 1 else ()
        parts = len(self.windows[0]) if self.windows else 0
        rows = [*(one.name for one in instances), *(f"part {n}" for n in range(1, parts + 1))]
        columns = {one.name: [*one.scores[: len(instances)], *(self.by_part(one) or ())] for one in policies}
        known = {name: scores for name, scores in columns.items() if len(scores) == len(rows)}
        cells = [(row, *(f"{scores[n]:.4f}" for scores in known.values())) for n, row in enumerate(rows)]
        return f"Scores:\n\n{markdown(('', *known), cells)}" if rows else ""

    def findings(self, source: str, against: str | None = None) -> str:
        """Return what the evaluator finds about a program, or where two differ. Raises UserError."""
        wanted = Evaluator.findings if against is None else Evaluator.compare
        if not self.evaluator.offers(wanted):
            raise UserError(f"this simulator does not {'explain policies' if against is None else 'compare policies'}")
        limit = min(3 * self.config.limit, float(MAX_SECONDS))
        outcome = self.executor.submit(Job(0, source, self.scorer.asked, limit, explain=True, against=against)).result()
        if outcome.status != "scored":
            raise UserError(f"the program is {outcome.status}: {outcome.message}")
        return self.as_text(outcome.findings)

    def as_text(self, findings: Sequence[InstanceFinding]) -> str:
        return as_text(findings, FINDING_TOKENS, [instance.name for instance in self.scorer.asked])

    def hazards(self) -> str:
        """Return how likely what a policy waits for is, by what it may know. Raises UserError."""
        return self.as_text([one for i in self.scorer.asked for one in located(self.evaluator.hazards(i), i)])

    def curve(self, feature: str, also: str) -> str:
        """Return what situations of training data bring, by a feature, or two. Raises UserError."""
        texts = []
        for instance in self.scorer.asked:
            lessons = self.evaluator.lessons(instance, self.scorer.objective.metric)
            texts.append(f"{instance.name}: {_curve([(one, _features(one)) for one in lessons], feature, also)}")
        return "\n\n".join(texts)


def _features(lesson: Lesson) -> list[str]:
    """Return the names of a lesson's columns."""
    functions = [node for node in syntax_tree(lesson.program).body if isinstance(node, ast.FunctionDef)]
    return [a.arg for function in functions if function.name == WORTH for a in function.args.args]


def _curve(lessons: Sequence[tuple[Lesson, list[str]]], feature: str, also: str) -> str:
    import numpy as np

    wanted = [name for name in (feature, also) if name]
    known = list(dict.fromkeys(name for _, names in lessons for name in names))
    if not feature:
        return f"there are: {', '.join(known)}"
    for name in wanted:
        if name not in known:
            raise UserError(f"no feature {name!r}{did_you_mean(name, known)} (there are: {', '.join(known)})")
    fitting = [(lesson, names) for lesson, names in lessons if set(wanted) <= set(names)]
    if not fitting:
        raise UserError(f"no lesson has {' and '.join(wanted)} together")
    lesson, names = fitting[-1]
    columns = [lesson.situations[:, names.index(name)] for name in wanted]
    classes = [_edges(column, _CLASSES // len(wanted)) for column in columns]
    of = [np.searchsorted(edges, column) for edges, column in zip(classes, columns, strict=True)]
    late = np.arange(len(lesson.gains)) * 2 >= len(lesson.gains)
    rows = []
    for place in np.ndindex(*(len(edges) for edges in classes)):
        chosen = np.logical_and.reduce([o == at for o, at in zip(of, place, strict=True)])
        halves = [chosen & ~late, chosen & late]
        if not all(half.any() for half in halves):
            continue
        labels = [f"up to {edges[at]:,.4g}" for edges, at in zip(classes, place, strict=True)]
        gained = [f"{100 * float((lesson.gains[half] > 0).mean()):.1f}" for half in halves]
        rates = [f"{1000 * float(lesson.gains[half].sum() / lesson.costs[half].sum()):.4g}" for half in halves]
        rows.append((*labels, str(int(chosen.sum())), *gained, *rates))
    header = (*wanted, "situations", "gain %, first half", "second half", "gain per 1,000 of cost, first", "second")
    return f"{lesson.name}\n\n{markdown(header, rows)}"


def _edges(column: Any, count: int) -> Any:
    """Return the upper ends of a column's classes, equally frequent but for a least value that is more frequent."""
    import numpy as np

    least = column.min()
    rest = column[column > least]
    if not len(rest) or (column == least).mean() * count <= 1:
        return np.unique(np.quantile(column, np.linspace(0, 1, count + 1)[1:]))
    return np.unique([least, *np.quantile(rest, np.linspace(0, 1, count + 1)[1:])])
