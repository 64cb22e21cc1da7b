"""Perturbed copies of training instances, for policies that shall withstand another path than the one they saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from vulcan.evaluator import Instance

COMPETITOR = "cubic"
RATE_SHARE, FARTHER = 0.4, 1.5
JITTER_MS, ACK_BATCH_MS = 2.0, 5.0
"""A slower, farther and noisier path: wireless, where the first one may be wired."""


def shifted(instance: Instance) -> Sequence[Instance]:
    """Return two copies of a training instance.

    `beside cubic`: with one more competitor. `slow and noisy`: at 0.4 of the link's rate and 1.5 times the delay, with
    2 ms of jitter and acknowledgements in batches of 5 ms, or as many as there are already; the queue's packets stay.
    """
    p = cast(dict[str, Any], instance.parameters)

    def copy(what: str, **changed: Any) -> Instance:
        return replace(instance, name=f"{instance.name}, {what}", parameters={**p, **changed})

    return (
        copy("beside cubic", competing=[*p["competing"], COMPETITOR]),
        copy(
            "slow and noisy",
            rate_share=RATE_SHARE * p.get("rate_share", 1.0),
            delay_ms=FARTHER * p["delay_ms"],
            jitter_ms=max(JITTER_MS, p.get("jitter_ms", 0.0)),
            ack_batch_ms=max(ACK_BATCH_MS, p.get("ack_batch_ms", 0.0)),
        ),
    )
