"""The evaluator of the task `spot_multi`: availability in several regions and jobs in, dollars out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.task import Json
from vulcan_spot.evaluator_base import Regions, WindowsEvaluator
from vulcan_spot.job import Job, Prices
from vulcan_spot.runs import Runs
from vulcan_spot.simulate_regions import REGION_BASELINES, simulate_regions
from vulcan_spot.windows import Place, Windows
from vulcan_traces.spot import EMBEDDED_REGIONS, load_spot

BETWEEN_REGIONS = "::"
"""Stands between the regions of an environment in a setting."""

_NAMED = 3
"""Regions whose names stand in an instance's name."""

_EMBEDDED = {part: [BETWEEN_REGIONS.join(specs) for specs in sets] for part, sets in EMBEDDED_REGIONS.items()}


class MultiRegionEvaluator(WindowsEvaluator):
    """An environment is a set of regions: windows are cut at the same times in all, and a job begins in region 0."""

    embedded = _EMBEDDED
    known = REGION_BASELINES
    kept_as = "spot regions"

    def load(self, spec: str, meaning: str | None, nodes: int) -> Regions:
        return load_regions(spec, meaning, nodes)

    def label(self, spec: str, regions: Regions) -> str:
        """The names of the first regions, and how many more there are."""
        names = [traces[0].name for traces in regions]
        if len(names) <= _NAMED:
            return "+".join(names)
        return "+".join(names[: _NAMED - 1]) + f"+{len(names) - _NAMED + 1}"

    def details(self, regions: Regions) -> Mapping[str, Json]:
        return {"regions": len(regions)}

    def windows(self, regions: Regions, places: Sequence[Place]) -> Windows:
        return Windows.of_regions(regions, places)

    def simulate(self, who: Policy | str, windows: Windows, job: Job, prices: Prices) -> Runs:
        return simulate_regions(who, windows, job, prices)

    def metrics(self, runs: Runs, gap: int, job: Job, prices: Prices) -> dict[str, float]:
        """Besides, `moves`, the mean of a run."""
        return {**super().metrics(runs, gap, job, prices), "moves": float(runs.moves.mean())}


def load_regions(spec: str, meaning: str | None, nodes: int) -> Regions:
    """The traces of each region: of a directory each file, of specifications with `::` between them each one.

    Raises UserError where the regions' traces do not go together.
    """
    specs = [part.strip() for part in spec.split(BETWEEN_REGIONS)]
    loaded = [load_spot(part, meaning=meaning, nodes=nodes) for part in specs]
    regions = tuple((trace,) for trace in loaded[0]) if len(loaded) == 1 else tuple(loaded)
    gaps = sorted({trace.gap for traces in regions for trace in traces})
    if len(gaps) > 1:
        raise UserError(f"{spec}: ticks of {' and '.join(map(str, gaps))} seconds; regions need the same")
    counts = sorted({len(traces) for traces in regions})
    if len(counts) > 1:
        raise UserError(f"{spec}: {' and '.join(map(str, counts))} windows; each region needs as many as the others")
    return regions
