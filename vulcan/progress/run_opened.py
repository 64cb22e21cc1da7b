"""What a display is told of a run before anything happens in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vulcan.documents.run import OpenedData


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run, what it searches, on how many instances, and who answers: `models`, or the replies of the run `repeats`.

    A run whose prompts somebody else answers has no models.
    """

    run: Path
    task: str
    instances: int
    models: tuple[str, ...] = ()
    repeats: Path | None = None

    def words(self) -> str:
        """For people."""
        answered = f", model {', '.join(self.models)}" if self.models else ""
        if self.repeats is not None:
            answered = f", the replies of {self.repeats}"
        return f"run {self.run}: task {self.task}, {self.instances} instances{answered}"

    def document(self) -> OpenedData:
        """As JSON."""
        return {
            "run": str(self.run),
            "task": self.task,
            "instances": self.instances,
            "model": list(self.models),
            "replay_of": None if self.repeats is None else str(self.repeats),
        }
