"""Documents of policies and tasks: checks, proofs, evaluations and declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vulcan.properties import Property


@dataclass(frozen=True, slots=True)
class Remark:
    """A broken rule of the language, or a warning about an accepted program, with its place in the source."""

    rule: Annotated[str, "the rule's name"]
    line: Annotated[int, "counted from 1"]
    column: Annotated[int, "counted from 1, in characters"]
    message: Annotated[str, "what is wrong"]
    hint: Annotated[str, "what to do"]

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: [{self.rule}] {self.message}; {self.hint}"


class FunctionCost(TypedDict):
    """Inputs and cost bounds of one function of a policy."""

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


class EventCost(TypedDict):
    """A handler of an event, and what it may take."""

    event: Annotated[str, "the event's name"]
    operations: Annotated[int, "bound on the operations of a call"]


class VariableDocument(TypedDict):
    """State that a policy keeps between calls."""

    name: Annotated[str, "as it is read, such as `policy.weight`"]
    kind: Annotated[str, "`register`, `array` or `field`"]
    initial: Annotated[float, "the value that it starts with"]
    length: Annotated[int | None, "the elements of an array"]


class PlanDocument(TypedDict):
    """Requirements of a policy, over all its functions."""

    functions: Annotated[list[FunctionCost], "each function, the main one first"]
    features: Annotated[list[str], "the features that it reads"]
    statistics: Annotated[list[StatisticCost], "the statistics that it reads"]
    history: Annotated[list[HistoryQueryDocument], "the histories that it queries"]
    events: Annotated[list[EventCost], "the events that it handles"]
    state: Annotated[list[VariableDocument], "the state that it keeps"]
    operations: Annotated[int, "bound on the operations of a call, of the function that takes the most"]
    operations_limit: Annotated[int, "the task's limit of operations"]
    bytes_per_entity: Annotated[int, "memory of each entity"]
    system_bytes: Annotated[int, "memory of the whole system"]


class ProgramDocument(TypedDict):
    """Static properties of a policy in free Python."""

    hooks: Annotated[list[str], "the hooks that it defines"]
    nodes: Annotated[int, "nodes of the program"]
    parameters: Annotated[dict[str, float], "its constants by name"]


class CheckDocument(TypedDict):
    """Acceptance or rejection of a policy. Exit code 1 if rejected."""

    policy: Annotated[str, "the policy's file"]
    accepted: Annotated[bool, "whether it is in the language"]
    plan: NotRequired[Annotated[PlanDocument, "of an accepted policy in Anvil"]]
    program: NotRequired[Annotated[ProgramDocument, "of an accepted policy in free Python"]]
    warnings: NotRequired[Annotated[tuple[Remark, ...], "of an accepted policy"]]
    violations: NotRequired[Annotated[tuple[Remark, ...], "of a rejected policy"]]


class CounterexampleDocument(TypedDict):
    """Inputs for which a property does not hold."""

    inputs: Annotated[list[dict[str, float]], "one assignment of the features, or two that differ in one"]
    results: Annotated[list[float], "what the policy returns for each"]


class PropertyVerdict(TypedDict):
    """The verdict on a property of a policy."""

    name: Annotated[str, "the property's name"]
    kind: Annotated[str, "such as `bounded` or `nondecreasing`"]
    function: Annotated[str | None, "the function that it is about; `null` for the main one"]
    required: Annotated[bool, "whether the task requires it"]
    verdict: Annotated[Literal["proved", "refuted", "unknown"], "the result"]
    arithmetic: Annotated[str, "the numbers that it is about"]
    method: Annotated[Literal["certificate", "search", "none"], "what decided it"]
    counterexample: Annotated[CounterexampleDocument | None, "`null` unless it is refuted"]
    reason: Annotated[str, "why it is unknown"]


class PropertyDocument(PropertyVerdict):
    """The verdict on a property of a policy, and its time."""

    seconds: Annotated[float, "how long it took"]


class VerifyDocument(TypedDict):
    """The verdicts on declared properties. Exit code 1 if one is refuted, or required and not proved."""

    policy: Annotated[str, "the policy's file"]
    task: Annotated[str, "the task's name"]
    accepted: Annotated[bool, "whether the policy is in the language"]
    properties: Annotated[list[PropertyDocument], "empty for a rejected policy"]
    violations: NotRequired[Annotated[tuple[Remark, ...], "of a rejected policy"]]


class PolicyMean(TypedDict):
    """The means of a policy over the instances; the other keys are the task's metrics."""

    policy: Annotated[str, "the policy's name"]
    kind: Annotated[str, "`candidate`, `baseline` or `oracle`, which knows the future"]
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
    notes: Annotated[list[str], "what was left out or changed when the workloads were read, a line each"]
    rows: Annotated[list[EvalRow], "a row for each policy and instance"]
    means: Annotated[list[PolicyMean], "the mean of each number over the instances"]


class TaskLine(TypedDict):
    """A task in a list."""

    name: Annotated[str, "its name"]
    path: Annotated[str, "its directory, or the package that it comes from"]
    summary: Annotated[str, "what it is about"]


class FindingRow(TypedDict):
    """An evaluator's finding on a workload or a policy: a statement, a table or a series."""

    instance: Annotated[str, "the instance that it is of"]
    split: Annotated[Literal["train", "validation", "test"], "the split of that instance"]
    kind: Annotated[Literal["statement", "table", "series"], "which of the other keys there are"]
    weight: Annotated[float, "the most telling findings have the highest"]
    text: NotRequired[Annotated[str, "a statement's sentences"]]
    title: NotRequired[Annotated[str, "of a table or series"]]
    columns: NotRequired[Annotated[list[str], "names of a table's columns"]]
    rows: NotRequired[Annotated[list[list[str | float]], "a table's rows, a cell for each column"]]
    x: NotRequired[Annotated[str, "what a series is over"]]
    y: NotRequired[Annotated[str, "what a series is of"]]
    points: NotRequired[Annotated[list[list[float]], "a series' points, x and y"]]


class ExplainDocument(TypedDict):
    """Findings on a policy's strengths and weaknesses, or on the differences of two policies."""

    task: Annotated[str, "the task's name"]
    comparison: Annotated[bool, "whether the findings compare two policies"]
    workload: Annotated[list[FindingRow], "what the instances are like; empty in a comparison"]
    findings: Annotated[list[FindingRow], "what the policy does on them"]


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


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """A check of a task; `problem` and `remedy` are empty unless it failed."""

    check: Annotated[str, "its name"]
    promise: Annotated[str, "what every task promises"]
    result: Annotated[Literal["passed", "failed", "not tried"], "`not tried` where a check that it needs has failed"]
    note: Annotated[str, "what was looked at"] = ""
    problem: Annotated[str, "what failed"] = ""
    remedy: Annotated[str, "what to do"] = ""


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


class FeatureDocument(TypedDict):
    """The declaration of a feature."""

    name: Annotated[str, "its name"]
    type: Annotated[Literal["int", "float", "bool"], "the type of its values"]
    unit: Annotated[str, "unit of measurement"]
    low: Annotated[float, "the smallest value"]
    high: Annotated[float, "the largest value"]
    meaning: Annotated[str, "what it is"]
    unknown: Annotated[float, "the value where it is not known"]
    resolution: Annotated[int, "significant digits of its values"]
    only: Annotated[list[str] | None, "the setting, and its value, with which searches offer it; `null` for any"]
    observed: Annotated[str | None, "the occasion at which its statistics observe, `null` for every event"]


class FunctionFeature(FeatureDocument):
    """A feature of a function, as a policy reads it."""

    reads: Annotated[str, "how a program names it"]


class MechanismDocument(TypedDict):
    """A way in which a function's result is used."""

    name: Annotated[str, "its name"]
    meaning: Annotated[str, "what happens with the result"]


class HookArgument(TypedDict):
    """An argument of a hook: a number, which is a `feature`, or a record with `features`."""

    feature: NotRequired[Annotated[FeatureDocument, "the number"]]
    name: NotRequired[Annotated[str, "the record's name"]]
    meaning: NotRequired[Annotated[str, "what the record is"]]
    features: NotRequired[Annotated[list[FeatureDocument], "the record's fields"]]


class HookDocument(TypedDict):
    """A hook of a free-Python policy."""

    name: Annotated[str, "its name"]
    arguments: Annotated[list[HookArgument], "its arguments"]
    meaning: Annotated[str, "when it is called"]
    returns: Annotated[Literal["nothing", "int", "bool"], "the type of its result"]
    result: Annotated[str, "what its result means"]
    optional: Annotated[bool, "whether a policy may omit it"]


class SettingDeclaration(TypedDict):
    """A setting of a task."""

    name: Annotated[str, "its name"]
    type: Annotated[Literal["text", "int", "float", "flag"], "the type of its value"]
    meaning: Annotated[str, "what it does"]
    default: Annotated[Any, "its default"]
    repeatable: Annotated[bool, "whether it may be given several times"]
    choices: Annotated[list[str], "the values that it takes; empty for any"]
    in_policy: Annotated[bool, "whether a policy may choose among them itself, in a line of its module"]


class FunctionInterface(TypedDict):
    """A function that a policy has to define."""

    kind: Annotated[str, "`rank`, `value` or `program`"]
    function: Annotated[str, "its name"]
    arguments: Annotated[list[str], "names of its arguments"]
    features: Annotated[list[FunctionFeature], "what it may read"]
    returns: Annotated[str, "what it returns"]
    mechanisms: Annotated[list[MechanismDocument], "how its result is used"]
    optional: Annotated[bool, "whether a policy may omit it"]
    hooks: NotRequired[Annotated[list[HookDocument], "of free Python: each hook"]]


class EventDocument(TypedDict):
    """An event that a policy may handle."""

    event: Annotated[str, "its name, and that of its handler"]
    arguments: Annotated[list[str], "of its handler"]
    meaning: Annotated[str, "when it happens"]


class FormDocument(FunctionInterface):
    """The functions of the policies of one or more mechanisms, the main one first."""

    others: Annotated[list[FunctionInterface], "further functions"]
    events: Annotated[list[EventDocument], "events that a policy may handle, to change its own state"]
    properties: Annotated[tuple[Property, ...], "each property that can be proved"]


class TaskDocument(FormDocument):
    """The interface of a task: its functions, and what belongs to the whole task."""

    task: Annotated[str, "its name"]
    summary: Annotated[str, "what it is about"]
    forms: Annotated[list[FormDocument], "the functions of policies whose mechanism uses others than these"]
    objectives: Annotated[list[ObjectiveDocument], "the first is the default"]
    settings: Annotated[list[SettingDeclaration], "each setting"]
    operations: Annotated[int, "limit of the operations of a call"]


class InterfaceDocument(TaskDocument):
    """The interface of a task with the policy language."""

    interface: Annotated[str, "the language, as a prompt has it"]


class FollowingDocument(TypedDict):
    """An exported library that was written."""

    library: Annotated[str, "the library's directory"]
    objective: Annotated[str, "the objective"]
    members: Annotated[list[str], "the members that it follows, the first to begin with"]
    skipped: Annotated[list[str], "members of tasks whose policies are used in another way"]
    files: Annotated[list[str], "the files that were written"]
