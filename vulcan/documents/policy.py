"""Documents of policies and tasks: checks, proofs, evaluations and declarations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict


class FindingDocument(TypedDict):
    """A violation of the language or a warning, with its place in the source."""

    rule: Annotated[str, "the rule's name"]
    line: Annotated[int, "counted from 1"]
    column: Annotated[int, "counted from 1"]
    message: Annotated[str, "what is wrong"]
    hint: Annotated[str, "what to do"]


class FunctionCost(TypedDict):
    """What one function of a policy reads and may take."""

    function: Annotated[str, "its name"]
    features: Annotated[list[str], "the features that it reads"]
    operations: Annotated[int, "bound on the operations of a call"]


class StatisticCost(TypedDict):
    """A statistic that a policy reads, and its memory."""

    kind: Annotated[str, "such as `ewma`"]
    scope: Annotated[str, "`entity`, `population` or `system`"]
    feature: Annotated[str, "the feature that it observes"]
    arguments: Annotated[list[float], "its constants"]
    bytes_per_entity: Annotated[int, "memory of each entity"]
    system_bytes: Annotated[int, "memory of the whole system"]


class HistoryQueryDocument(TypedDict):
    """A query of a history."""

    history: Annotated[str, "the history's name"]
    query: Annotated[str, "the query's name"]


class PlanDocument(TypedDict):
    """What a policy needs, of all its functions together."""

    functions: Annotated[list[FunctionCost], "each function, the main one first"]
    features: Annotated[list[str], "the features that it reads"]
    statistics: Annotated[list[StatisticCost], "the statistics that it reads"]
    history: Annotated[list[HistoryQueryDocument], "the histories that it queries"]
    operations: Annotated[int, "bound on the operations of a call, of the function that takes the most"]
    operations_limit: Annotated[int, "the task's limit of operations"]
    bytes_per_entity: Annotated[int, "memory of each entity"]
    system_bytes: Annotated[int, "memory of the whole system"]


class ProgramDocument(TypedDict):
    """What is known of a policy in free Python before it runs."""

    hooks: Annotated[list[str], "the hooks that it defines"]
    nodes: Annotated[int, "nodes of the program"]
    parameters: Annotated[dict[str, float], "its constants by name"]


class CheckDocument(TypedDict):
    """Whether a policy is accepted. Exit code 1 if not."""

    policy: Annotated[str, "the policy's file"]
    accepted: Annotated[bool, "whether it is in the language"]
    plan: NotRequired[Annotated[PlanDocument, "of an accepted policy in Anvil"]]
    program: NotRequired[Annotated[ProgramDocument, "of an accepted policy in free Python"]]
    warnings: NotRequired[Annotated[list[FindingDocument], "of an accepted policy"]]
    violations: NotRequired[Annotated[list[FindingDocument], "of a rejected policy"]]


class CounterexampleDocument(TypedDict):
    """Inputs for which a property does not hold."""

    inputs: Annotated[list[dict[str, float]], "one assignment of the features, or two that differ in one"]
    results: Annotated[list[float], "what the policy returns for each"]


class PropertyDocument(TypedDict):
    """The verdict on a property of a policy."""

    name: Annotated[str, "the property's name"]
    kind: Annotated[str, "such as `bounded` or `nondecreasing`"]
    function: Annotated[str | None, "the function that it is about; `null` for the main one"]
    required: Annotated[bool, "whether the task requires it"]
    verdict: Annotated[Literal["proved", "refuted", "unknown"], "the result"]
    arithmetic: Annotated[str, "the numbers that it is about"]
    method: Annotated[Literal["certificate", "search", "solver", "none"], "what decided it"]
    counterexample: Annotated[CounterexampleDocument | None, "`null` unless it is refuted"]
    seconds: Annotated[float, "how long it took"]
    reason: Annotated[str, "why it is unknown"]


class VerifyDocument(TypedDict):
    """The verdicts on declared properties. Exit code 1 if one is refuted, or required and not proved."""

    policy: Annotated[str, "the policy's file"]
    task: Annotated[str, "the task's name"]
    accepted: Annotated[bool, "whether the policy is in the language"]
    properties: Annotated[list[PropertyDocument], "empty for a rejected policy"]
    violations: NotRequired[Annotated[list[FindingDocument], "of a rejected policy"]]


class PolicyMean(TypedDict):
    """The means of a policy over the instances; the other keys are the task's metrics."""

    policy: Annotated[str, "the policy's name"]
    kind: Annotated[str, "`candidate`, `baseline` or `bound` (in tables: oracle)"]
    score: Annotated[float, "higher is better"]


class EvalRow(PolicyMean):
    """A policy on an instance; the other keys are the task's metrics."""

    instance: Annotated[str, "the instance's name"]


class EvalDocument(TypedDict):
    """The policies given, and every known policy, on each instance.

    For `cache_eviction` the metrics are `miss_ratio`, `byte_miss_ratio`, `requests`, `bytes`, `misses`, `missed_bytes`
    and `bypassed`.
    """

    task: Annotated[str, "the task's name"]
    part: Annotated[str, "the part that was measured on: `whole`, `train`, `validation` or `test`"]
    objective: Annotated[str, "the objective that makes the score"]
    rows: Annotated[list[EvalRow], "a row for each policy and instance"]
    means: Annotated[list[PolicyMean], "the mean of each number over the instances"]


class TaskLine(TypedDict):
    """A task in a list."""

    name: Annotated[str, "its name"]
    path: Annotated[str, "its directory, or the package that it comes from"]
    summary: Annotated[str, "what it is about"]


class TasksDocument(TypedDict):
    """The tasks that can be named."""

    tasks: Annotated[list[TaskLine], "by name"]


class PromptDocument(TypedDict):
    """The first prompt of a search."""

    task: Annotated[str, "the task's name"]
    messages: Annotated[list[dict[str, str]], "the chat: `role` and `content` of each message"]


class NewTaskDocument(TypedDict):
    """A task that was written."""

    task: Annotated[str, "its name"]
    kind: Annotated[str, "`rank` or `value`"]
    directory: Annotated[str, "where it is"]
    files: Annotated[list[str], "the files that were written"]


class TaskCheck(TypedDict):
    """A check of a task."""

    check: Annotated[str, "its name"]
    promise: Annotated[str, "what every task promises"]
    result: Annotated[Literal["passed", "failed", "not tried"], "`not tried` where a check that it needs has failed"]
    note: Annotated[str, "what was looked at"]
    problem: Annotated[str, "what failed"]
    remedy: Annotated[str, "what to do"]


class ValidateDocument(TypedDict):
    """The checks of a task. Exit code 1 unless all passed."""

    task: Annotated[str, "its name"]
    path: Annotated[str, "the name or directory that was given"]
    passed: Annotated[bool, "whether all checks passed"]
    checks: Annotated[list[TaskCheck], "each check"]


class ObjectiveDocument(TypedDict):
    """An objective of a task."""

    name: Annotated[str, "its name"]
    metric: Annotated[str, "the metric that it is made from"]
    meaning: Annotated[str, "what it is"]
    references: Annotated[list[str], "baselines that scores are taken relative to"]


class FunctionInterface(TypedDict):
    """A function that a policy has to define."""

    kind: Annotated[str, "`rank`, `value` or `program`"]
    function: Annotated[str, "its name"]
    arguments: Annotated[list[str], "names of its arguments"]
    features: Annotated[
        list[dict[str, Any]],
        "`reads` (how a program names it), `name`, `type`, `unit`, `low`, `high`, `meaning`, `unknown`, `resolution` "
        "and `observed`: the occasion at which its statistics observe, `null` for every event",
    ]
    returns: Annotated[str, "what it returns"]
    mechanisms: Annotated[list[dict[str, Any]], "how its result is used: the declaration of each mechanism"]
    hooks: NotRequired[Annotated[list[dict[str, Any]], "of free Python: the declaration of each hook"]]


class TaskDocument(FunctionInterface):
    """The interface of a task: its main function, and what belongs to the whole task."""

    task: Annotated[str, "its name"]
    summary: Annotated[str, "what it is about"]
    others: Annotated[list[FunctionInterface], "further functions"]
    objectives: Annotated[list[ObjectiveDocument], "the first is the default"]
    properties: Annotated[list[dict[str, Any]], "the declaration of each property that can be proved"]
    settings: Annotated[list[dict[str, Any]], "the declaration of each setting"]
    operations: Annotated[int, "limit of the operations of a call"]


class InterfaceDocument(TaskDocument):
    """The interface of a task with the policy language."""

    interface: Annotated[str, "the language, as a prompt has it"]


class ExpectedScore(TypedDict):
    """What a policy is expected to score."""

    choice: Annotated[str, "a member of the library or a baseline"]
    score: Annotated[float, "higher is better"]


class ChoiceDocument(TypedDict):
    """The choice of a policy for an instance."""

    instance: Annotated[str, "the instance's name"]
    choice: Annotated[str, "the member, or the baseline that is the fallback"]
    kind: Annotated[str, "`member` or `baseline`"]
    policy: Annotated[str | None, "the member's file; `null` for a baseline"]
    task: Annotated[str, "the task that it is of"]
    settings: Annotated[dict[str, Any], "the member's settings"]
    confidence: Annotated[float, "confidence in the choice"]
    min_confidence: Annotated[float, "the confidence below which the fallback is chosen"]
    trusted: Annotated[bool, "whether the confidence reaches it"]
    distance: Annotated[float, "distance to the nearest training instance"]
    nearest: Annotated[str, "the nearest training instance"]
    cluster: Annotated[int, "its cluster"]
    method: Annotated[str, "how the library chooses"]
    tried: Annotated[bool, "whether the choices were tried on the first events"]
    expected: Annotated[list[ExpectedScore], "the best first"]
    fingerprint: Annotated[dict[str, float], "the features that describe the instance"]


class SelectDocument(TypedDict):
    """The choices of a library for a workload."""

    library: Annotated[str, "the library's directory"]
    workload: Annotated[str, "the workload"]
    objective: Annotated[str, "the objective"]
    prefix: Annotated[int, "how many first events the choice is made by"]
    choices: Annotated[list[ChoiceDocument], "the choice for each instance"]


class SelectorDocument(TypedDict):
    """A selector that was written."""

    library: Annotated[str, "the library's directory"]
    objective: Annotated[str, "the objective"]
    members: Annotated[list[str], "the members that it chooses among"]
    skipped: Annotated[list[str], "members of tasks whose policies are used in another way"]
    baseline: Annotated[str, "the baseline that it returns to"]
    files: Annotated[list[str], "the files that were written"]
