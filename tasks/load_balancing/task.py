"""Load balancing: which server a request is sent to, by reports that are not quite fresh."""

from functools import partial
from pathlib import Path

from vulcan.task import (
    Entity,
    Feature,
    Global,
    Mechanism,
    Property,
    Rank,
    Scalar,
    Setting,
    Task,
    event,
    log_reduction,
)

MAX_MS = 1e12
MAX_REQUESTS = 5_000_000.0

# The reference is stable at every load that servers can bear: whoever owes most answers gets no more requests.
_less = partial(log_reduction, reference="least_loaded", usual=("round_robin", "least_loaded"))

NOW = Scalar(Feature("now", "float", "ms", 0.0, MAX_MS, "the time at which the request arrives"))

SERVER = Entity(
    name="server",
    meaning="the server to be scored, as its latest report to this balancer has it",
    features=(
        Feature("id", "int", "identity", 0.0, 1000.0, "identifies the server and means nothing else"),
        Feature(
            "in_flight", "int", "requests", 0.0, MAX_REQUESTS,
            "requests of all balancers that it had and had not answered, when it reported; 0 before its first report",
        ),
        Feature(
            "latency_ms", "float", "ms", 0.0, MAX_MS,
            "what it expected a request to take when it reported: the mean latency of the last ones that had found "
            "about as many in flight; 0 while there are none",
        ),
        Feature("age_ms", "float", "ms", 0.0, MAX_MS, "how long ago it reported; `now` before its first report"),
        Feature("sent", "int", "requests", 0.0, MAX_REQUESTS, "requests that this balancer has sent there since then"),
        Feature(
            "mine", "int", "requests", 0.0, MAX_REQUESTS,
            "requests that this balancer has sent there and that are not answered, known at once",
        ),
        Feature("chance", "float", "share", 0.0, 1.0, "a number drawn anew for each server at each request"),
    ),
    key="id",
    population="servers",
)  # fmt: skip

SERVERS = Global(
    name="servers",
    meaning="all servers, as the balancer that decides knows them",
    features=(
        Feature("count", "int", "servers", 2.0, 1000.0, "how many there are"),
        Feature("balancers", "int", "balancers", 1.0, 1000.0, "how many balancers send to them, this one included"),
        Feature("unanswered", "int", "requests", 0.0, MAX_REQUESTS, "this balancer's requests that are not answered"),
    ),
)

REQUEST = Global(
    name="request",
    meaning="the request that was answered",
    features=(
        Feature("latency_ms", "float", "ms", 0.0, MAX_MS, "the time from its arrival to its answer"),
        Feature("service_ms", "float", "ms", 0.0, MAX_MS, "the time that it takes alone, which the answer says"),
        Feature(
            "in_flight",
            "int",
            "requests",
            0.0,
            MAX_REQUESTS,
            "requests that the server has now and has not answered, which the answer says",
        ),
    ),
    observed="completion",
)

EVENTS = (
    event(
        "on_dispatch",
        (NOW, SERVER, SERVERS),
        "A request of this balancer goes to `server`, which is as `score` saw it. Each balancer has state of its own.",
    ),
    event(
        "on_report",
        (NOW, SERVER, SERVERS),
        "A report of `server` has come, which `server` shows and statistics have observed.",
    ),
    event(
        "on_complete",
        (NOW, SERVER, SERVERS, REQUEST),
        "`server` has answered a request of this balancer, at the time `now`; `server.mine` no longer counts it.",
    ),
)

FULL = Mechanism(
    "full",
    "At every request `score` is called for each server, and the request goes to the one with the highest score; of "
    "equals, to the next one from a server drawn at random, so that a constant is a random choice. At each request its "
    "balancer also asks {probes} servers, drawn at random, for a report, which is there {delay} ms later. Statistics "
    "of a server observe when a report of it arrives, with what it says.",
)

TASK = Task(
    name="load_balancing",
    summary="Choose which server a request is sent to, by what servers reported a while ago, so that few requests take "
    "long.",
    signature=Rank(
        function="score",
        arguments=(NOW, SERVER, SERVERS),
        returns="how good the server is for the request: the server with the highest score gets it",
        mechanisms=(FULL,),
    ),
    evaluator="vulcan_load.simulator:LoadSimulator",
    objectives=(
        _less("p99_ms", "tail", "the 99th percentile of latency", "ms at the 99th percentile"),
        _less("mean_ms", "mean", "mean latency", "ms on average"),
    ),
    directory=Path(__file__).parent,
    settings=(
        Setting(
            "trace", "text", "a log of requests with durations, a table or an access log; default: generated requests",
            repeatable=True,
        ),
        Setting("columns", "text", "columns of a table, as time=start,duration=took_ms,server=node; default: by names"),
        Setting(
            "load", "float",
            "work that arrives, as a share of what servers can do; default: as recorded, else 0.7 and 0.9",
            repeatable=True,
        ),
        Setting(
            "machines", "text",
            "how servers differ: not at all, in speed, or slowed down now and then; default: each, even for a log",
            repeatable=True, choices=("even", "mixed", "noisy"),
        ),
        Setting(
            "service", "text", "the distribution of a request's work", "pareto",
            choices=("pareto", "exponential", "bimodal", "constant"),
        ),
        Setting("servers", "int", "servers; default: those that a log names, else 20"),
        Setting("cores", "int", "cores of a server", [1, 2], repeatable=True),
        Setting("balancers", "int", "balancers, each of which decides by what it knows itself", 10),
        Setting("probes", "int", "servers that are asked for a report at each request", 3),
        Setting("delay", "float", "milliseconds that a report takes", [1.0, 30.0], repeatable=True),
        Setting("requests", "int", "requests of a generated instance", 20_000),
        Setting(
            "discipline", "text", "whether a server's requests wait in its queue or share its cores", "queue",
            choices=("queue", "sharing"),
        ),
        Setting("bursts", "float", "rate in bursts, a twentieth of the time, over the mean one; 1 for none", 1.0),
        Setting("workload_seed", "int", "seed of all that is drawn", 1),
    ),
    properties=(
        Property.finite("the score stays within +-1e300"),
        Property(
            "more requests there, no higher score", "nonincreasing", "all else equal", subject="server.in_flight"
        ),
        Property("more sent there, no higher score", "nonincreasing", "all else equal", subject="server.sent"),
        Property("blind to identity", "independent", "a server's number says nothing about it", subject="server.id"),
    ),
    events=EVENTS,
    advice=(
        "A report is a picture of the past: what this balancer has sent since is known, what the others have is not.",
        "Latency tells slow servers from quick ones, requests in flight tell long queues from short ones.",
        "Balancers that all run to the best server make it the worst.",
    ),
)  # fmt: skip
