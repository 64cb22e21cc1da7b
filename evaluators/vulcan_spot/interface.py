"""Declarations shared by the two spot tasks: features of the job, the market and its VM; settings; objectives."""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.task import Argument, Event, Feature, Global, Json, Metrics, Objective, Setting, event
from vulcan_spot.job import UsualJob

MAX = 36_000_000.0
"""Seconds; no deadline is later."""

JOB = Global(
    name="job",
    meaning="the job, which needs `duration_s` of work by `deadline_s` after its begin",
    features=(
        Feature("duration_s", "int", "seconds", 1.0, MAX, "the work it takes in all"),
        Feature("deadline_s", "int", "seconds", 1.0, MAX, "when it has to be done, counted from its begin"),
        Feature("overhead_s", "int", "seconds", 0.0, MAX, "how long a VM does no work after it started"),
        Feature("gap_s", "int", "seconds", 1.0, 86_400.0, "the length of a tick; a decision holds for one"),
        Feature("elapsed_s", "int", "seconds", 0.0, 3 * MAX, "time since it began"),
        Feature("progress_s", "int", "seconds", 0.0, MAX, "work done so far"),
        Feature("work_left_s", "int", "seconds", 1.0, MAX, "work still to do: duration_s - progress_s"),
        Feature("time_left_s", "int", "seconds", -3 * MAX, MAX, "time until the deadline: deadline_s - elapsed_s"),
        Feature(
            "slack_s",
            "int",
            "seconds",
            -5 * MAX,
            MAX,
            "time to spare if a VM started now and kept running: time_left_s - work_left_s - overhead_s",
        ),
    ),
)

VM = Global(
    name="vm",
    meaning="the VM of the job; 0 stands for none, 1 for spot, 2 for on-demand",
    features=(
        Feature("last", "int", "class", 0.0, 2.0, "which one ran during the tick that has just passed"),
        Feature("held", "int", "class", 0.0, 2.0, "the same, but 0 where it has just been preempted"),
        Feature("overhead_left_s", "int", "seconds", 0.0, MAX, "what is left of its time without work"),
        Feature("running_s", "int", "seconds", 0.0, 3 * MAX, "how long it has been running; 0 if none is held"),
        Feature("preemptions", "int", "events", 0.0, 1e8, "how many spot VMs of this job were preempted so far"),
    ),
)


def market(where: str, changed: str) -> Global:
    """Return the argument `spot`. The texts say where it is observed, and since when a spell is counted."""
    return Global(
        name="spot",
        meaning=f"the market of spot VMs{where}",
        features=(
            Feature("available", "bool", "truth", 0.0, 1.0, "whether a spot VM can run during the coming tick"),
            Feature("spell_s", "int", "seconds", 0.0, 3 * MAX, f"for how long it has been so, 0 when {changed}"),
            Feature("price_ratio", "float", "share", 0.0, 1.0, "its price as a share of the on-demand price"),
        ),
    )


def tick(arguments: tuple[Argument, ...], entity: str = "") -> tuple[Event, ...]:
    """Return the event of the spot tasks; `entity` describes an argument that `decide` is not shown."""
    meaning = (
        "A tick has passed and was accounted; `decide` follows, and statistics have observed already. Each run of a "
        f"job begins with new state.{entity}"
    )
    return (event("on_tick", arguments, meaning),)


DISQUALIFIED = 1_000_000.0
"""Dollars that a missed deadline costs by default: more than all else together, so that a single miss in any run of any
instance puts a policy behind all that miss none, and fewer misses are better than more."""


def _cost(metrics: Metrics) -> float:
    return -metrics["mean_cost"] - 0.25 * metrics["std_cost"]


def _under_other_rules(settings: Mapping[str, Json]) -> str | None:
    if settings["safety_net"] == "published":
        return None
    return "the objective 'public_on_time' is of the public leaderboard's rules: add --safety-net published"


def objectives(greedy: str, described: str) -> tuple[Objective, ...]:
    """`greedy` is the baseline that savings are measured against."""
    return (
        Objective(
            name="cost",
            metric="mean_cost",
            meaning="minus the mean cost of a run in dollars, minus a quarter of its standard deviation over runs",
            score=lambda metrics, references: _cost(metrics),
            beside=("missed",),
        ),
        Objective(
            name="savings",
            metric="mean_cost",
            meaning=f"dollars that a run saves in the mean against {described}",
            score=lambda metrics, references: references[greedy]["mean_cost"] - metrics["mean_cost"],
            references=(greedy,),
            beside=("missed",),
        ),
        Objective(
            name="public_on_time",
            metric="public_score",
            meaning="the score of the public leaderboard, under its safety net, less 100 times the share of runs that "
            "miss their deadline there",
            score=lambda metrics, references: metrics["public_score"] - 100.0 * metrics["public_missed"],
            lowest=-100.0,
            highest=100.0,
            beside=("public_missed",),
            unfit=_under_other_rules,
        ),
    )


PRICES = Setting(
    "prices",
    "text",
    "what spot costs: one price in all regions, or that of each region in each tick, as its trace has it",
    "one",
    choices=("one", "regions"),
)
REGIONAL = ("prices", "regions")
"""The value of a setting with which a policy is shown what spot costs in each region."""


_SCALED = ", scaled with the deadline, or to short traces"


def _of_job(name: str, meaning: str, usual: tuple[float, ...]) -> Setting:
    listed = ", ".join(f"{hours:g}" for hours in usual)
    return Setting(name, "float", f"{meaning}; default: {listed}, scaled likewise", repeatable=True)


def settings(trace: str, usual: UsualJob) -> tuple[Setting, ...]:
    """`trace` says what may be given for availability."""
    return (
        Setting("trace", "text", f"{trace}; default: generated environments", repeatable=True),
        Setting("duration", "float", f"hours of work of the job; default: {usual.duration:g}{_SCALED}"),
        _of_job("deadline", "hours until it has to be done", usual.deadlines),
        _of_job("overhead", "hours that a VM takes to start", usual.overheads),
        Setting("windows", "int", "runs of the job in an environment, divided among splits where it is cut", 30),
        Setting(
            "meaning",
            "text",
            "what a trace counts; default: preempted where the file has a key `generator`, else available",
            choices=("available", "preempted"),
        ),
        Setting("nodes", "int", "how many spot VMs the job needs at a time, where a trace counts them", 1),
        Setting("on_demand_price", "float", "dollars an hour", 3.06),
        Setting("spot_price", "float", "dollars an hour", 0.9731),
        Setting(
            "missed_cost",
            "float",
            "dollars that a missed deadline costs beside the hours; the default disqualifies",
            DISQUALIFIED,
        ),
        Setting(
            "safety_net",
            "text",
            "what happens where spot is lost in the last tick in which on-demand can still meet the deadline: "
            "on-demand starts in that tick (exact), or, as in the public leaderboard, the tick is lost (published); "
            "both is exact, and a run that would miss its deadline under the published one counts as late too",
            "both",
            choices=("both", "exact", "published"),
        ),
    )
