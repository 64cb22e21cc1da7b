"""Spot VMs in one region: what to run next, so that a job is done by its deadline for little money."""

from pathlib import Path

from vulcan.task import Mechanism, Property, Task, Value
from vulcan_spot.interface import JOB, VM, market, objectives, settings, tick
from vulcan_spot.job import USUAL_SINGLE

TICK = Mechanism(
    "tick",
    "`decide` is called once a tick, after the tick that has passed was accounted and before the coming "
    "one, and its number stands for what runs during the coming tick: below 0.5 nothing, from 0.5 spot, "
    "from 1.5 on-demand. Spot that is not available is nothing, for that tick. A VM that is held and asked "
    "for again just goes on. Any other VM that is asked for starts, and then does no work for "
    "`job.overhead_s`, however far the start-up of the one before it had come. A VM is paid for the whole "
    "tick, nothing costs nothing, and the job is over in the tick in which its work is done. A safety net "
    "has the last word: once a start, rounded up to ticks together with the work left, takes all the ticks "
    "until the deadline, it runs on-demand whatever you return, or goes on with spot if a spot VM is held whose "
    "start-up is over. So waiting too long costs money, and not the deadline. "
    "Statistics observe once a tick, just before the call.",
)

ARGUMENTS = (JOB, market("", "it has just changed"), VM)

TASK = Task(
    name="spot_single",
    summary="Choose what a job runs on, nothing, a spot VM that may be preempted or an on-demand VM at three times "
    "the price, so that it is done by its deadline for as little money as possible.",
    signature=Value(
        function="decide",
        arguments=ARGUMENTS,
        returns="what to run during the coming tick: 0 for nothing, 1 for spot, 2 for on-demand",
        low=0.0,
        high=2.0,
        mechanisms=(TICK,),
    ),
    evaluator="vulcan_spot.simulator:SpotSimulator",
    objectives=objectives("greedy", "the greedy policy"),
    directory=Path(__file__).parent,
    settings=settings(
        "availability: a SkyPilot JSON file, a directory of windows, ARCHIVE.tar.gz:FOLDER, or markov:up=2.3,down=1",
        USUAL_SINGLE,
    ),
    properties=(
        Property("one of three", "bounded", "the number stays from 0 to 2", low=0.0, high=2.0, required=True),
        Property(
            "spot only where it is",
            "holds",
            "spot is asked for only where it is available",
            claim="result < 0.5 or result >= 1.5",
            when="not spot.available",
            required=True,
        ),
    ),
    events=tick(ARGUMENTS),
    advice=(
        "Two thirds of the price are saved on every hour on spot; every start costs `job.overhead_s` of work.",
        "How much slack is left, how it compares with the time that is left, how often and how long spot "
        "has been there, and what is held now all carry signal.",
        "A VM that is swapped for another one pays a start; stay where the gain is smaller than that.",
    ),
)
