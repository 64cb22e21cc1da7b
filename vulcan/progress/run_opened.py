"""The description of a run that displays get when it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vulcan.documents.run import OpenedData
from vulcan.terminal_text import count


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run with its task, its number of instances, and its models, or the run whose replies it `repeats`.

    A run whose prompts are answered by hand (`--model ask`) has no models.
    """

    run: Path
    task: str
    instances: int
    models: tuple[str, ...] = ()
    repeats: Path | None = None

    def text(self) -> str:
        """Return the description as readable text."""
        answered = f", model {', '.join(self.models)}" if self.models else ""
        if self.repeats is not None:
            answered = f", the replies of {self.repeats}"
        return f"run {self.run}: task {self.task}, {count(self.instances, 'instance')}{answered}"

    def document(self) -> OpenedData:
        """Return the description as JSON."""
        return {
            "run": str(self.run),
            "task": self.task,
            "instances": self.instances,
            "model": list(self.models),
            "replay_of": None if self.repeats is None else str(self.repeats),
        }
