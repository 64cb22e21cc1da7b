"""Documents of the dashboard, served to its own pages only; not a public interface."""

from __future__ import annotations

from typing import Any, TypedDict

from vulcan.documents.run import NotesDocument, PolicyScore


class StatusDocument(TypedDict):
    """The state of a run."""

    state: str
    message: str
    pid: int | None


class LogLineDocument(TypedDict):
    """One row of the table `events`, in readable form."""

    row: int
    time: str
    text: str
    candidate: int | None


class BestCandidate(TypedDict):
    """The winner, or the best candidate so far."""

    candidate: int
    score: float | None
    chosen: bool


class PolicyLine(TypedDict):
    """A known policy, or the best candidate, with its score on each split."""

    policy: str
    kind: str
    candidate: int | None
    scores: dict[str, float | None]


class DashboardCost(TypedDict):
    """The cost of model calls so far."""

    calls: int
    tokens: int
    dollars: float
    unpriced_calls: int


class SearchLimits(TypedDict):
    """The budgets of a search, and the number of completed and planned proposals."""

    budgets: dict[str, float | None]
    proposals: int
    planned: int | None


class LiveRunDocument(SearchLimits):
    """A run as its page shows it."""

    run: str
    path: str
    task: Any
    objective: Any
    model: list[str]
    strategy: Any
    seed: Any
    begun: str
    last: str
    row: int
    status: StatusDocument
    verdict: str | None
    conclusion: str | None
    headline: str | None
    instances: list[str]
    source: str
    best: BestCandidate | None
    baseline: PolicyScore | None
    policies: list[PolicyLine]
    equal: str
    splits: list[str]
    candidates: int
    verdicts: dict[str, int]
    rules: dict[str, int]
    candidates_per_minute: float | None
    cost: DashboardCost


class RunPageDocument(LiveRunDocument):
    """A run as its page shows it, with the latest lines of its log."""

    log: list[LogLineDocument]
    notes: NotesDocument


class RunLine(TypedDict):
    """A run in the list of runs."""

    run: str
    title: str
    tags: list[str]
    begun: str
    task: Any
    model: list[str]
    candidates: int
    instances: list[str]
    conclusion: str | None
    gain: float | None
    best: int | None
    train: float | None
    test: float | None
    baselines: dict[str, PolicyScore]
    status: StatusDocument | None


class CandidatesPage(TypedDict):
    """One page of the table of candidates."""

    columns: list[str]
    found: int
    total: int
    page: int
    pages: int
    candidates: list[dict[str, Any]]


class DescentRow(TypedDict):
    """A candidate in a tree of descent; `gain` is over the best of its parents."""

    candidate: int
    parents: list[int]
    operator: str
    origin: str
    model: str | None
    score: float | None
    gain: float | None


class OperatorRow(TypedDict):
    """Results of an operator with a model: shares of its candidates scored and better than their parents, and gain."""

    operator: str
    model: str
    proposals: int
    accepted: float
    improved: int
    gain: float


class DescentDocument(TypedDict):
    """The ancestors of the best candidate, and the results of operators."""

    descent: list[DescentRow]
    operators: list[OperatorRow]
