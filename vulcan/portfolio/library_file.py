"""Libraries on disk: `library.json`, and a file for each member's policy."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vulcan import __version__
from vulcan.documents.library import LibraryDocument, MemberProvenance
from vulcan.errors import UserError
from vulcan.files import write_file
from vulcan.inputs import read_input
from vulcan.portfolio.model import (
    METHODS,
    Clustering,
    Contribution,
    CrossValidation,
    Fallback,
    FingerprintedInstance,
    Library,
    LibraryMember,
    Matrix,
    Origin,
    SelectionRule,
    Workload,
)

FORMAT = 1
FILE = "library.json"
POLICIES = "policies"
_MAX = 64 << 20


def read_library(directory: Path) -> Library:
    """Read the library in a directory. Raises UserError where there is none or it is invalid."""
    path = directory / FILE
    if not path.exists():
        raise UserError(f"no library at {directory}: there is no {FILE} (`vulcan library build` makes one)")
    try:
        plain = json.loads(read_input(path, "library", _MAX, "name a directory that `vulcan library build` wrote"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"the library {path} is no JSON: {error}; rebuild it with `vulcan library build`") from error
    if not isinstance(plain, dict) or not isinstance(plain.get("format"), int):
        raise UserError(f"{path} is no library: it has no number `format`")
    if plain["format"] != FORMAT:
        raise UserError(f"{path} has the format {plain['format']}, and this Vulcan reads {FORMAT}: build it again")
    try:
        library = _library(plain, directory)
    except KeyError as error:
        raise UserError(f"the library {path} lacks {error}; rebuild it with `vulcan library build`") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"the library {path} makes no sense: {error}") from error
    _check(library, path)
    return library


def write_library(library: Library, directory: Path) -> None:
    """Write a library; an interrupted write leaves no partial `library.json`. Raises UserError where it cannot."""
    for member in library.members:
        write_file(directory / member.file, member.source)
    write_file(directory / FILE, json.dumps(to_json(library), indent=1, allow_nan=False) + "\n")
    kept = {Path(member.file).name for member in library.members}
    try:
        for stale in (directory / POLICIES).glob("*.py"):
            if stale.name not in kept:
                stale.unlink()
    except OSError as error:
        raise UserError(f"cannot write the library {directory}: {error.strerror}") from error


def to_json(library: Library) -> LibraryDocument:
    """Return the library as JSON; members' sources are in files of their own."""
    return {
        "format": FORMAT,
        "version": library.version or __version__,
        "task": library.task,
        "settings": dict(library.settings),
        "objectives": list(library.objectives),
        "seed": library.seed,
        "prefix": library.first,
        "fingerprint": {"names": list(library.names), "centre": list(library.centre), "scale": list(library.scale)},
        "clustering": {
            "criterion": "silhouette",
            "clusters": library.clustering.clusters,
            "tried": [{"clusters": n, "silhouette": s} for n, s in library.clustering.tried],
        },
        "workloads": [{"name": w.name, "sha256": w.sha256} for w in library.workloads],
        "instances": [
            {"name": i.name, "workload": i.workload, "cluster": i.cluster, "fingerprint": list(i.fingerprint)}
            for i in library.instances
        ],
        "members": [
            {
                "name": m.name,
                "policy": m.file,
                "task": m.task,
                "settings": dict(m.settings),
                "provenance": _origin_json(m.provenance),
                "earned": [{"objective": e.objective, "instance": e.instance, "by": e.by} for e in m.earned],
            }
            for m in library.members
        ],
        "fallback": {
            objective: {"baseline": fallback.baseline, "policy": fallback.policy}
            for objective, fallback in library.fallbacks.items()
        },
        "confidence": {"reach": library.rule.reach, "least": library.rule.least},
        "rule": {
            "method": library.rule.method,
            "neighbours": library.rule.nearest,
            "left_out": [
                {
                    "method": each.method,
                    "objective": each.objective,
                    "score": each.score,
                    "fallback": each.fallback,
                    "single": each.single,
                    "best": each.best,
                }
                for each in library.rule.left_out
            ],
        },
        "margin": library.margin,
        "notes": list(library.notes),
        "matrix": {
            objective: {
                kind: {name: list(values) for name, values in getattr(matrix, kind).items()}
                for kind in ("members", "baselines", "oracles", "own", "dropped")
            }
            for objective, matrix in library.matrix.items()
        },
    }


def _origin_json(origin: Origin) -> MemberProvenance:
    return {
        "proposer": origin.proposer,
        "origin": origin.origin,
        "workloads": list(origin.workloads),
        "seed": origin.seed,
        "run": origin.run,
        "candidate": origin.candidate,
        "search": None if origin.search is None else dict(origin.search),
    }


def _library(plain: Mapping[str, Any], directory: Path) -> Library:
    fingerprint, rule, clustering = plain["fingerprint"], plain["rule"], plain["clustering"]
    return Library(
        task=_text(plain["task"], "task"),
        settings=dict(plain["settings"]),
        objectives=tuple(_text(name, "objectives") for name in plain["objectives"]),
        seed=int(plain["seed"]),
        first=int(plain["prefix"]),
        names=tuple(_text(name, "fingerprint.names") for name in fingerprint["names"]),
        centre=_numbers(fingerprint["centre"], "fingerprint.centre"),
        scale=_numbers(fingerprint["scale"], "fingerprint.scale"),
        clustering=Clustering(
            int(clustering["clusters"]),
            tuple((int(t["clusters"]), float(t["silhouette"])) for t in clustering["tried"]),
        ),
        workloads=tuple(Workload(_text(w["name"], "workloads"), w["sha256"]) for w in plain["workloads"]),
        instances=tuple(
            FingerprintedInstance(
                _text(i["name"], "instances"),
                _text(i["workload"], "instances"),
                int(i["cluster"]),
                _numbers(i["fingerprint"], f"the fingerprint of {i['name']}"),
            )
            for i in plain["instances"]
        ),
        members=tuple(_member(m, directory) for m in plain["members"]),
        fallbacks={name: Fallback(f["baseline"], f["policy"]) for name, f in plain["fallback"].items()},
        rule=SelectionRule(
            rule["method"],
            int(rule["neighbours"]),
            float(plain["confidence"]["reach"]),
            float(plain["confidence"]["least"]),
            tuple(CrossValidation(**each) for each in rule["left_out"]),
        ),
        margin=float(plain["margin"]),
        matrix={
            objective: Matrix(
                *(
                    {name: _numbers(values, f"the scores of {name}") for name, values in matrix[kind].items()}
                    for kind in ("members", "baselines", "oracles", "own", "dropped")
                )
            )
            for objective, matrix in plain["matrix"].items()
        },
        version=str(plain["version"]),
        notes=tuple(map(str, plain.get("notes", ()))),
    )


def _member(plain: Mapping[str, Any], directory: Path) -> LibraryMember:
    name = _text(plain["name"], "members")
    if not name.isidentifier():
        raise ValueError(f"the member's name {name!r} is no identifier")
    path = directory / POLICIES / f"{name}.py"
    if plain["policy"] != f"{POLICIES}/{name}.py":
        raise ValueError(f"the policy of {name} must be {POLICIES}/{name}.py, not {plain['policy']!r}")
    try:
        source = read_input(path, "policy", _MAX, "build the library again").decode("utf-8")
    except (UserError, UnicodeDecodeError) as error:
        raise ValueError(f"the policy {path} cannot be read ({error})") from error
    origin = plain["provenance"]
    return LibraryMember(
        name,
        source,
        _text(plain["task"], name),
        dict(plain["settings"]),
        Origin(**{**origin, "workloads": tuple(origin.get("workloads", ()))}),
        tuple(Contribution(**each) for each in plain["earned"]),
    )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: {value!r} is no name")
    return value


def _numbers(values: object, where: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= sys.float_info.max for v in values
    ):
        raise ValueError(f"{where}: a list of finite numbers is needed")
    return tuple(map(float, values))


def _check(library: Library, path: Path) -> None:
    """Raise UserError where the parts are inconsistent."""
    problem = next(_problems(library), None)
    if problem is not None:
        raise UserError(f"the library {path} makes no sense: {problem}")


def _problems(library: Library) -> Any:
    width, count = len(library.names), len(library.instances)
    if not width or len(library.centre) != width or len(library.scale) != width:
        yield f"the fingerprint has {width} names, {len(library.centre)} centres and {len(library.scale)} scales"
    if any(scale <= 0 for scale in library.scale):
        yield "a scale of the fingerprint is not above 0"
    if not count:
        yield "it has no training instance"
    for instance in library.instances:
        if len(instance.fingerprint) != width:
            yield f"the fingerprint of {instance.name} has {len(instance.fingerprint)} numbers, not {width}"
    if library.rule.method not in METHODS:
        yield f"no method {library.rule.method!r} (known: {', '.join(METHODS)})"
    if library.rule.nearest < 1 or library.rule.reach < 0 or not 0 <= library.rule.least <= 1 or library.first < 1:
        yield "its rule, confidence or prefix is out of range"
    names = [member.name for member in library.members]
    if len(set(names)) != len(names):
        yield "two members share a name"
    for objective in library.objectives:
        matrix, fallback = library.matrix.get(objective), library.fallbacks.get(objective)
        if matrix is None or fallback is None:
            yield f"it has no matrix or no fallback for the objective {objective}"
            return
        yield from _matrix_problems(objective, matrix, fallback, names, count)


def _matrix_problems(objective: str, matrix: Matrix, fallback: Fallback, names: Sequence[str], count: int) -> Any:
    for name in names:
        if name not in matrix.members:
            yield f"the matrix of {objective} lacks the member {name}"
    for name in (fallback.baseline, fallback.policy):
        if name in names:
            yield f"the member {name} is called like a fallback"
    if fallback.baseline not in matrix.baselines or fallback.policy not in matrix.own:
        yield f"the matrix of {objective} lacks the fallback {fallback.baseline} or {fallback.policy}"
    for scores in (matrix.members, matrix.baselines, matrix.oracles, matrix.own, matrix.dropped):
        for name, values in scores.items():
            if len(values) != count:
                yield f"{name} has {len(values)} scores under {objective} for {count} instances"
