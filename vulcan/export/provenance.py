"""Provenance of an exported policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import vulcan
from vulcan.task import Json


@dataclass(frozen=True, slots=True)
class Provenance:
    """The policy's origin, as stated in the docstring or first comment of an export.

    `proposer` is the model or generator that wrote it. `scores` are its scores by split (`train`, `validation`,
    `test`), `instances` the names of the instances they were measured on. `settings` are the task's settings in the
    search. `date` is that of the search or the export, in ISO 8601. For a policy that belongs to no run, `run` is the
    name of its file, and `candidate`, `proposer` and `date` are empty.
    """

    task: str
    run: str
    candidate: str
    proposer: str
    date: str
    seed: int | None = None
    objective: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    instances: Sequence[str] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    version: str = vulcan.__version__

    @property
    def origin(self) -> str:
        """The run and the candidate, or the file."""
        return f"{self.run}, candidate {self.candidate}" if self.candidate else self.run

    def lines(self, needs: str = "It needs Python alone.") -> Iterator[str]:
        """Yield one fact per line; `needs` in the first states what is required to run the export.

        A line that differs between two runs of one seed contains the word `run`, `date` or `time`, so that exports can
        be compared without such lines.
        """
        facts = {
            ("Run" if self.candidate else "File"): self.origin,
            "Date": self.date,
            "Task": f"{self.task}, objective {self.objective}" if self.objective else self.task,
            "Proposed by": self.proposer if self.seed is None else f"{self.proposer}, seed {self.seed}",
            **{f"Score on {split}": f"{score:.6f}" for split, score in self.scores.items()},
            **{f"Measured on ({i})": name for i, name in enumerate(self.instances, 1)},
            **{
                f"Setting {name}": _written(value) for name, value in sorted(self.settings.items()) if value is not None
            },
        }
        yield f"Written by Vulcan {_one_line(self.version)}. {needs}"
        yield from (f"{what}: {_one_line(fact)}" for what, fact in facts.items() if fact)


def _written(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())
