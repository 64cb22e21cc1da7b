"""The document of a report: a run with the evidence behind it."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from vulcan.documents.run import Conclusion, RankedCandidate, RunDocument, Split


class RunVersion(TypedDict):
    """Version that made a run, and its start."""

    vulcan: Annotated[str | None, "version of Vulcan"]
    began_at: Annotated[str | None, "time of the first event, in ISO 8601"]


class ReportVersion(TypedDict):
    """Version that made a report."""

    vulcan: Annotated[str, "version of Vulcan"]
    python: Annotated[str, "version of Python"]


class InstanceParameters(TypedDict):
    """An instance with its parameters."""

    instance: Annotated[str, "its name"]
    split: Annotated[Split, "the split that it belongs to"]
    parameters: Annotated[dict[str, Any], "what makes it, as the evaluator has it"]


class EventRows(TypedDict):
    """Rows of the store's table `events`."""

    started: Annotated[int | None, "the start of the run"]
    instances: Annotated[int | None, "the instances"]
    chosen: Annotated[int | None, "the choice of the winner"]


class ProgressPoint(TypedDict):
    """The best score so far after a candidate."""

    candidate: Annotated[int, "its number"]
    score: Annotated[float | None, "its score on train"]
    best: Annotated[float | None, "the best score on train so far"]
    dollars: Annotated[float, "cost so far; an unknown price counts as 0"]
    row: Annotated[int, "row of the store's table `events`"]


class ComparedRun(RunDocument):
    """A run in a report of several: its summary, with what tells it from the others."""

    seed: Annotated[int | None, "the seed of the search"]
    configuration: Annotated[str, "a digest of the other options: equal for runs that are seeds of one another"]
    progress: Annotated[list[ProgressPoint], "the best score on train over candidates"]


class SeedRow(TypedDict):
    """The search of one seed; scores are the winner's, `null` where there is none."""

    seed: Annotated[int, "the seed"]
    run: Annotated[str, "the run's directory"]
    candidate: Annotated[int | None, "the winner's number"]
    train: Annotated[float | None, "its mean score on train"]
    validation: Annotated[float | None, "on validation"]
    test: Annotated[float | None, "on test; nothing is chosen by it"]
    verdict: Annotated[Conclusion | None, "the verdict on the run"]
    sentence: Annotated[str | None, "the verdict in a sentence"]


class SeedsDocument(TypedDict):
    """Searches that differ in their seed alone."""

    seeds: Annotated[list[SeedRow], "the searches, in the order of seeds"]
    best: Annotated[str | None, "the run whose winner is the best on validation"]
    verdict: Annotated[
        Conclusion | None, "the verdict on that winner, after what choosing the best of the seeds adds by luck"
    ]
    sentences: Annotated[list[str], "what varies, and what to take"]


class Difference(TypedDict):
    """An option in which searches differ."""

    option: Annotated[str, "its name"]
    values: Annotated[list[str], "its values as JSON, in the order of the runs"]


class ComparisonDocument(TypedDict):
    """Several runs of one task."""

    task: Annotated[str, "the task's name or path"]
    objective: Annotated[str, "what the scores are"]
    same_instances: Annotated[bool, "whether all runs have the same instances, so that their scores can be compared"]
    runs: Annotated[list[ComparedRun], "the runs, in the order given"]
    differences: Annotated[list[Difference], "options in which they differ"]
    together: Annotated[
        SeedsDocument | None, "what the runs say together, if they are finished and differ in their seed alone"
    ]


class PolicyInstanceScore(TypedDict):
    """The score of the winner or a known policy on an instance."""

    policy: Annotated[str, "the policy's name"]
    kind: Annotated[str, "`candidate`, `baseline`, `not carried` by the target, or `oracle`, which knows the future"]
    split: Annotated[Split, "the split of the instance"]
    instance: Annotated[str, "the instance's name"]
    score: Annotated[float, "higher is better"]
    metrics: Annotated[dict[str, float], "the task's metrics by name"]
    row: Annotated[int | None, "row of the store's table `events`"]


class WinnerAnalysis(TypedDict):
    """Results of the checker and the prover for the winner."""

    accepted: Annotated[bool, "false where the task was changed since"]
    violations: Annotated[list[dict[str, Any]], "as in `vulcan check`"]
    notes: Annotated[list[str], "warnings of the checker"]
    properties: Annotated[
        list[dict[str, Any]], "as in `vulcan verify`, with the `claim` in words and `counterexample` as text"
    ]
    operations: Annotated[int | None, "bound on the operations of a call"]


class Failures(TypedDict):
    """Candidates without a score."""

    verdicts: Annotated[dict[str, int], "number of candidates by verdict"]
    rules: Annotated[dict[str, int], "how often each rule of the language was broken"]


class ModelUsage(TypedDict):
    """The calls of one model, by the server's name."""

    model: Annotated[str, "its name"]
    calls: Annotated[int, "number of calls"]
    tokens_in: Annotated[int, "tokens of the prompts"]
    tokens_out: Annotated[int, "tokens of the replies"]
    dollars: Annotated[float | None, "`null` where a price is not known"]
    seconds: Annotated[float, "time of all calls"]


class CandidateRow(RankedCandidate):
    """A candidate in short, with its row of the store."""

    operations: Annotated[int | None, "bound on the operations of a call"]
    row: Annotated[int, "row of the store's table `events`"]


class Ancestor(CandidateRow):
    """The winner or one of its ancestors."""

    diff: Annotated[str, "a unified diff against its first parent"]


class ReportDocument(RunDocument):
    """The report of a run: its summary, and all evidence behind it."""

    objective: Annotated[str | None, "the objective that is maximised"]
    run_version: Annotated[RunVersion, "what made the run"]
    report_version: Annotated[ReportVersion, "what made the report"]
    configuration: Annotated[dict[str, Any], "the search's options by name, seeds included"]
    instances: Annotated[list[InstanceParameters], "what was measured on"]
    rows: Annotated[EventRows, "where the store has what holds for the whole run"]
    progress: Annotated[list[ProgressPoint], "the best score over candidates"]
    scores: Annotated[list[PolicyInstanceScore], "the winner, every baseline and every bound on every instance"]
    winner: Annotated[WinnerAnalysis | None, "the analysis of the winner"]
    history: Annotated[list[Ancestor], "the winner and its ancestors, the oldest first"]
    failures: Annotated[Failures, "candidates without a score"]
    models: Annotated[list[ModelUsage], "the calls of each model"]
    all_candidates: Annotated[list[CandidateRow], "every candidate in short"]
