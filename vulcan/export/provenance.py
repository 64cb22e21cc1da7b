"""Where an exported policy comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import vulcan
from vulcan.task import Json


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the docstring of an exported module says of the policy's origin.

    `proposer` is the model that wrote it, or the generator. `scores` are its scores by split (`train`, `validation`,
    `test`), `instances` the names of what they were measured on. `settings` are the task's, as they were in the
    search. `date` is that of the search or the export, in ISO 8601. Of a policy that no run knows, `run` is the name of
    its file, and `candidate`, `proposer` and `date` are empty.
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

    def lines(self, needs: str = "It needs Python alone.") -> Iterator[str]:
        """One fact a line; `needs` says in the first what it takes to run the export.

        A line that differs between two runs of one seed has the word `run`, `date` or `time` in it, so that
        exports can be compared without such lines.
        """
        facts = {
            "Run": f"{self.run}, candidate {self.candidate}" if self.candidate else "",
            "File": "" if self.candidate else self.run,
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
