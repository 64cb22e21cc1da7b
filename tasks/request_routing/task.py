"""Routing of requests to replicas of a language-model server, by what a router knows of them."""

from pathlib import Path

from vulcan.task import Entity, Feature, Global, Mechanism, Property, Rank, Setting, Task, event
from vulcan_serving.interface import (
    BOUNDED,
    MAX_REQUESTS,
    MAX_SECONDS,
    MAX_TOKENS,
    NOW,
    REQUEST_FEATURES,
    objectives,
    settings,
)

MAX_MS = 1e12

REPLICA = Entity(
    name="replica",
    meaning="the replica to be scored, as the router that decides knows it",
    features=(
        Feature("id", "int", "identity", 0.0, 1000.0, "identifies the replica and means nothing else"),
        Feature(
            "mine", "int", "requests", 0.0, MAX_REQUESTS,
            "requests that this router has sent there and that are not finished, known at once",
        ),
        Feature(
            "prefill", "int", "tokens", 0.0, MAX_TOKENS,
            "of those without a first token: tokens of their prompts less `prefix` as they were sent",
        ),
        Feature(
            "held", "int", "tokens", 0.0, MAX_TOKENS,
            "of those that are not finished: tokens of their prompts and of what they have written",
        ),
        Feature(
            "prefix", "int", "tokens", 0.0, MAX_TOKENS,
            "tokens of this prompt's beginning that the replica is estimated to have in its KV cache: this router sent "
            "them there, and not more than fills the cache since; 0 where no request is to be sent",
        ),
        Feature("same", "bool", "flag", 0.0, 1.0, "1 where this router sent the session's previous request there"),
        Feature("drawn", "bool", "flag", 0.0, 1.0, "1 for two replicas drawn for this request, and asked at once"),
        Feature(
            "queue", "int", "requests", 0.0, MAX_REQUESTS,
            "of the two drawn: all requests, of every router, that it says it has at this moment; else 0",
        ),
        Feature("running", "int", "requests", 0.0, MAX_REQUESTS, "requests that ran when it reported"),
        Feature("waiting", "int", "requests", 0.0, MAX_REQUESTS, "requests that waited when it reported"),
        Feature("used", "float", "share", 0.0, 1.0, "the share of its KV cache that running requests held then"),
        Feature("age_ms", "float", "ms", 0.0, MAX_MS, "how old that report is; `now` before its first one"),
        Feature("sent", "int", "requests", 0.0, MAX_REQUESTS, "requests that this router has sent there since then"),
        Feature("chance", "float", "share", 0.0, 1.0, "a number drawn anew for each replica at each request"),
    ),
    key="id",
    population="router",
)  # fmt: skip

ROUTER = Global(
    name="router",
    meaning="all replicas, as the router that decides knows them",
    features=(
        Feature("replicas", "int", "replicas", 1.0, 1000.0, "how many there are"),
        Feature("routers", "int", "routers", 1.0, 1000.0, "how many routers send to them, this one included"),
        Feature("unfinished", "int", "requests", 0.0, MAX_REQUESTS, "this router's requests that are not finished"),
        Feature("capacity", "int", "tokens", 1.0, MAX_TOKENS, "tokens that the KV cache of a replica holds"),
    ),
)

REQUEST = Global("request", "the request that is to be sent", REQUEST_FEATURES, observed="arrival")

ANSWER = Global(
    name="answer",
    meaning="the request of this router that a token came of, or the last",
    features=(
        Feature("prompt", "int", "tokens", 1.0, MAX_TOKENS, "tokens of its prompt"),
        Feature("predicted", "int", "tokens", 0.0, MAX_TOKENS, "tokens that its whole output was predicted to have"),
        Feature("cached", "int", "tokens", 0.0, MAX_TOKENS, "those that were in the replica's KV cache"),
        Feature("generated", "int", "tokens", 1.0, MAX_TOKENS, "tokens of its output so far"),
        Feature("ttft", "float", "s", 0.0, MAX_SECONDS, "the time from its arrival to its first token"),
        Feature("total", "float", "s", 0.0, MAX_SECONDS, "the time from its arrival until now"),
    ),
    observed="completion",
)

EVENTS = (
    event(
        "on_dispatch",
        (NOW, REPLICA, ROUTER, REQUEST),
        "`request` goes to `replica`, which is as `score` saw it. Each router has state of its own.",
    ),
    event("on_report", (NOW, REPLICA, ROUTER), "A report of `replica` has come, and statistics have observed it."),
    event(
        "on_first_token",
        (NOW, REPLICA, ROUTER, ANSWER),
        "`replica` has written the first token of `answer`, which `prefill` no longer counts.",
    ),
    event(
        "on_finish", (NOW, REPLICA, ROUTER, ANSWER), "`replica` has finished `answer`, which `mine` no longer counts."
    ),
)

FULL = Mechanism(
    "full",
    "At every request `score` is called for each replica, and the request goes to the one with the highest score; of "
    "equals to the next one from a replica drawn at random. Replicas report at each of their steps, which have at most "
    "{budget} tokens, and a report is there {delay} ms later; first tokens and ends are known at once. Statistics of a "
    "replica observe when a report of it arrives, those of `request` when one arrives, and those of `answer` when it "
    "is finished. The replicas schedule first come, first served.",
)

TASK = Task(
    name="request_routing",
    summary="Choose which replica of a language-model server a request is sent to, so that answers begin soon: where "
    "its prompt's beginning is cached, or where less is to do.",
    signature=Rank(
        function="score",
        arguments=(NOW, REPLICA, ROUTER, REQUEST),
        returns="how good the replica is for the request: the one with the highest score gets it",
        mechanisms=(FULL,),
    ),
    evaluator="vulcan_serving.simulator:RoutingSimulator",
    objectives=objectives("least_loaded"),
    directory=Path(__file__).parent,
    settings=settings(
        4,
        Setting("routers", "int", "routers, each of which decides by what it knows itself", 1),
        Setting("delay", "float", "milliseconds that a report takes", 20.0),
    ),
    properties=(
        Property.finite(BOUNDED.format("replicas")),
        Property("more cached there, no lower score", "nondecreasing", "all else equal", subject="replica.prefix"),
        Property("more requests there, no higher score", "nonincreasing", "all else equal", subject="replica.mine"),
        Property("blind to identity", "independent", "a replica's number says nothing about it", subject="replica.id"),
    ),
    events=EVENTS,
    advice=(
        "A cached prefix spares its tokens only if the replica is not so busy that waiting costs more.",
        "Prompts still to be computed delay the first token; contexts that are held slow every step.",
        "Replicas that get all requests with one beginning are overloaded by it; spread what is popular.",
    ),
)  # fmt: skip
