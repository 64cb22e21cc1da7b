"""The windows of the public leaderboards of spot VMs, as directories that a search reads.

    python -m benchmarks.spot_windows runs/spot-windows --leaderboard ADRS-Leaderboard

The leaderboard of one region takes 30 windows of each of six zones, which come with it in an archive: all 180 go into
one directory, `one_region`, so that an instance is a job in all of them.

That of several regions has six scenarios: sets of zones, and of each the first few of a hundred windows of 60 hours.
The windows are parts of the traces of SkyPilot's repository, so they can be cut again from those (its files are bit for
bit the complement: they count preemptions). A scenario is a directory with one for each zone, in the order in which a
job sees them, and windows of the same time in all. Prices are in the leaderboard's own files alone: with a checkout of
it, whose traces are unpacked as its README says, the windows have them.

Without the data of one of the two its windows are left out.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA
from benchmarks.spot import ARCHIVE, DEADLINES, OVERHEADS, ZONES
from vulcan_spot.windows import regular
from vulcan_traces.spot import SpotTrace, load_spot

TRACES = DATA / "spot" / "skypilot-spot-traces" / "availability" / "1-node"
PUBLIC = "aws-02-15-2023"
EARLIER = "aws-10-26-2022"
PRICED = Path("problems/cant_be_late_multi/resources/cant-be-late-simulator/data/converted_multi_region_aligned")
"""Where the windows with prices lie in a checkout of the leaderboard."""

ONE_REGION = "one_region"
WINDOWS_A_ZONE = 30

TICKS = 1107
BEGINS = (18868, 15256, 8811, 9969, 16591, 3442, 14081, 6481)
"""First ticks of the leaderboard's windows 0 to 7, whose length is `TICKS`."""

SCENARIOS: dict[str, tuple[int, tuple[str, ...]]] = {
    "2_zones_same_region": (8, ("us-east-1a", "us-east-1c")),
    "2_regions_east_west": (8, ("us-east-2a", "us-west-2a")),
    "3_regions_diverse": (6, ("us-east-1a", "us-east-2b", "us-west-2c")),
    "3_zones_same_region": (6, ("us-east-1a", "us-east-1c", "us-east-1d")),
    "5_regions_high_diversity": (4, ("us-east-1a", "us-east-1f", "us-west-2a", "us-west-2b", "us-east-2b")),
    "all_9_regions": (2, (
        "us-east-2a", "us-west-2c", "us-east-1d", "us-east-2b", "us-west-2a", "us-east-1f", "us-east-1a", "us-west-2b",
        "us-east-1c",
    )),
}  # fmt: skip
"""How many windows of which zones, in the leaderboard's order."""


OTHER_WINDOWS = (9, 11, 15, 16, 19, 21, 23, 27, 29, 33, 39, 40, 43, 48, 50, 51, 52, 56, 57, 65, 66, 86, 91, 94, 97, 99)
"""The leaderboard's further windows of which no tick is near one of those that it takes."""

OTHER_SETS = (
    ("us-east-1d", "us-east-1f"),
    ("us-east-2b", "us-west-2b"),
    ("us-east-1c", "us-east-2a", "us-west-2b"),
    ("us-east-1c", "us-east-1d", "us-east-1f"),
    ("us-east-1d", "us-east-1c", "us-west-2c", "us-west-2a", "us-east-2a"),
    ("us-east-1f", "us-east-1c", "us-east-2b", "us-west-2a"),
)
"""Sets of zones that are none of the leaderboard's scenarios."""


def setting(directory: Path, name: str) -> str:
    """Return what `--trace` is given for a scenario below a directory that `write` filled."""
    return "::".join(str(directory / name / f"{number}_{zone}") for number, zone in enumerate(SCENARIOS[name][1]))


def write(directory: Path, leaderboard: Path | None = None) -> None:
    """Write the windows of each scenario, with prices where they come from a checkout of the leaderboard."""
    for name, (count, zones) in SCENARIOS.items():
        for number, zone in enumerate(zones):
            place = directory / name / f"{number}_{zone}"
            place.mkdir(parents=True, exist_ok=True)
            gap, counted = _trace(PUBLIC, zone)
            for window in range(count):
                part = counted[BEGINS[window] : BEGINS[window] + TICKS]
                document: dict[str, Any] = {"metadata": {"gap_seconds": gap}, "data": part}
                if leaderboard is not None:
                    with (leaderboard / PRICED / f"{zone}_v100_1" / f"{window}.json").open(encoding="utf-8") as public:
                        document["prices"] = json.load(public)["prices"]
                (place / f"{window}.json").write_text(json.dumps(document), encoding="utf-8")


def other_regions(leaderboard: Path) -> Iterator[tuple[tuple[SpotTrace, ...], ...]]:
    """Yield the windows `OTHER_WINDOWS`, with prices, of each region of each of `OTHER_SETS`."""
    for zones in OTHER_SETS:
        folders = (leaderboard / PRICED / f"{zone}_v100_1" for zone in zones)
        yield tuple(tuple(map(_priced, (folder / f"{n}.json" for n in OTHER_WINDOWS))) for folder in folders)


def _priced(file: Path) -> SpotTrace:
    (trace,) = load_spot(str(file), meaning="preempted")
    return trace


def write_one_region(directory: Path) -> None:
    """Write the windows that the public evaluator takes of each zone, as they are in its archive."""
    place = directory / ONE_REGION
    place.mkdir(parents=True, exist_ok=True)
    folder = f"real/ddl=search+task=48+overhead={OVERHEADS[0]:.2f}/real"
    with tarfile.open(ARCHIVE) as archive:
        names = archive.getnames()
        for zone in ZONES:
            below = f"{folder}/{zone}/traces/random_start/"
            found = sorted(name for name in names if name.startswith(below) and name.endswith(".json"))
            for index in regular(0, len(found) - 1, WINDOWS_A_ZONE):
                content = archive.extractfile(found[index])
                assert content is not None
                (place / f"{zone}-{found[index].removeprefix(below)}").write_bytes(content.read())


def _trace(folder: str, zone: str) -> tuple[int, list[int]]:
    document = json.loads((TRACES / folder / f"{zone}_v100_1.json").read_text(encoding="utf-8"))
    return document["metadata"]["gap_seconds"], document["data"]


def commands(directory: Path, priced: bool) -> Iterator[str]:
    """Yield the options of `vulcan search` for one region, and for all scenarios of several."""
    jobs = [*(f"--deadline {hours}" for hours in DEADLINES), *(f"--overhead {hours}" for hours in OVERHEADS)]
    common = "--split none --safety-net published"
    yield f"--task spot_single --trace {directory / ONE_REGION} {' '.join(jobs)} --windows 180 {common} \\"
    yield "    --objective public_on_time"
    yield "--task spot_multi \\"
    for name in SCENARIOS:
        yield f"    --trace '{setting(directory, name)}' \\"
    objective = f"{'--prices regions ' if priced else ''}--objective public_on_time"
    yield f"    --deadline 52 --overhead 0.2 --windows 8 {common} {objective}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--leaderboard", type=Path, help="a checkout of github.com/UCB-ADRS/ADRS-Leaderboard")
    given = parser.parse_args(arguments)
    if ARCHIVE.is_file():
        write_one_region(given.directory)
    if TRACES.is_dir():
        write(given.directory, given.leaderboard)
    print("\n".join(commands(given.directory, given.leaderboard is not None)))


if __name__ == "__main__":
    main()
