"""Documents of a run's verdict: what is recommended, and the gains behind it."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

Split = Literal["train", "validation", "test"]
Conclusion = Literal["better", "no better", "undecided"]
"""`better` than what was known, on validation, beyond doubt; `no better`; or `undecided`, for want of evidence."""


class ConfidenceInterval(TypedDict):
    """A confidence interval of a mean over instances, or over blocks of time."""

    low: Annotated[float, "its lower end"]
    high: Annotated[float, "its upper end"]
    confidence: Annotated[float, "the confidence level, such as 0.95"]


class Recommendation(TypedDict):
    """The recommendation of a finished search."""

    sentence: Annotated[str, "the verdict in a sentence"]
    kind: Annotated[
        Literal["candidate", "start", "baseline"],
        "what is recommended: a candidate of the search, a policy that it began with, or a baseline",
    ]
    policy: Annotated[str, "its name"]
    candidate: Annotated[
        int | None,
        "its number; of a baseline, that of the policy of its name that the search began with, and `null` without one",
    ]
    second: Annotated[int | None, "the winner of the search, where something else is recommended"]
    to_add: Annotated[str | None, "evidence that is missing where the verdict is `undecided`"]


class Gain(TypedDict):
    """The winner's mean score minus that of a known policy, on one split."""

    over: Annotated[str, "the policy's name: of the baselines and what the search began with, the best on validation"]
    kind: Annotated[Literal["baseline", "start"], "which of the two"]
    split: Annotated[Split, "the split"]
    gain: Annotated[float, "the difference of the means"]
    shrunk: Annotated[float, "on validation: less what choosing the best of several finalists adds to it by luck"]
    interval: Annotated[ConfidenceInterval | None, "of `shrunk`, paired; `null` for too little evidence"]
    units: Annotated[Literal["instances", "windows"], "what the interval is over: workloads, or blocks of time"]
    count: Annotated[int, "how many of them; 0 where they are not known"]
    recent: Annotated[float, "the difference on the later half of the blocks of time; over instances, `gain`"]
