"""The windows of the public multi-region leaderboard, cut from SkyPilot's own traces.

    python -m benchmarks.spot_windows runs/spot-windows

The leaderboard of "Can't Be Late", several regions, has six scenarios: sets of zones, and of each the first few of a
hundred windows of 60 hours. The windows are parts of the traces of SkyPilot's repository, so they can be cut again
from those (its files are bit for bit the complement: they count preemptions). This writes a directory a scenario with
one a zone, in the order in which a job sees them, and windows of the same time in all; beside them sets that take no
part in it: the same zones at other times, and other zones months earlier.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import DATA

TRACES = DATA / "spot" / "skypilot-spot-traces" / "availability" / "1-node"
PUBLIC = "aws-02-15-2023"
EARLIER = "aws-10-26-2022"

TICKS = 1107
BEGINS = (18868, 15256, 8811, 9969, 16591, 3442, 14081, 6481)
"""First ticks of the leaderboard's windows 0 to 7, whose length is `TICKS`."""

SCENARIOS: dict[str, tuple[int, tuple[str, ...]]] = {
    "2_zones_same_region": (8, ("us-east-1a", "us-east-1c")),
    "2_regions_east_west": (8, ("us-east-2a", "us-west-2a")),
    "3_regions_diverse": (6, ("us-east-1a", "us-east-2b", "us-west-2c")),
    "3_zones_same_region": (6, ("us-east-1a", "us-east-1c", "us-east-1d")),
    "5_regions_high_diversity": (4, ("us-east-1a", "us-east-1f", "us-west-2a", "us-west-2b", "us-east-2b")),
    "all_9_regions": (
        2,
        (
            "us-east-2a",
            "us-west-2c",
            "us-east-1d",
            "us-east-2b",
            "us-west-2a",
            "us-east-1f",
            "us-east-1a",
            "us-west-2b",
            "us-east-1c",
        ),
    ),
}
"""How many windows of which zones, in the leaderboard's order."""


def setting(directory: Path, name: str) -> str:
    """Return what `--trace` is given for a scenario below a directory that `write` filled."""
    return "::".join(str(directory / name / f"{number}_{zone}") for number, zone in enumerate(SCENARIOS[name][1]))


def write(directory: Path) -> None:
    """Write the windows of each scenario."""
    for name, (count, zones) in SCENARIOS.items():
        for number, zone in enumerate(zones):
            place = directory / name / f"{number}_{zone}"
            place.mkdir(parents=True, exist_ok=True)
            gap, counted = _trace(PUBLIC, zone)
            for window in range(count):
                part = counted[BEGINS[window] : BEGINS[window] + TICKS]
                document = {"metadata": {"gap_seconds": gap}, "data": part}
                (place / f"{window}.json").write_text(json.dumps(document), encoding="utf-8")


def _trace(folder: str, zone: str) -> tuple[int, list[int]]:
    document = json.loads((TRACES / folder / f"{zone}_v100_1.json").read_text(encoding="utf-8"))
    return document["metadata"]["gap_seconds"], document["data"]


def commands(directory: Path) -> Iterator[str]:
    """Yield the options of `vulcan search` for all scenarios."""
    for name in SCENARIOS:
        yield f"--trace '{setting(directory, name)}'"
    yield "--deadline 52 --overhead 0.2 --windows 8 --split none --objective public_on_time"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args(arguments).directory
    write(directory)
    print("\n".join(commands(directory)))


if __name__ == "__main__":
    main()
