"""The evaluator of the task `spot_single`: availability and jobs in, dollars out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from vulcan.anvil import Policy
from vulcan.task import Json
from vulcan_spot.evaluator_base import Regions, WindowsEvaluator
from vulcan_spot.job import Job, Prices
from vulcan_spot.runs import Runs
from vulcan_spot.simulate import BASELINES, simulate
from vulcan_spot.windows import Place, Windows
from vulcan_traces.spot import EMBEDDED_SPOT, load_spot


class SpotEvaluator(WindowsEvaluator):
    """An environment is one region."""

    embedded = EMBEDDED_SPOT
    known = BASELINES
    kept_as = "spot"

    def load(self, spec: str, meaning: str | None, nodes: int) -> Regions:
        return (load_spot(spec, meaning=meaning, nodes=nodes),)

    def label(self, spec: str, regions: Regions) -> str:
        """The trace's; of several windows, the last telling part of the path."""
        (traces,) = regions
        if len(traces) == 1:
            return traces[0].name
        parts = [part for part in PurePosixPath(spec).parts if part not in ("/", "traces", "random_start")]
        return parts[-1] if parts else spec

    def details(self, regions: Regions) -> Mapping[str, Json]:
        return {}

    def windows(self, regions: Regions, places: Sequence[Place]) -> Windows:
        return Windows.of(regions[0], places)

    def simulate(self, who: Policy | str, windows: Windows, job: Job, prices: Prices) -> Runs:
        return simulate(who, windows, job, prices)
