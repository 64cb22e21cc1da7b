"""The layers of the sandbox, by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Layer(StrEnum):
    """A defence that holds independently of the others; its value is its name in reports."""

    ENVIRONMENT = "empty environment"
    DESCRIPTORS = "closed descriptors"
    SESSION = "own session"
    PARENT_DEATH = "parent-death signal"
    UNPRIVILEGED = "unprivileged user"
    NO_NEW_PRIVILEGES = "no new privileges"
    MEMORY = "memory limit"
    PROCESSOR = "processor-time limit"
    OPEN_FILES = "descriptor limit"
    FILE_SIZE = "file-size limit"
    PROCESSES = "process limit"
    OTHER_LIMITS = "core-dump, locked-memory and queue limits"
    NETWORK = "network namespace"
    PROCESS_NAMESPACE = "process namespace"
    EMPTY_ROOT = "empty file system"
    LANDLOCK = "Landlock"
    SECCOMP = "seccomp"
    WALL_CLOCK = "wall clock"
    MESSAGES = "message limit"


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers in force: all, except where a test or a check disables some to show what a layer does.

    No command-line option and no configuration can disable a layer.
    """

    off: frozenset[Layer] = frozenset()

    def __contains__(self, layer: Layer) -> bool:
        return layer not in self.off

    @classmethod
    def without(cls, *layers: Layer) -> Self:
        return cls(frozenset(layers))

    def to_json(self) -> list[str]:
        return sorted(self.off)

    @classmethod
    def from_json(cls, names: Iterable[str]) -> Self:
        return cls(frozenset(Layer(name) for name in names))


ALL = Layers()
