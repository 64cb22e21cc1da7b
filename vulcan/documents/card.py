"""The evidence card of an exported policy."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from vulcan.documents.policy import PropertyVerdict
from vulcan.documents.report import InstanceParameters, RunVersion
from vulcan.documents.run import CandidateDocument, RunDocument


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


class CardVersions(TypedDict):
    """Versions of software."""

    run: Annotated[RunVersion | None, "that used by the search; `null` without a run"]
    card: Annotated[
        dict[str, str | None],
        "those of the program that wrote the card: `vulcan`, `python`, `system`, `processor`, `numpy`, `numba`, "
        "`llvmlite`, `ray`",
    ]


class CardFile(TypedDict):
    """A file used by an instance; without numbers if it is missing."""

    file: Annotated[str, "its path"]
    bytes: Annotated[int | None, "its size"]
    sha256: Annotated[str | None, "its checksum"]


class CardEvidence(TypedDict):
    """The evidence of a run for a candidate; every key is `null` for a policy's file (`--task`), which has no run."""

    run: Annotated[RunDocument | None, "the run"]
    candidate: Annotated[CandidateDocument | None, "the exported candidate"]
    configuration: Annotated[dict[str, Any] | None, "the search's options by name, seeds included"]
    instances: Annotated[list[InstanceParameters] | None, "the instances of the run"]
    files: Annotated[list[CardFile] | None, "every file used by an instance"]


class CardDocument(CardEvidence):
    """The evidence card. A policy's file (`--task`) has no run, and the keys of its evidence are `null`."""

    vulcan_evidence_card: Annotated[int, "the version of this format, 1"]
    task: Annotated[CardTask, "the task pack"]
    policy: Annotated[CardPolicy, "the policy"]
    licence: Annotated[CardLicence, "the licence of its source"]
    proofs: Annotated[list[CardProof], "the verdict on each declared property"]
    versions: Annotated[CardVersions, "versions of software"]
