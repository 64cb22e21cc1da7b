"""What an event says in one line, for the list of what happens."""

from __future__ import annotations

from vulcan.report.html_page import figure_text
from vulcan.store.events import (
    BaselineMeasured,
    Chosen,
    Confirmed,
    Controlled,
    Event,
    Judged,
    Prepared,
    Refined,
    Started,
    Stopped,
)


def happening(event: Event) -> str:
    """Empty for an event that is only a step to the next one."""
    match event:
        case Started(config):
            return f"search of {config.get('task')} opened"
        case Prepared(instances):
            return f"{len(instances)} instances to be measured on"
        case BaselineMeasured(policy, kind, split, score):
            return f"{kind} {policy} scores {figure_text(score)} on {split}"
        case Judged(candidate):
            return _judged(event, candidate)
        case Refined(candidate, by, evaluations, result):
            became = "nothing better was found" if result is None else f"it became candidate {result}"
            return f"candidate {candidate} {by} in {evaluations} evaluations: {became}"
        case Confirmed(candidate, split, score):
            return f"candidate {candidate} {_scored(score)} on {split}"
        case Chosen(candidate, split):
            return f"candidate {candidate} is the winner, chosen on {split}"
        case Controlled(_, candidates):
            return f"control: {candidates} candidates without feedback"
        case Stopped(reason, message):
            return f"stopped: {reason}{': ' if message else ''}{message}"
        case _:
            return ""


def _judged(judged: Judged, candidate: int) -> str:
    if judged.verdict == "scored":
        return f"candidate {candidate} {_scored(judged.score)} on train"
    why = f" by {', '.join(dict.fromkeys(judged.rules))}" if judged.rules else ""
    return f"candidate {candidate} {judged.verdict}{why}"


def _scored(score: float | None) -> str:
    return "failed" if score is None else f"scores {figure_text(score)}"
