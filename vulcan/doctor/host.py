"""The report of `vulcan doctor` on this host: defences, Ray, model, disk and versions.

Each layer is tested in a child by an attack that it forbids, with the other layers that would stop it left out.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vulcan import __version__
from vulcan.doctor.attacks.attack import Attack, ForkedRange, stopper, targets
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.documents.host import (
    AttackResult,
    AttacksDocument,
    DefaultModel,
    DefenceCheck,
    DirectoryDocument,
    HostDocument,
    HostProblem,
    ModelKey,
    RayDocument,
)
from vulcan.errors import UserError
from vulcan.models.redact import shown_url
from vulcan.paths import cache_directory
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.searches.model_pool import OFFLINE

_TRIED_BY = {
    Layer.ENVIRONMENT: "API key in the environment",
    Layer.DESCRIPTORS: "descriptors left open",
    Layer.SESSION: "kill its own group",
    Layer.WALL_CLOCK: "infinite loop",
    Layer.MESSAGES: "giant output",
    Layer.MEMORY: "100 GB of memory in one piece",
    Layer.PROCESSOR: "infinite loop",
    Layer.OPEN_FILES: "read /etc/passwd",
    Layer.FILE_SIZE: "write a file",
    Layer.PROCESSES: "fork bomb",
    Layer.OTHER_LIMITS: "raw system call: io_uring",
    Layer.UNPRIVILEGED: "read the run store",
    Layer.SECCOMP: "raw system call: openat",
    Layer.LANDLOCK: "read /etc/passwd",
    Layer.EMPTY_ROOT: "read /etc/passwd",
    Layer.NETWORK: "TCP connection",
    Layer.PROCESS_NAMESPACE: "kill the parent",
}
"""The attack that tests each layer, with the other layers that would stop it left out."""

FOR_POLICIES = frozenset({Layer.ENVIRONMENT, Layer.DESCRIPTORS, Layer.SESSION, Layer.WALL_CLOCK, Layer.MESSAGES})
"""Layers required for policies in Anvil, whose language cannot name anything outside."""
FOR_PROGRAMS = FOR_POLICIES | {
    Layer.SECCOMP,
    Layer.NO_NEW_PRIVILEGES,
    Layer.MEMORY,
    Layer.PROCESSOR,
    Layer.PARENT_DEATH,
}
"""Layers required for policies in free Python."""


def _checked(layer: Layer, holds: bool, test: str, observed: str) -> DefenceCheck:
    needed_for = "policies" if layer in FOR_POLICIES else "free programs" if layer in FOR_PROGRAMS else ""
    return DefenceCheck(layer.value, holds, needed_for, test, observed)


def check_defences() -> Iterator[DefenceCheck]:
    """Test the layers one by one, each in a separate child."""
    attacks = {attack.name: attack for attack in SYSTEM_ATTACKS}
    with targets() as given:
        with ForkedRange(given, weak_host=True) as arena:  # only to be asked what it has
            defences = arena.start()
        is_weak = bool(defences.missing_for_free_programs)
        for layer, name in _TRIED_BY.items():
            yield _trial(layer, attacks[name], given, is_weak)
    for layer, holds, what in (
        (Layer.NO_NEW_PRIVILEGES, defences.no_new_privileges, "PR_SET_NO_NEW_PRIVS"),
        (Layer.PARENT_DEATH, defences.parent_death_signal, "PR_SET_PDEATHSIG"),
    ):
        yield _checked(layer, holds, what, "set" if holds else "refused")


def _trial(layer: Layer, attack: Attack, given: Mapping[str, object], is_weak: bool) -> DefenceCheck:
    if layer is Layer.UNPRIVILEGED and os.geteuid() != 0:
        return _checked(layer, True, "who runs Vulcan", f"user {os.geteuid()}, not root")
    others = (other for other in attack.stopped_by if other != layer and isinstance(other, Layer))
    try:
        with ForkedRange(given, Layers.without(*others), weak_host=is_weak) as arena:
            evidence = arena.carry_out(attack)
    except UserError as error:
        return _checked(layer, False, attack.name, str(error))
    return _checked(layer, stopper((layer,), evidence) is not None, attack.name, evidence.got or evidence.detail)


_KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY"),
    *("DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHERAI_API_KEY", "AZURE_API_KEY"),
)
_PACKAGES = ("numba", "llvmlite", "numpy", "ray", "litellm", "openai", "RestrictedPython")
_CONNECT_SECONDS = 3.0
"""Timeout in seconds of a connection to a model's server."""
_MIN_FREE = 1 << 30
"""Free bytes below which a disk is reported; a run of thousands of candidates takes tens of megabytes."""


def host_document(runs: Path) -> HostDocument:
    """Check the host and return the report.

    `ok` is False if something is missing that every search needs; `problems` lists what is missing, with advice.
    """
    from vulcan.scoring.ray_runtime import RayRuntime

    with RayRuntime(workers=1) as runtime:  # starts while the defences are tested
        tried = list(check_defences())
        ray = _ray(runtime)
    disk, model = _disk(runs), _model()
    problems = [*_problems_of(tried), *_problems_of_directories(disk), *_problems_of_services(ray, model)]
    return {
        "ok": not any(problem.blocks == "everything" for problem in problems),
        "free_programs": all(trial.holds for trial in tried if trial.needed_for),
        "defences": tried,
        "ray": ray,
        "model": model,
        "model_keys": [ModelKey(name, name in os.environ) for name in _variables()],
        "disk": disk,
        "versions": dict(_versions()),
        "problems": problems,
    }


def attack_results() -> Iterator[AttackResult]:
    """Carry out all attacks of `vulcan doctor --attack`, and yield their results one by one.

    Raises UserError if no child can be started at all.
    """
    with targets() as given, ForkedRange(given) as arena:
        for attack in SYSTEM_ATTACKS:
            evidence = arena.carry_out(attack)
            by = stopper(attack.stopped_by, evidence)
            yield AttackResult(attack.name, by, evidence.got or evidence.detail)


def attacks_document(results: list[AttackResult]) -> AttacksDocument:
    """Return the results of the attacks as a document."""
    stopped = sum(result.stopped_by is not None for result in results)
    return {"attacks": results, "stopped": stopped, "succeeded": len(results) - stopped}


def _problems_of(tried: list[DefenceCheck]) -> Iterator[HostProblem]:
    for trial in tried:
        if trial.holds:
            continue
        stops = {"policies": "everything", "free programs": "policies in free Python"}.get(trial.needed_for, "nothing")
        what = f"{trial.defence} does not hold: {trial.observed}"
        yield HostProblem(what, stops, _ADVICE.get(trial.defence, "see SECURITY.md"))


_ADVICE = {
    "seccomp": "use a Linux kernel of 5.13 or newer on x86-64 or arm64, and a container profile that allows seccomp(2)",
    "Landlock": "use a Linux kernel of 5.13 or newer, with Landlock among the security modules of its command line",
    "network namespace": "allow unprivileged user namespaces, or unshare(2) in the container's profile",
    "process namespace": "allow unprivileged user namespaces, or unshare(2) in the container's profile",
    "empty file system": "allow unprivileged user namespaces, or unshare(2) and mount(2) in the container's profile",
    "unprivileged user": "run Vulcan as a user who is not root",
    "process limit": "run Vulcan as a user who is not root",
}


def _problems_of_directories(disk: list[DirectoryDocument]) -> Iterator[HostProblem]:
    for directory in disk:
        if not directory.writable:
            advice = "name another by --runs-dir or VULCAN_CACHE_DIR"
            yield HostProblem(f"{directory.path} cannot be written", "everything", advice)
        elif directory.free_bytes < _MIN_FREE:
            what = f"{directory.path} has {directory.free_bytes >> 20} MiB left"
            yield HostProblem(what, "nothing", "make room before a long search")


def _ray(runtime: Any) -> RayDocument:
    from vulcan.scoring.ray_runtime import RayUnavailable

    try:
        ray = runtime.wait()
    except RayUnavailable as error:
        return RayDocument(False, runtime.joined, error=str(error))
    return RayDocument(True, runtime.joined, ray.cluster_resources().get("CPU"))


def _model() -> DefaultModel:
    """Return a search's default model, and whether its server accepts a connection. No key is sent."""
    server = os.environ.get("VULCAN_API_BASE") or None
    name = os.environ.get("VULCAN_MODEL") or OFFLINE
    return DefaultModel(name, shown_url(server), _answers(server)) if server else DefaultModel(name, None, None)


def _answers(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), _CONNECT_SECONDS).close()
    except (OSError, ValueError):  # ValueError: an invalid port
        return False
    return True


def _problems_of_services(ray: RayDocument, model: DefaultModel) -> Iterator[HostProblem]:
    if not ray.available:
        advice = "searches run without it; --executor local does not try it"
        if ray.address:
            advice = f"see to the cluster at {ray.address}, leave RAY_ADDRESS unset, or search with --executor local"
        yield HostProblem("Ray does not come up", "nothing", advice)
    if model.reachable is False:
        what = f"the model's server {model.server} takes no connection"
        yield HostProblem(what, "nothing", "start it, or correct VULCAN_API_BASE")


def _variables() -> list[str]:
    found = [name for name in os.environ if name.endswith("_API_KEY") and name not in _KEYS]
    return [*_KEYS, *sorted(found)]


def _disk(runs: Path) -> list[DirectoryDocument]:
    return [_directory("runs", runs), _directory("cache", _cache())]


def _cache() -> Path:
    try:
        return cache_directory()
    except UserError:
        return Path(os.environ.get("VULCAN_CACHE_DIR", ""))


def _directory(what: str, path: Path) -> DirectoryDocument:
    there = next((parent for parent in (path.resolve(), *path.resolve().parents) if parent.exists()), Path("/"))
    writable = os.access(there, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    return DirectoryDocument(what, str(path), writable, shutil.disk_usage(there).free)


def _versions() -> Iterator[tuple[str, str | None]]:
    yield "vulcan", __version__
    yield "python", platform.python_version()
    yield "system", platform.platform()
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, None
