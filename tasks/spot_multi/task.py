"""Spot VMs in several regions: what to run next, and where, so that a job is done by its deadline for little money."""

from pathlib import Path

from vulcan.task import Entity, Feature, Global, Mechanism, Property, Rank, Task, Value
from vulcan_spot.interface import JOB, MAX, PRICES, REGIONAL, VM, market, objectives, settings, tick
from vulcan_spot.job import USUAL_MULTI

REGIONS = Global(
    name="regions",
    meaning="all regions",
    features=(
        Feature("count", "int", "regions", 1.0, 64.0, "how many there are"),
        Feature("seen", "int", "regions", 0.0, 64.0, "in how many the job has been so far, this one included"),
        Feature("here_s", "int", "seconds", 0.0, 3 * MAX, "for how long the job has been in this one"),
        Feature(
            "lowest_price_ratio", "float", "share", 0.0, 1.0,
            "the lowest price of spot in any of them now, as a share of the on-demand price", only=REGIONAL,
        ),
    ),
)  # fmt: skip

REGION = Entity(
    name="region",
    meaning="a region, and what was seen when the job was there",
    features=(
        Feature("id", "int", "identity", 0.0, 64.0, "identifies the region and means nothing else"),
        Feature(
            "available", "int", "truth", -1.0, 1.0,
            "whether spot was available there when it was last seen; -1 before it was ever seen", unknown=-1.0,
        ),
        Feature(
            "age_s", "int", "seconds", 0.0, 4 * MAX,
            "time since it was last seen; before it was ever seen, a tick longer than the job has run",
        ),
        Feature("ticks_seen", "int", "ticks", 0.0, 1e8, "in how many ticks it was seen"),
        Feature(
            "spell_s", "int", "seconds", 0.0, 3 * MAX,
            "for how long it had been seen to be so when it was last seen",
        ),
        Feature("visits", "int", "visits", 0.0, 1e8, "how many times the job came there"),
        Feature(
            "price_ratio", "float", "share", 0.0, 1.0,
            "what spot costs there now, as a share of the on-demand price; known of all regions", only=REGIONAL,
        ),
    ),
    key="id",
)  # fmt: skip

TICK = Mechanism(
    "tick",
    "`decide` is called once a tick, after the tick that has passed was accounted and before the coming "
    "one, and its number stands for what happens during the coming tick: below 0.5 the job moves, from 0.5 "
    "it runs on spot, from 1.5 on-demand, from 2.5 on-demand with a look at another region: the VM goes on, or "
    "starts, as from 1.5, and at the next tick the job is in that region and sees what is available there. "
    "Spot that is not available here is nothing, for that tick, and "
    "the job stays. A VM that is held and asked for again just goes on. Any other VM that is asked for "
    "starts, and then does no work for `job.overhead_s`, however far the start-up of the one before it had "
    "come. A VM is paid for the whole tick, nothing costs nothing, and the job is over in the tick in which "
    "its work is done. A safety net has the last word: once a start, rounded up to ticks together with the "
    "work left, takes all the ticks until the deadline, it runs on-demand where the job is, whatever you "
    "return, or goes on with spot if a spot VM is held whose start-up is over. So waiting too long costs "
    "money, and not the deadline. Statistics observe once a tick, just before `decide`: those of "
    "`region` for the region where the job is, and for no other.",
)

MOVE = Mechanism(
    "tick",
    "`prefer` is called only where `decide` says to move or to look, for every region but the one where the "
    "job is, and the job goes to the one of the highest number, of equals to the one of the lowest "
    "`region.id`. To move takes the tick: the VM is let go, nothing runs, and what is available in the new "
    "region is seen at the next tick, by `decide`. A look takes nothing: on-demand costs the same everywhere, "
    "and its VM goes on.",
)

ARGUMENTS = (
    JOB,
    market(" in the region where the job is", "it has just changed or the job has just come"),
    VM,
    REGIONS,
)

TASK = Task(
    name="spot_multi",
    summary="Choose on what a job runs, a spot VM that may be preempted or an on-demand VM at three times the "
    "price, or move it to another region, so that it is done by its deadline for as little money as "
    "possible.",
    signature=Value(
        function="decide",
        arguments=ARGUMENTS,
        returns="what happens during the coming tick: 0 to move to another region, 1 for spot, 2 for on-demand, 3 for "
        "on-demand with a look at another region",
        low=0.0,
        high=3.0,
        mechanisms=(TICK,),
    ),
    others=(
        Rank(
            function="prefer",
            arguments=(JOB, REGIONS, REGION),
            returns="how good it is to move to the region: the job moves to the one of the highest number",
            mechanisms=(MOVE,),
        ),
    ),
    evaluator="vulcan_spot.simulator:RegionsSimulator",
    objectives=objectives("greedy_round_robin", "the greedy policy that moves to each region in turn"),
    directory=Path(__file__).parent,
    settings=(
        *settings(
            "availability in each region: a directory of SkyPilot JSON files, one a region, or several "
            "specifications with `::` between them, each as in the task spot_single",
            USUAL_MULTI,
        ),
        PRICES,
    ),
    properties=(
        Property("one of four", "bounded", "the number stays from 0 to 3", low=0.0, high=3.0, required=True),
        Property(
            "blind to identity", "independent", "a region's number says nothing", subject="region.id", function="prefer"
        ),
    ),
    events=tick((*ARGUMENTS, REGION), " `region` is the one where the job is."),
    advice=(
        "Two thirds of the price are saved on every hour on spot; a move costs a tick, and a start `job.overhead_s`; "
        "a look from an on-demand VM costs nothing.",
        "A region where spot was there often and lately is a better guess than one where it was not; one "
        "never seen may be better than all of them.",
        "How much slack is left says whether there is time to look for spot, or on-demand has to help out.",
    ),
)
