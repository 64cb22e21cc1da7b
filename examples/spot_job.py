"""A job on spot VMs that runs on what an exported policy of `spot_single` says, tick by tick.

    vulcan export RUN -o policy.py && python spot_job.py policy.py --hours 10 --deadline 15 < recorded.txt

`Recorded` stands for the cloud, and has what is left to a user: to find out whether spot can be had, and to start, keep
and end VMs. A line of the recording is a tick, 1 where spot could be had and 0 where not; after its end it could not.
"""

import argparse
import importlib.util
import sys


class Recorded:
    """A cloud that is read from lines; what it held in each tick is kept."""

    def __init__(self, lines):
        self.there, self.held = [line.strip() == "1" for line in lines], []

    def has_spot(self):
        """A real one launches a spot VM, or asks whether the one that it holds still runs."""
        return len(self.held) < len(self.there) and self.there[len(self.held)]

    def hold(self, kind):
        """A real one ends a VM of another kind, launches one of this, and sleeps until the next tick."""
        self.held.append(kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policy")
    parser.add_argument("--hours", type=float, required=True, help="work of the job")
    parser.add_argument("--deadline", type=float, required=True, help="hours from now")
    parser.add_argument("--overhead", type=float, default=0.2, help="hours that a VM takes to start")
    parser.add_argument("--gap", type=float, default=600, help="seconds of a tick")
    given = parser.parse_args()
    spec = importlib.util.spec_from_file_location("policy", given.policy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hours = [3600 * given.hours, 3600 * given.deadline, 3600 * given.overhead]
    cloud, run = Recorded(sys.stdin), module.SpotRun(*hours, given.gap)
    while True:
        kind = run.tick(cloud.has_spot())
        if run.is_done:  # a real job says so itself
            break
        cloud.hold(kind)
    spot, on_demand = cloud.held.count(run.SPOT), cloud.held.count(run.ON_DEMAND)
    print(f"ticks: {spot} of spot, {on_demand} on demand, {len(cloud.held)} in all")


if __name__ == "__main__":
    main()
