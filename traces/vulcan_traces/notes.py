"""Notes of a reader: what it made of a file that the file does not say in so many words, with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SKIPPED = "malformed lines skipped"
MANY_SKIPPED = "lines, of which over 1 % were skipped"
SIZE_FROM_OTHERS = "sizes of 0 or unknown taken from other requests for the object"
SIZE_UNKNOWN = "requests left out, their object being of no known size"
OPERATION = "lines left out by their operation (ops= takes others)"
OTHER_STATUS = "replies of a status other than 200 or 304 are requests too, of the size that was sent"
OVERLAP = "requests overlap others that begin elsewhere, and count as other objects (--page-size 4KiB splits them)"
BACKWARDS = "times go backwards; the order is that of the file"
FALLING = (
    "times go backwards, a quarter or more of them; the order is that of the file: sort it, or are columns swapped?"
)
SWAPPED = "sizes come with one id each, and few ids with many sizes: are columns swapped?"
VARYING = "requests give their object another size than the one before: is that column a size?"
RISING = "ids never go down: are they times?"
CLIMBING = "sizes climb as times do: are columns swapped?"

UNKNOWN_OPERATION = "operations are not known, so that all lines are requests (op= and ops= choose)"

NoteCounts = Counter[tuple[str, str]]
"""Counts by kind of note and reason; the reason may be empty."""


@dataclass(frozen=True, slots=True)
class Note:
    """Note of one kind: the count over all its reasons, and each reason's."""

    kind: str
    count: int
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        alone = len(self.reasons) == 1
        reasons = ", ".join(
            reason if alone else f"{count:,} {reason}" for reason, count in self.reasons.items() if reason
        )
        return f"{self.count:,} {self.kind}" + (f": {reasons}" if reasons else "")


def notes_of(counts: NoteCounts) -> tuple[Note, ...]:
    """Return the notes, each kind once, with its reasons from the most frequent on."""
    found: dict[str, dict[str, int]] = {}
    for (kind, reason), count in counts.most_common():
        if count:
            found.setdefault(kind, {})[reason] = count
    return tuple(Note(kind, sum(reasons.values()), reasons) for kind, reasons in found.items())


def one_line(notes: Sequence[Note]) -> str:
    """Return all notes in one line."""
    return "; ".join(map(str, notes))
