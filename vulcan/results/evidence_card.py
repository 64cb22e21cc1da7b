"""Evidence cards of exported policies: one JSON document with provenance and scores.

The same run gives the same card on the same host: keys are sorted, and the only time in it is the start of the run.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import vulcan
from vulcan.anvil import Policy
from vulcan.anvil.diagnostics import explained
from vulcan.anvil.proofs import claim_of, verify
from vulcan.documents.card import CardDocument, CardEvidence, CardFile, CardLicence, CardProof, CardTask
from vulcan.export.formats import export_policy
from vulcan.export.provenance import Provenance
from vulcan.python_policy.check import AnyPolicy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.registry import built_in_directory
from vulcan.results.candidate import candidate_document
from vulcan.results.recommended import find_recommended
from vulcan.results.report.data import Report, measured_on, run_version
from vulcan.results.run import run_document
from vulcan.searches.costs import Costs
from vulcan.store.events import CallRecord, CandidateJudged
from vulcan.task import Task

FORMAT_VERSION = 1
_PACKAGES = ("numpy", "numba", "llvmlite", "ray")
_PACK = ("task.py", "prompt.md.j2", "*.py", "policies/*")


@dataclass(frozen=True, slots=True)
class CardExporter:
    """An exporter of evidence cards for candidates of the run at `run`, or for policies without a run.

    Each property that the task declares gets `seconds` to be proved.
    """

    run: Path | None = None
    seconds: float = 5.0
    format: str = "json"
    summary: str = "the evidence card"
    takes_programs: bool = True

    def export(self, policy: AnyPolicy, provenance: Provenance) -> dict[str, str]:
        """See `vulcan.export.formats.Exporter`: one file, named after the task."""
        report = None if self.run is None else Report.of(self.run)
        card = evidence_card(policy, provenance, report, self.seconds)
        text = json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
        return {f"{policy.task.name}_card.json": text}


@dataclass(frozen=True, slots=True)
class ExportedCandidate:
    """A candidate, and the text of each exported file by name, the main file first.

    `verdict` is the verdict on the run in a sentence, with what was exported for it where no candidate was named. A
    known policy that the search did not begin with has no number.
    """

    candidate: int | None
    files: dict[str, str]
    verdict: str | None


def export_candidate(run: Path, format: str, candidate: int | None = None) -> ExportedCandidate:
    """Export a candidate of a run (default: what the verdict recommends) in any available format. Raises UserError."""
    chosen, verdict = find_recommended(run, candidate)
    card = CardExporter(run)
    files = export_policy(chosen.policy, format, chosen.provenance, {card.format: card})
    return ExportedCandidate(chosen.number, files, verdict)


def evidence_card(policy: AnyPolicy, provenance: Provenance, report: Report | None, seconds: float) -> CardDocument:
    """Return the card; fields that need a run are None without one."""
    source = policy.source
    judged = report.record.candidates[int(provenance.candidate)] if report and provenance.candidate else None
    return {
        "vulcan_evidence_card": FORMAT_VERSION,
        "task": _task(policy.task, provenance),
        "policy": {
            "source": source,
            "sha256": _digest(source.encode("utf-8", errors="surrogateescape")),
            "fingerprint": policy.fingerprint,
            "parameters": dict(policy.parameters),
            "operations": policy.plan.operations if isinstance(policy, Policy) else None,
            "notes": _notes(policy),
        },
        "licence": _licence(policy.task, source, report, judged),
        "proofs": list(_proofs(policy, seconds)),
        "versions": {"run": None if report is None else run_version(report), "card": dict(_versions())},
        **(_NO_RUN if report is None or judged is None else _of_run(report, judged)),
    }


def _task(task: Task, provenance: Provenance) -> CardTask:
    files = sorted({file for pattern in _PACK for file in task.directory.glob(pattern) if file.is_file()})
    digests = {file.relative_to(task.directory).as_posix(): _digest_of_file(file) for file in files}
    wanted = [o for o in task.objectives if o.name == provenance.objective]
    return {
        "name": task.name,
        "files": digests,
        "sha256": _digest(json.dumps(digests, sort_keys=True).encode()),
        "evaluator": task.evaluator,
        "objective": {"name": wanted[0].name, "metric": wanted[0].metric, "meaning": wanted[0].meaning}
        if wanted
        else None,
        "settings": dict(provenance.settings),
    }


_NO_RUN: CardEvidence = {"run": None, "candidate": None, "configuration": None, "instances": None, "files": None}


def _of_run(report: Report, judged: CandidateJudged) -> CardEvidence:
    record = report.record
    named = [text for instance in record.instances for text in _texts(dict(instance.parameters))]
    return {
        "run": run_document(Path(report.path.name), record, Costs.of(report.data.calls)),
        "candidate": candidate_document(record, judged, _call_of(report, judged)),
        "configuration": record.config,
        "instances": list(measured_on(record)),
        "files": list(_files(dict.fromkeys(named))),
    }


def _call_of(report: Report, judged: CandidateJudged) -> CallRecord | None:
    return next((c for c in report.data.calls if (c.proposal, c.turn) == (judged.proposal, judged.turn)), None)


def _licence(task: Task, source: str, report: Report | None, judged: CandidateJudged | None) -> CardLicence:
    """Return what is known of the licence of the policy's source."""
    while report is not None and judged is not None and judged.derived_from is not None:
        judged = report.record.candidates[judged.derived_from]
    is_seed = judged.origin == "seed" if judged is not None else source in task.seed_policies().values()
    if is_seed and task.directory.parent == built_in_directory():
        return {"spdx": "Apache-2.0", "known": "a policy that comes with Vulcan, or that with other constants"}
    if is_seed:
        return {"spdx": None, "known": f"a policy of the task pack {task.name}: the pack's terms apply"}
    if report is None or judged is None:
        return {"spdx": None, "known": "a file of the user's: nothing is known"}
    call = _call_of(report, judged)
    writer = call.model if call is not None else "a model that the run does not name"
    return {
        "spdx": None,
        "known": f"written by {writer}, shown the policies in its `lineage`: Vulcan claims nothing of it, and the "
        "terms of the model's provider may apply",
    }


def _notes(policy: AnyPolicy) -> list[str]:
    if isinstance(policy, ProgramPolicy):
        return []
    return ["\n".join(explained(policy.source, warning)) for warning in policy.warnings]


def _proofs(policy: AnyPolicy, seconds: float) -> Iterator[CardProof]:
    """Yield the verdict on each property, without the time taken, so that cards are reproducible."""
    if isinstance(policy, ProgramPolicy):
        return
    for verdict in verify(policy, list(policy.task.properties), seconds):
        yield {**verdict.without_time(), "claim": claim_of(verdict.property)}


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            pass


def _files(named: Mapping[str, None]) -> Iterator[CardFile]:
    """Yield the files named by these texts, with checksums; None for a file that no longer exists."""
    for text in named:
        path = Path(text)
        try:
            is_file = path.is_file()
        except (OSError, ValueError):  # not a file name
            continue
        if is_file:
            yield {"file": text, "bytes": path.stat().st_size, "sha256": _digest_of_file(path)}
        elif path.is_absolute() and not path.exists():
            yield {"file": text, "bytes": None, "sha256": None}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions() -> Iterator[tuple[str, str | None]]:
    yield "vulcan", vulcan.__version__
    yield "python", platform.python_version()
    yield "system", platform.platform()
    yield "processor", _processor()
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, None


def _processor() -> str:
    """Return the processor's model name from /proc/cpuinfo, else the machine type."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
