"""The entry points `vulcan.evaluate`, `vulcan.explain` and `vulcan.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vulcan.api.run import Candidate
from vulcan.api.search import plain_value
from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.inputs import read_policy_file
from vulcan.registry import find_task
from vulcan.results import explanation
from vulcan.results.explanation import Explanation
from vulcan.results.policy_evaluation import evaluate_policies
from vulcan.searches.config import sort_options


def evaluate(
    policies: str | Path | Candidate | Sequence[str | Path | Candidate],
    task: str | Path,
    *,
    part: str = "whole",
    objective: str | None = None,
    guard: str | None = None,
    limit: float = 600.0,
    allow_unsandboxed: bool = False,
    **settings: Any,
) -> pd.DataFrame:
    """Measure policies beside every baseline, as `vulcan eval` does.

    Args:
        policies: Policy files or candidates of a run, one or several.
        task: A task's name, or the directory of a task.
        part: The data to measure on: "whole", "train", "validation" or "test".
        objective: An objective of the task; its first by default.
        guard: A safe policy, guarded by which each is measured too.
        limit: Timeout in seconds of each policy, for all instances together.
        allow_unsandboxed: Measure on a host without a sandbox.
        settings: The task's own options, as for `explain`.

    Returns:
        A row for each instance and policy: `policy` (a file's name without its ending, or `candidate N`), `kind`
        (`candidate`, `baseline`, `oracle`), `instance`, the task's metrics, and `score`, higher is better.

    Raises:
        UserError: for an error in the arguments, and a policy that is rejected or fails.

    Example:
        >>> table = vulcan.evaluate("best.py", "cache_eviction", trace="my.csv", cache_size="10%")
        >>> table.sort_values("score").tail()
    """
    several = [policies] if isinstance(policies, str | Path | Candidate) else list(policies)
    sources = {_name(policy): _source(policy) for policy in several}
    if not several or len(sources) < len(several):
        raise UserError("vulcan.evaluate: name one policy or several, with names that differ")
    plain = _settings(task, settings, "vulcan.evaluate")
    found = evaluate_policies(
        sources, str(task), plain,
        part=part, objective=objective, guard=guard, limit=limit, allow_unsandboxed=allow_unsandboxed,
    )  # fmt: skip
    return pd.DataFrame(found.rows())


def explain(policy: str | Path | Candidate, task: str | Path, **settings: Any) -> Explanation:
    """Explain where a policy does well or badly, as `vulcan explain` does.

    Args:
        policy: A policy's file, or a candidate of a run.
        task: A task's name, or the directory of a task.
        settings: The task's own options, such as `trace` and `cache_size` of cache_eviction; a trace may be a pandas
            DataFrame.

    Raises:
        UserError: for an error in the arguments, a policy that fails, and a task whose evaluator explains nothing.

    Example:
        >>> found = vulcan.explain("best.py", "cache_eviction", trace="my.csv", cache_size="10%")
        >>> found.of(found.instances[0])[0].text
    """
    return explanation.explain(_source(policy), str(task), _settings(task, settings, "vulcan.explain"))


def compare(
    policy: str | Path | Candidate, other: str | Path | Candidate, task: str | Path, **settings: Any
) -> Explanation:
    """Compare two policies decision by decision, as `vulcan compare` does; the arguments are those of `explain`.

    Raises:
        UserError: as `explain`.

    Example:
        >>> vulcan.compare("best.py", "other.py", "cache_eviction", trace="my.csv", cache_size="10%")
    """
    given = _settings(task, settings, "vulcan.compare")
    return explanation.explain(_source(policy), str(task), given, against=_source(other))


def _name(policy: str | Path | Candidate) -> str:
    return f"candidate {policy.number}" if isinstance(policy, Candidate) else Path(policy).stem


def _source(policy: str | Path | Candidate) -> str:
    if isinstance(policy, Candidate):
        return policy.source
    return policy_source(read_policy_file(Path(policy)))


def _settings(task: str | Path, given: dict[str, Any], where: str) -> dict[str, Any]:
    plain = {name: plain_value(value) for name, value in given.items() if value is not None}
    options, settings = sort_options(find_task(str(task)), plain, where)
    if options:
        raise UserError(f"{where}: {next(iter(options))} is an option of a search: leave it out")
    return dict(settings)
