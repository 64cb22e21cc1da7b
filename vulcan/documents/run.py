"""Documents of a run: its verdict, summary, candidates, prompts, exports and progress lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vulcan.documents.policy import FindingRow

Split = Literal["train", "validation", "test"]
Conclusion = Literal["better", "no better", "undecided"]
"""`better` than what was known, on validation, beyond doubt; `no better`; or `undecided`, for want of evidence."""


class ConfidenceInterval(TypedDict):
    """A confidence interval of a mean over instances, or over blocks of time."""

    low: Annotated[float, "its lower end"]
    high: Annotated[float, "its upper end"]
    confidence: Annotated[float, "the confidence level, such as 0.95"]


class Recommendation(TypedDict):
    """The recommendation of a finished search."""

    sentence: Annotated[str, "the verdict in a sentence"]
    kind: Annotated[
        Literal["candidate", "start", "baseline"],
        "what is recommended: a candidate of the search, a policy that it began with, or a baseline",
    ]
    policy: Annotated[str, "its name"]
    candidate: Annotated[
        int | None,
        "its number; of a baseline, that of the policy of its name that the search began with, and `null` without one",
    ]
    second: Annotated[int | None, "the winner of the search, where something else is recommended"]
    to_add: Annotated[str | None, "evidence that is missing where the verdict is `undecided`"]


class Gain(TypedDict):
    """The winner's mean score minus that of a known policy, on one split."""

    over: Annotated[str, "the policy's name: of the baselines and what the search began with, the best on validation"]
    kind: Annotated[Literal["baseline", "start"], "which of the two"]
    split: Annotated[Split, "the split"]
    gain: Annotated[float, "the difference of the means"]
    shrunk: Annotated[float, "on validation: less what choosing the best of several finalists adds to it by luck"]
    interval: Annotated[ConfidenceInterval | None, "of `shrunk`, paired; `null` for too little evidence"]
    units: Annotated[Literal["instances", "windows"], "what the interval is over: workloads, or blocks of time"]
    count: Annotated[int, "how many of them; 0 where they are not known"]
    recent: Annotated[float, "the difference on the later half of the blocks of time; over instances, `gain`"]


class PolicyScore(TypedDict):
    """A known policy and its score."""

    policy: Annotated[str, "the policy's name"]
    score: Annotated[float, "higher is better"]


class Winner(TypedDict):
    """The winner of a search."""

    candidate: Annotated[int, "its number"]
    source: Annotated[str, "its program"]
    chosen_on: Annotated[Split | None, "the split that it was chosen on"]
    origin: Annotated[str, "`model`, `seed`, `tuned`, `simplified`, or `user` for one that a person added"]
    derived_from: Annotated[int | None, "the candidate that was tuned or simplified"]


class SplitScores(TypedDict):
    """The winner and the known policies on one split."""

    score: Annotated[float | None, "the winner's mean score over the instances"]
    interval: Annotated[ConfidenceInterval | None, "`null` for fewer than four instances, or scores that hardly differ"]
    instances: Annotated[list[str], "names of the instances"]
    best_baseline: Annotated[
        PolicyScore | None,
        "the baseline that is best on validation, or on train where nothing is held out, with its score here",
    ]
    baselines: Annotated[dict[str, float], "the mean score of each baseline"]
    oracles: Annotated[dict[str, float], "the mean score of each oracle"]
    starts: Annotated[dict[str, float], "the mean score of each policy that the search began with"]


class InstanceScores(TypedDict):
    """The winner and the best known policies on one instance."""

    instance: Annotated[str, "the instance's name"]
    split: Annotated[Split, "the split that it belongs to"]
    winner: Annotated[float | None, "the winner's score"]
    best_baseline: Annotated[PolicyScore | None, "that baseline, with its score on this instance"]
    oracle: Annotated[
        PolicyScore | None, "the best oracle on this instance: it knows the future, and is not always a proven bound"
    ]


class Refinement(TypedDict):
    """The derivation of a candidate that the search tuned or simplified."""

    candidates: Annotated[int, "candidates that were refined"]
    evaluations: Annotated[int, "evaluations that it took, on all training instances or on less"]
    cost: Annotated[float, "their cost, in evaluations on all training instances"]
    improved: Annotated[int, "how many became better, or simpler"]


class ModelCost(TypedDict):
    """The calls of models and what they cost."""

    calls: Annotated[int, "number of calls"]
    tokens_in: Annotated[int, "tokens of the prompts"]
    tokens_out: Annotated[int, "tokens of the replies"]
    dollars: Annotated[float, "the sum of the known prices"]
    unpriced_calls: Annotated[int, "calls whose price is not known"]


class RunDocument(TypedDict):
    """The summary of a run. A search with `--model ask` prints it too, with the state `open`."""

    run: Annotated[str, "the run's directory"]
    task: Annotated[str | None, "the task's name or path"]
    state: Annotated[
        Literal["finished", "interrupted", "error", "open"], "`open` where the run has not stopped, or was killed"
    ]
    verdict: Annotated[
        Conclusion | None,
        "whether the winner is better than what was known, on validation; `null` before the search has ended",
    ]
    recommendation: Annotated[Recommendation | None, "what to use; `null` before the search has ended"]
    headline: Annotated[str | None, "the result in a sentence, of the metric on test"]
    best: Annotated[Winner | None, "the winner"]
    train: Annotated[SplitScores | None, "scores on train; `null` for a split without instances"]
    validation: Annotated[SplitScores | None, "scores on validation"]
    test: Annotated[SplitScores | None, "scores on test"]
    cautions: Annotated[list[str], "what the task warns of in the winner, a line each"]
    notes: Annotated[list[str], "what was left out or changed when the workloads were read, a line each"]
    notebook: Annotated[list[str], "the model's latest notes and advice, a page, a line each"]
    changes: Annotated[list[str], "settings that were changed when the search was resumed, a line each"]
    gains: Annotated[list[Gain], "the winner's gain on each split over the known policy that is best on validation"]
    by_instance: Annotated[list[InstanceScores], "scores instance by instance"]
    proposals: Annotated[int, "completed proposals: candidates or pieces of advice that were asked for"]
    candidates: Annotated[
        dict[str, int],
        "number of candidates by verdict: `scored`, `stopped`, `duplicate`, `same-decisions`, `rejected`, `timeout`, "
        "`memory`, `crashed`, `failed`, `no-reply`",
    ]
    tuned: Annotated[Refinement, "tuning of constants"]
    simplified: Annotated[Refinement, "simplification of programs"]
    cost: Annotated[ModelCost, "calls of models"]


class ProposalData(TypedDict):
    """A proposal, as the store has it."""

    proposal: Annotated[int, "its number"]
    round: Annotated[int, "its round; round 0 has the task's own policies"]
    operator: Annotated[str, "the operator that made it"]
    parents: Annotated[list[int], "candidates that it was made from"]
    seed: Annotated[int, "the seed given to the model"]
    model: Annotated[str, "the model that was asked"]
    island: Annotated[int, "the island that it belongs to"]
    form: Annotated[Literal["full", "diff"], "whether the reply may be a change to the first parent"]


class RungScore(TypedDict):
    """A score on a cheaper version of the instances: it ranks, and is no result."""

    rung: Annotated[str, "the rung's name"]
    score: Annotated[float, "the mean score"]


class InstanceMetricsRow(TypedDict):
    """Metrics of a candidate on one instance."""

    instance: Annotated[str, "the instance's name"]
    split: Annotated[Split, "the split that it belongs to"]
    score: Annotated[float, "higher is better"]
    metrics: Annotated[dict[str, float], "the task's metrics by name"]


class CandidateDocument(TypedDict):
    """One candidate of a run."""

    candidate: Annotated[int, "its number"]
    verdict: Annotated[str, "as in `candidates` of a run"]
    source: Annotated[str, "its program"]
    origin: Annotated[str, "`model`, `seed`, `tuned`, `simplified`, or `user` for one that a person added"]
    derived_from: Annotated[int | None, "the candidate that was tuned or simplified"]
    proposal: Annotated[ProposalData, "the proposal that it is a reply to"]
    turn: Annotated[int, "0, or the number of the repair"]
    model: Annotated[str | None, "who answered, by the server's name"]
    lineage: Annotated[list[list[int]], "generations of ancestors, parents first"]
    duplicate_of: Annotated[int | None, "the candidate that it equals"]
    operations: Annotated[int | None, "bound on the operations of a call"]
    size: Annotated[int | None, "nodes of the program"]
    feedback: Annotated[str, "what the model was told of it"]
    rules: Annotated[list[str], "rules of the language that it broke"]
    warnings: Annotated[list[str], "warnings of the checker"]
    signature: Annotated[str | None, "digest of its decisions"]
    rungs: Annotated[list[RungScore], "scores on cheaper versions of the instances"]
    scores: Annotated[dict[Split, float | None], "mean score on each split"]
    metrics: Annotated[list[InstanceMetricsRow], "the measurements on each instance"]
    findings: Annotated[list[FindingRow], "what models were told of it; empty where no prompt had that"]
    messages: Annotated[list[MessageDocument], "the chat that it answers: all that its model was told"]


class RankedCandidate(TypedDict):
    """A candidate in short."""

    candidate: Annotated[int, "its number"]
    proposal: Annotated[int, "the proposal's number"]
    turn: Annotated[int, "0, or the number of the repair"]
    operator: Annotated[str, "the operator that made the proposal"]
    origin: Annotated[str, "`model`, `seed`, `tuned`, `simplified`, or `user` for one that a person added"]
    parents: Annotated[list[int], "candidates that it was made from"]
    verdict: Annotated[str, "as in `candidates` of a run"]
    score: Annotated[float | None, "mean score on train"]
    size: Annotated[int | None, "nodes of the program"]


@dataclass(frozen=True, slots=True)
class NotesDocument:
    """A user's notes on a run."""

    title: Annotated[str, "shown beside the run's name"] = ""
    note: Annotated[str, "the note"] = ""
    tags: Annotated[tuple[str, ...], "to find it by"] = ()


class RunRow(TypedDict):
    """A run in a list."""

    run: Annotated[str, "the name of its directory"]
    title: Annotated[str, "the user's title; empty for none"]
    tags: Annotated[list[str], "the user's tags"]
    task: Annotated[str | None, "the task's name or path"]
    model: Annotated[list[str] | None, "the models"]
    state: Annotated[
        str,
        "`running`, `finished`, `interrupted`, `error`, `waiting` (for replies, with `--model ask`) or `crashed` (its "
        "process is gone, and no stop is recorded)",
    ]
    candidates: Annotated[int, "number of candidates"]
    best: Annotated[int | None, "the winner, or the best candidate so far"]
    train: Annotated[float | None, "its mean score on train"]
    test: Annotated[float | None, "its mean score on test"]


class RunsDocument(TypedDict):
    """The runs in a directory."""

    runs: Annotated[list[RunRow], "the oldest first"]


class MessageDocument(TypedDict):
    """A message of a chat."""

    role: Annotated[str, "`system`, `user`, `assistant`, or `tool` for the result of a tool"]
    content: Annotated[str, "its text"]


class Leader(TypedDict):
    """The best candidate so far."""

    candidate: Annotated[int, "its number"]
    score: Annotated[float | None, "its mean score on train"]


class BestSoFar(TypedDict):
    """The best candidate, also where an earlier proposal without a reply leaves it without a number."""

    candidate: Annotated[int | None, "its number; `null` while `pending`"]
    proposal: Annotated[str, "the number of its proposal"]
    score: Annotated[float, "its mean score on train"]


class PlannedInstance(TypedDict):
    """An instance that a search will measure on."""

    instance: Annotated[str, "its name"]
    split: Annotated[Split, "the split that it belongs to"]


class PlannedRung(TypedDict):
    """A cheaper version of the instances."""

    rung: Annotated[str, "its name"]
    keep: Annotated[float, "share of candidates promoted to the next rung"]
    instances: Annotated[list[str], "names of its instances"]


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """A model, whether it can be called, and what a proposal of it may cost, the most where it is a conversation."""

    model: Annotated[str, "its name"]
    problem: Annotated[str | None, "why it cannot be called, such as a key that is not set; `null` where it can"]
    tokens_in: Annotated[int, "tokens of the prompts"]
    tokens_out: Annotated[int, "tokens of the replies"]
    dollars: Annotated[float | None, "estimate; `null` where the price is not known"]


@dataclass(frozen=True, slots=True)
class BudgetEstimate:
    """A budget, and how many proposals it allows."""

    name: Annotated[str, "the budget's name"]
    limit: Annotated[float, "its value"]
    proposals: Annotated[int | None, "about how many proposals it allows; `null` where that cannot be estimated"]


class DryRunDocument(TypedDict):
    """The plan of a search, before any model is called."""

    task: Annotated[str, "the task's name"]
    proposals: Annotated[int, "planned proposals"]
    instances: Annotated[list[PlannedInstance], "what it measures on"]
    rungs: Annotated[list[PlannedRung], "cheaper versions, the cheapest first"]
    prompt_tokens: Annotated[int, "tokens of the first prompt"]
    models: Annotated[list[ModelEstimate], "an estimate for a proposal of each model"]
    budgets: Annotated[list[BudgetEstimate], "the first one ends the search before the others"]
    messages: Annotated[list[MessageDocument], "the first prompt"]


class OpenedData(TypedDict):
    """A run that is opened: the first line."""

    run: Annotated[str, "the run's directory"]
    task: Annotated[str, "the task's name or path"]
    instances: Annotated[int, "number of instances"]
    model: Annotated[list[str], "the models"]
    replay_of: Annotated[str | None, "the run whose replies are replayed"]


class Progress(TypedDict):
    """The state of a search while it runs."""

    completed: Annotated[int, "proposals that have a verdict"]
    total: Annotated[int, "proposals of the plan"]
    best: Annotated[Leader | None, "the best candidate on train"]
    best_baseline: Annotated[PolicyScore | None, "the best baseline on train"]
    gap: Annotated[float | None, "how much the best candidate is above the best baseline"]
    candidates_per_minute: Annotated[float | None, "over the last two minutes; `null` before it can be measured"]
    verdicts: Annotated[dict[str, int], "number of candidates by verdict, the most frequent first"]
    rules: Annotated[dict[str, int], "broken rules of the language, the most frequent first"]
    dollars: Annotated[float, "the sum of the known prices of the run so far"]
    budget_dollars: Annotated[float | None, "the limit on that sum"]
    tokens: Annotated[int, "tokens of the run so far"]
    unpriced_calls: Annotated[int, "calls whose price is not known"]
    seconds_left: Annotated[
        float | None, "until the plan, or the first budget, is exhausted at that pace, and what follows is done"
    ]


class ProgressLine(TypedDict):
    """One line of `--progress json`."""

    kind: Annotated[str, "what happened"]
    seconds: Annotated[float, "since the command began"]
    data: Annotated[dict[str, Any], "depends on `kind`"]
    progress: Annotated[Progress | None, "the state of the search; `null` before it has begun"]


class InspectDocument(RunDocument):
    """The summary of a run with its best candidates."""

    ranking: Annotated[list[RankedCandidate], "the best first"]


class ExportedFiles(TypedDict):
    """A candidate as files."""

    candidate: Annotated[int | None, "its number; `null` for a policy of the task that the search did not begin with"]
    verdict: Annotated[str | None, "the verdict on the run in a sentence, and what is exported for it"]
    format: Annotated[str, "the format that it is written in"]
    files: Annotated[dict[str, str], "the text of each file by its name"]


class ExportSubject(TypedDict):
    """The subject of an export: a candidate of a run, a policy's file (`--task`), or a task alone (`--list`)."""

    run: NotRequired[Annotated[str, "the run's directory"]]
    candidate: NotRequired[
        Annotated[int | None, "the candidate's number; `null` for a policy that the search did not begin with"]
    ]
    verdict: NotRequired[Annotated[str | None, "the verdict on the run in a sentence, and what is exported for it"]]
    policy: NotRequired[Annotated[str, "the policy's file, with `--task`"]]
    task: NotRequired[Annotated[str, "the task's name, of a task alone"]]


class ExportDocument(ExportSubject):
    """Files written by `vulcan export`."""

    format: Annotated[str, "the format"]
    files: Annotated[list[str], "the files that were written"]


class ExportFormat(TypedDict):
    """A format of exports."""

    format: Annotated[str, "its name"]
    summary: Annotated[str, "what it is"]
    refused: Annotated[str | None, "why the policy cannot be written in it"]


class ExportListDocument(ExportSubject):
    """The formats that `vulcan export --list` shows."""

    formats: Annotated[list[ExportFormat], "each format"]


@dataclass(frozen=True, slots=True)
class RepairedFile:
    """A file of a run that was written again."""

    file: Annotated[str, "its path"]
    damage: Annotated[str, "what was wrong with it"]
    kept_as: Annotated[str | None, "the path of the damaged file, if there was one"]
    replies: Annotated[int, "replies that are now in the run"]
    lines_lost: Annotated[int, "unreadable lines of the journal"]
    replies_left_out: Annotated[
        int, "in a run that is answered by hand: replies after the first lost one, which are asked for again"
    ] = 0


class RepairDocument(TypedDict):
    """The outcome of `vulcan repair`."""

    run: Annotated[str, "the run's directory"]
    repaired: Annotated[list[RepairedFile], "each file that was written again; empty where there was no damage"]
