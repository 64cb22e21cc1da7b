"""Which workloads a task has instances of, in which split, and which part of each is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind
from vulcan.task import Split, SplitName

Share = tuple[float, float]

SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")


def shares_in_time(split: Split) -> list[tuple[SplitName, Share]]:
    """Return each part of a split with the shares of an instance's time at which it begins and ends."""
    if split.by == "none":
        return [("train", (0.0, 1.0))]
    first, second = split.train, split.train + split.validation
    return [("train", (0.0, first)), ("validation", (first, second)), ("test", (second, 1.0))]


def sources(
    given: Sequence[str], embedded: Mapping[str, Sequence[str]], split: Split
) -> list[tuple[str, SplitName, Share]]:
    """Return the workloads that the user names, each cut along time, or else the embedded ones of each split, whole."""
    if given:
        return [(source, part, share) for source in given for part, share in shares_in_time(split)]
    return [(source, part, (0.0, 1.0)) for part in SPLITS for source in embedded[part]]


def measured_range(share: Share, count: int, source: str, unit: str) -> tuple[int, int]:
    """Return the first event and the end of a share of `count`. Raises UserError where it has none."""
    start, stop = (round(bound * count) for bound in share)
    if stop <= start:
        raise UserError(f"{source}: {count} {unit} are too few to cut into parts; use --split none")
    return start, stop


def kinds_of(baselines: Iterable[str], oracles: Iterable[str] = ()) -> Mapping[str, BaselineKind]:
    """Return the kind of each policy that a simulator knows by name."""
    kinds: list[tuple[Iterable[str], BaselineKind]] = [(baselines, "baseline"), (oracles, "oracle")]
    return {name: kind for names, kind in kinds for name in names}


def label_of(name: str) -> str:
    """Return a file's name without endings such as `.oracleGeneral.bin.zst`; a generated workload's unchanged."""
    return name if ":" in name else name.split(".", maxsplit=1)[0] or name


def with_folders(source: str, label: str, count: int) -> str:
    """Return a label with so many directories: those above the part of the path that it is, else above the last."""
    parts = [part for part in PurePosixPath(source).parts if part != "/"]
    named = [n for n, part in enumerate(parts) if label in (part, PurePosixPath(part).stem)]
    above = parts[: named[-1] if named else -1]
    return "/".join([*above[max(0, len(above) - count) :], label])
