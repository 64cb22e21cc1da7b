"""Memory tiering: which pages belong in the fast tier of memory."""

import math
from pathlib import Path

from vulcan.task import (
    Entity,
    Feature,
    Global,
    Mechanism,
    Metrics,
    Objective,
    Property,
    Rank,
    Scalar,
    Setting,
    Task,
    event,
)

MAX_INTERVALS = float(2**30)
MAX_ACCESSES = float(2**33)
MAX_PAGES = float(2**40)
MAX_BANDWIDTH = 1e4
MAX_LATENCY = 1e6


def _log_speed_up(metrics: Metrics, references: dict[str, Metrics]) -> float:
    """ln(time of first touch / time): the mean over workloads is that of the geometric mean of speed-ups."""
    return math.log(references["first-touch"]["seconds"] / metrics["seconds"])


NOW = Scalar(Feature("now", "int", "intervals", 0.0, MAX_INTERVALS, "the number of the interval that just ended"))

PAGE = Entity(
    name="page",
    meaning="the page to be scored",
    features=(
        Feature("id", "int", "identity", 0.0, float(2**32), "identifies the page and means nothing else"),
        Feature(
            "accesses", "int", "accesses", 0.0, MAX_ACCESSES,
            "sampled accesses to it in the interval that just ended: its reads and writes together",
        ),
        Feature("reads", "int", "accesses", 0.0, MAX_ACCESSES, "those of them that read"),
        Feature("writes", "int", "accesses", 0.0, MAX_ACCESSES, "those of them that wrote"),
        Feature(
            "last_access", "int", "intervals", 0.0, MAX_INTERVALS,
            "the latest interval with a sampled access to it; the one it was first touched in while there is none",
        ),
        Feature("arrival", "int", "intervals", 0.0, MAX_INTERVALS, "the interval in which it was first touched"),
        Feature("fast", "bool", "flag", 0.0, 1.0, "whether it was in the fast tier during that interval"),
        Feature(
            "moved", "int", "intervals", 0.0, MAX_INTERVALS,
            "the interval before which it changed tiers most recently; its arrival while it never has",
        ),
    ),
    key="id",
    population="memory",
)  # fmt: skip

MEMORY = Global(
    name="memory",
    meaning="both tiers, as they were in the interval that just ended",
    features=(
        Feature("pages", "int", "pages", 1.0, MAX_PAGES, "pages that are mapped, in both tiers"),
        Feature("fast_capacity", "int", "pages", 1.0, MAX_PAGES, "pages that the fast tier holds"),
        Feature("migrations", "int", "pages", 0.0, MAX_PAGES, "pages that were copied before it"),
        Feature("fast_bandwidth", "float", "GB/s", 0.0, MAX_BANDWIDTH, "what the fast tier carried"),
        Feature("slow_bandwidth", "float", "GB/s", 0.0, MAX_BANDWIDTH, "what the slow tier carried"),
        Feature("fast_latency", "float", "ns", 0.0, MAX_LATENCY, "how long a load of the fast tier took"),
        Feature("slow_latency", "float", "ns", 0.0, MAX_LATENCY, "how long a load of the slow tier took"),
        Feature("fast_share", "float", "share", 0.0, 1.0, "the share of all accesses that went to the fast tier"),
    ),
    observed="interval",
)

EVENTS = (
    event("on_tick", (NOW, MEMORY), "An interval has ended, and statistics have observed it."),
    event(
        "on_page",
        (NOW, PAGE, MEMORY),
        "The same, for each mapped page in the order of first touch; `on_tick` comes before, and `score` after.",
    ),
    event(
        "on_move",
        (NOW, PAGE, MEMORY),
        "The page changes tiers before the next interval; `page.fast` still says where it was.",
    ),
)

FULL = Mechanism(
    "full",
    "After every interval the statistics of every mapped page take in its features, and `score` is called for every "
    "page. The pages with the highest scores, as many as the fast tier holds, belong there (of equals the one that "
    "was first touched earlier). The best that are not there yet are promoted, into free room or in place of those "
    "with the lowest scores, which are demoted, until all are there or the limit of page copies is reached. Copying "
    "takes bandwidth of both tiers and stalls the program, so that pages which change places all the time cost more "
    "than they bring.",
)

IN_ORDER = "page.arrival <= page.last_access <= now and page.arrival <= page.moved <= now"

TASK = Task(
    name="memory_tiering",
    summary="Choose which pages belong in the fast tier of memory, so that programs run as fast as possible.",
    signature=Rank(
        function="score",
        arguments=(NOW, PAGE, MEMORY),
        returns="how much the page belongs in the fast tier: the pages with the highest scores do",
        mechanisms=(FULL,),
    ),
    evaluator="vulcan_tiering.simulator:TieringSimulator",
    objectives=(
        Objective(
            name="speedup",
            metric="seconds",
            meaning="the natural logarithm of the speed-up over first touch: ln(first touch's seconds / seconds); "
            "0.1 is 10.5 % faster",
            score=_log_speed_up,
            references=("first-touch",),
        ),
    ),
    directory=Path(__file__).parent,
    settings=(
        Setting(
            "trace",
            "text",
            "an .npz file of page counts, or a generated workload such as gups:hot_share=0.9; default: generated ones",
            repeatable=True,
        ),
        Setting(
            "workloads",
            "text",
            "generated ones: 9 to 32 MiB in pages of 4 KiB, and 2 GiB in huge pages",
            ["small-pages", "huge-pages"],
            repeatable=True,
            choices=("small-pages", "huge-pages"),
        ),
        Setting(
            "fast_size",
            "text",
            "the fast tier: bytes (64MiB), a share of the footprint (10%) or pages (1000pages), an instance for each",
            ["10%", "30%"],
            repeatable=True,
        ),
        Setting("fast_tier", "text", "the memory of the fast tier", "dram", choices=("dram", "cxl", "nvm")),
        Setting(
            "slow_tier",
            "text",
            "the memory of the slow tier, an instance for each",
            ["cxl", "nvm"],
            repeatable=True,
            choices=("dram", "cxl", "nvm"),
        ),
        Setting("page_size", "text", "bytes of a page: a power of two; generated workloads may say their own", "4KiB"),
        Setting(
            "sample_period",
            "int",
            "one access in so many is sampled, an instance for each; with 1, all are",
            [32, 512],
            repeatable=True,
        ),
        Setting("sample_cost", "float", "nanoseconds of a core that each sample takes", 200.0),
        Setting("sample_seed", "int", "seed of the sampling", 1),
        Setting(
            "migration_limit", "text", "most copied after an interval: bytes, a share of the fast tier, or pages", "50%"
        ),
        Setting("migration_stall", "float", "nanoseconds that each migrated page stalls the program", 100.0),
        Setting("threads", "int", "threads of the program", 16),
    ),
    properties=(
        Property.finite("the score stays within +-1e300", IN_ORDER),
        Property("more reads, no lower score", "nondecreasing", "all else equal", subject="page.reads", when=IN_ORDER),
        Property(
            "more writes, no lower score", "nondecreasing", "all else equal", subject="page.writes", when=IN_ORDER
        ),
        Property("blind to identity", "independent", "a page's number says nothing about it", subject="page.id"),
    ),
    events=EVENTS,
    advice=(
        "Samples are few and noisy: average over intervals, more slowly where a page's accesses vary by chance alone.",
        "A migration must earn back what it costs: favour pages that are fast already, unless others are much hotter.",
        "Loads wait for their tier's latency; stores only take bandwidth, which is what slow tiers have least of.",
        "Only the order of scores counts, not their scale.",
    ),
)
