"""The evidence card of an exported policy."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from vulcan.documents.policy import PropertyVerdict
from vulcan.documents.report import InstanceParameters, ModelCalls
from vulcan.documents.run import InstanceMetricsRow, ModelCost, PolicyScore, RankedCandidate
from vulcan.documents.verdict import IntervalDocument, Split


class CardObjective(TypedDict):
    """The objective of a search."""

    name: Annotated[str, "its name"]
    metric: Annotated[str, "the metric that is scored"]
    meaning: Annotated[str, "its meaning in words"]


class CardTask(TypedDict):
    """The task pack that a policy belongs to."""

    name: Annotated[str, "the task's name"]
    files: Annotated[dict[str, str], "checksums (SHA-256) of the pack's `task.py`, prompt, modules and policies"]
    sha256: Annotated[str, "a checksum over all of these"]
    evaluator: Annotated[str, "the evaluator's module and class"]
    objective: Annotated[CardObjective | None, "the objective; `null` if it is not known"]
    settings: Annotated[dict[str, Any], "the task's settings by name"]


class CardPolicy(TypedDict):
    """The exported policy."""

    source: Annotated[str, "its program"]
    sha256: Annotated[str, "the checksum of the source"]
    fingerprint: Annotated[str, "identifies the program regardless of formatting"]
    parameters: Annotated[dict[str, float], "its constants by name"]
    operations: Annotated[int | None, "bound on the operations of a call; `null` for free Python"]
    notes: Annotated[list[str], "warnings of the checker"]


class CardLicence(TypedDict):
    """What is known about the licence of the policy's source."""

    spdx: Annotated[str | None, "its SPDX identifier; `null` if nothing is certain"]
    known: Annotated[str, "what is known, in words"]


class CardProof(PropertyVerdict):
    """The verdict on a property, without the time it took, so that cards can be compared."""

    claim: Annotated[str, "the property in words"]


class SearchVersion(TypedDict):
    """The versions used by the search, as far as recorded."""

    vulcan: Annotated[str | None, "version of Vulcan"]


class CardVersions(TypedDict):
    """Versions of software."""

    run: Annotated[SearchVersion | None, "those used by the search; `null` without a run"]
    card: Annotated[
        dict[str, str | None],
        "those of the program that wrote the card: `vulcan`, `python`, `system`, `processor`, `numpy`, `numba`, "
        "`llvmlite`, `ray`",
    ]


class CardRun(TypedDict):
    """The run that a policy was exported from."""

    run: Annotated[str, "the run's name"]
    begun: Annotated[str, "time of the first event, in ISO 8601"]
    candidate: Annotated[int, "the exported candidate"]
    winner: Annotated[int | None, "the winner of the search"]
    chosen_on: Annotated[Split | None, "the split that it was chosen on"]
    configuration: Annotated[dict[str, Any], "the search's options by name, seeds included"]


class CardFile(TypedDict):
    """A file used by an instance; without numbers if it is missing."""

    file: Annotated[str, "its path"]
    bytes: Annotated[int | None, "its size"]
    sha256: Annotated[str | None, "its checksum"]


class CardScore(TypedDict):
    """The score of the candidate on one split."""

    score: Annotated[float, "the mean over instances"]
    interval: Annotated[IntervalDocument | None, "of the mean over instances"]
    best_baseline: Annotated[PolicyScore | None, "the baseline that is best on validation, with its score here"]


class CardBaseline(TypedDict):
    """A known policy on one split."""

    policy: Annotated[str, "its name"]
    kind: Annotated[str, "`baseline` or `oracle`, which knows the future"]
    split: Annotated[Split, "the split"]
    score: Annotated[float, "the mean over instances"]
    metrics: Annotated[dict[str, dict[str, float]], "the task's metrics by instance"]


class CardAncestor(RankedCandidate):
    """The exported candidate, or one of its ancestors."""

    derived_from: Annotated[int | None, "the candidate that was tuned or simplified"]
    model: Annotated[str | None, "the server's name of the model that wrote it"]
    sha256: Annotated[str, "the checksum of its source"]


class CardEvidence(TypedDict):
    """The evidence of a run for a candidate; every key is `null` for a policy's file (`--task`), which has no run."""

    run: Annotated[CardRun | None, "the run"]
    instances: Annotated[list[InstanceParameters] | None, "the instances of the run"]
    files: Annotated[list[CardFile] | None, "every file used by an instance"]
    scores: Annotated[dict[Split, CardScore | None] | None, "the candidate's score on each split; `null` if none"]
    measured: Annotated[list[InstanceMetricsRow] | None, "the candidate on each instance"]
    baselines: Annotated[list[CardBaseline] | None, "the known policies on each split"]
    lineage: Annotated[list[CardAncestor] | None, "the candidate's ancestors, the oldest first, and it"]
    models: Annotated[list[ModelCalls] | None, "the calls of each model"]
    cost: Annotated[ModelCost | None, "the calls of all models"]


class CardDocument(CardEvidence):
    """The evidence card. A policy's file (`--task`) has no run, and the keys from `run` to `cost` are `null`."""

    vulcan_evidence_card: Annotated[int, "the version of this format, 1"]
    task: Annotated[CardTask, "the task pack"]
    policy: Annotated[CardPolicy, "the policy"]
    licence: Annotated[CardLicence, "the licence of its source"]
    proofs: Annotated[list[CardProof], "the verdict on each declared property"]
    versions: Annotated[CardVersions, "versions of software"]
