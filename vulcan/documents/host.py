"""Documents of a host: its sandbox defences, resources and attack results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NotRequired, TypedDict


@dataclass(frozen=True, slots=True)
class DefenceCheck:
    """A layer of the sandbox, tried with no other defence in its way."""

    defence: Annotated[str, "its name"]
    holds: Annotated[bool, "whether it stopped the attack"]
    needed_for: Annotated[str, "`policies`, `free programs`, or empty for a second layer behind others"]
    test: Annotated[str, "the attack that it was tried by"]
    observed: Annotated[str, "what happened"]


@dataclass(frozen=True, slots=True)
class RayDocument:
    """Ray on this host."""

    available: Annotated[bool, "whether it starts"]
    address: Annotated[str | None, "the cluster that is joined; `null` for a local Ray"]
    cpus: Annotated[float | None, "its processors"] = None
    error: Annotated[str | None, "why it does not start"] = None


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """The model of a search that names none."""

    name: Annotated[str, "its name"]
    server: Annotated[str | None, "`null` without VULCAN_API_BASE"]
    reachable: Annotated[bool | None, "whether the server takes a connection; `null` without one"]


@dataclass(frozen=True, slots=True)
class ModelKey:
    """A variable that holds a key, never the key."""

    variable: Annotated[str, "its name"]
    set: Annotated[bool, "whether it is set"]


@dataclass(frozen=True, slots=True)
class DirectoryDocument:
    """A directory that Vulcan writes to."""

    name: Annotated[str, "`runs` or `cache`"]
    path: Annotated[str, "where it is"]
    writable: Annotated[bool, "whether it can be written"]
    free_bytes: Annotated[int, "free space"]


@dataclass(frozen=True, slots=True)
class HostProblem:
    """A problem of this host."""

    problem: Annotated[str, "what is wrong"]
    blocks: Annotated[str, "`everything`, `policies in free Python`, or `nothing`"]
    advice: Annotated[str, "what to do"]


@dataclass(frozen=True, slots=True)
class AttackResult:
    """An attack, and what stopped it."""

    attack: Annotated[str, "its name"]
    stopped_by: Annotated[
        str | None, "the layer that stopped it; `null` if it got through, or what stopped it is unknown"
    ]
    observed: Annotated[str, "what happened"]


class AttacksDocument(TypedDict):
    """The attacks of `--attack`."""

    attacks: Annotated[list[AttackResult], "each attack"]
    stopped: Annotated[int, "how many were stopped"]
    succeeded: Annotated[int, "how many were not; exit code 1 if any"]


class HostDocument(TypedDict):
    """Resources and problems of this host."""

    ok: Annotated[bool, "whether all is there that every search needs; exit code 1 if not"]
    free_programs: Annotated[bool, "whether this host can sandbox policies in free Python"]
    defences: Annotated[list[DefenceCheck], "each layer of the sandbox"]
    ray: Annotated[RayDocument, "Ray"]
    model: Annotated[DefaultModel, "the model of a search that names none"]
    model_keys: Annotated[list[ModelKey], "which keys are set"]
    disk: Annotated[list[DirectoryDocument], "the directories that Vulcan writes to"]
    versions: Annotated[dict[str, str | None], "versions by name, `null` for a missing package"]
    problems: Annotated[list[HostProblem], "what is wrong"]


class DoctorDocument(HostDocument):
    """Resources and problems of this host; with `--attack`, also the outcome of each attack."""

    attacks: NotRequired[Annotated[list[AttackResult], "with `--attack`: each attack"]]
    stopped: NotRequired[Annotated[int, "with `--attack`: how many were stopped"]]
    succeeded: NotRequired[Annotated[int, "with `--attack`: how many were not; exit code 1 if any"]]
