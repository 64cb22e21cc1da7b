"""Requests as the servers get them: arrivals, what is predicted of their outputs, and what they are due."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vulcan_serving.spec import ServingSpec
from vulcan_traces.prompts import PromptTrace

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ServingWorkload:
    """Of each request (requests,): `arrivals`, s; `outputs`, tokens, one at least; `predicted` ones, 0 where nothing is
    known; `goals` (requests, 3), objectives for the first and further tokens, s, and the weight; `via`, the router that
    gets it; `drawn` (requests, 2), two replicas. `chances` are of shape (requests, replicas)."""

    trace: PromptTrace
    arrivals: Numbers
    outputs: Counts
    predicted: Counts
    goals: Numbers
    via: Counts
    drawn: Counts
    chances: Numbers

    @classmethod
    def of(cls, spec: ServingSpec, trace: PromptTrace, stretch: float) -> ServingWorkload:
        """Draw what is drawn, each from a stream of its own, so that one does not depend on how many another takes."""
        count = trace.requests

        def stream(number: int) -> np.random.Generator:
            return np.random.Generator(np.random.PCG64([spec.seed, number]))

        trace = replace(trace, prompt_tokens=np.maximum(trace.prompt_tokens, 1))  # with nothing to compute none ends
        outputs = np.maximum(trace.output_tokens, 1)
        predicted = np.zeros(count, np.int64)
        if spec.lengths != "unknown":
            error = spec.prediction_error if spec.lengths == "predicted" else 0.0
            factor = np.exp(error * stream(0).standard_normal(count))
            predicted = np.maximum(np.rint(outputs * factor), 1).astype(np.int64)
        of_kind = {kind: goal for kind, *goal in spec.goals}
        by_number = np.array([of_kind.get(name, of_kind["all"]) for name in trace.kind_names])
        order = np.argsort(stream(1).random((count, spec.replicas)), axis=1)
        drawn = np.stack([order[:, 0], order[:, -1]], axis=1)
        return cls(
            trace,
            trace.arrivals * stretch,
            outputs,
            predicted,
            by_number[trace.kinds],
            stream(2).integers(spec.routers, size=count),
            drawn,
            stream(3).random((count, spec.replicas)),
        )

    @property
    def known(self) -> ServingWorkload:
        """The same requests, whose lengths are predicted without an error."""
        return replace(self, predicted=self.outputs)
