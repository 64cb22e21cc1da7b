"""Scheduling in a language-model server: which waiting request joins the batch, and which one makes room."""

from pathlib import Path

from vulcan.task import (
    MAX_EXACT_INTEGER,
    Entity,
    Feature,
    Global,
    Mechanism,
    Property,
    Rank,
    Setting,
    Task,
    Value,
    event,
)
from vulcan_serving.interface import (
    BOUNDED,
    MAX_REQUESTS,
    MAX_SECONDS,
    MAX_TOKENS,
    NOW,
    REQUEST_FEATURES,
    RESOLUTION,
    objectives,
    settings,
)

REQUEST = Entity(
    name="request",
    meaning="the request to be scored",
    features=(
        Feature("id", "int", "identity", 0.0, MAX_EXACT_INTEGER, "identifies the request and means nothing else"),
        *REQUEST_FEATURES,
        Feature("arrived", "float", "s", 0.0, MAX_SECONDS, "when it came to the server", resolution=RESOLUTION),
        Feature("generated", "int", "tokens", 0.0, MAX_TOKENS, "tokens of its output that are written"),
        Feature(
            "computed", "int", "tokens", 0.0, MAX_TOKENS,
            "tokens of prompt and output that it has in the KV cache; 0 while it waits",
        ),
        Feature(
            "cached", "int", "tokens", 0.0, MAX_TOKENS,
            "while it waits: tokens of its beginning that are in the KV cache; as it runs: those that it found",
        ),
        Feature("preempted", "int", "times", 0.0, MAX_REQUESTS, "how often it had to make room"),
        Feature(
            "first_token", "float", "s", 0.0, MAX_SECONDS, "when its first token was written, 0 before",
            resolution=RESOLUTION,
        ),
    ),
    key="id",
    population="engine",
)  # fmt: skip

ENGINE = Global(
    name="engine",
    meaning="the server, as its step begins",
    features=(
        Feature("running", "int", "requests", 0.0, MAX_REQUESTS, "requests that run"),
        Feature("waiting", "int", "requests", 0.0, MAX_REQUESTS, "requests that wait"),
        Feature("free", "int", "tokens", 0.0, MAX_TOKENS, "tokens of the KV cache that no running request holds"),
        Feature("capacity", "int", "tokens", 1.0, MAX_TOKENS, "tokens that the KV cache holds"),
        Feature("budget", "int", "tokens", 0.0, MAX_TOKENS, "tokens that the step has room for, after those that run"),
        Feature("max_running", "int", "requests", 1.0, MAX_REQUESTS, "requests that run at a time at most"),
        Feature("step", "float", "s", 0.0, MAX_SECONDS, "how long the step before took, 0 for the first"),
    ),
)

EVENTS = (
    event("on_arrival", (NOW, REQUEST, ENGINE), "`request` has come, and waits."),
    event("on_admit", (NOW, REQUEST, ENGINE), "`request` joins those that run; `request.cached` is what it found."),
    event("on_first_token", (NOW, REQUEST, ENGINE), "The first token of `request` is written."),
    event(
        "on_preempt",
        (NOW, REQUEST, ENGINE),
        "`request` has made room: it waits again, and will be computed anew, but for what is still cached then.",
        rare=True,
    ),
    event("on_finish", (NOW, REQUEST, ENGINE), "The last token of `request` is written, `request.generated` in all."),
)

STEPS = Mechanism(
    "steps",
    "At each step, of at most {budget} tokens, those that run are served first, in the order in which they were "
    "admitted. Where tokens of the step, memory and a place are left, `score` is called for every waiting request, and "
    "they are admitted from the highest score down (of equals the one that came first) until one does not fit; prompts "
    "are {prefill}. Statistics of a request observe when it arrives, is admitted, and is preempted. One that has been "
    "there for {patience} s is ahead of all others, in the order of arrival, whatever its score.",
)

PREEMPTION = Mechanism(
    "steps",
    "When the memory is full and a running request needs more, `preempt` is called for all that run, and the one with "
    "the highest score gives its memory back and waits again (of equals the one that came last; so do policies without "
    "this function). One that has been there for {patience} s is the last to go.",
)

RESERVE = Mechanism(
    "steps",
    "Called before requests are admitted: none is that would leave less memory free than this, unless nothing runs or "
    "it has been there for {patience} s. Memory is counted in whole blocks. Policies without this function keep "
    "nothing free.",
)

IN_ORDER = (
    "request.arrived <= now and request.first_token <= now and request.cached <= request.prompt + request.generated"
)

TASK = Task(
    name="request_scheduling",
    summary="Choose which waiting request a language-model server admits to its batch, and which one makes room when "
    "memory runs out, so that answers begin soon.",
    signature=Rank(
        function="score",
        arguments=(NOW, REQUEST, ENGINE),
        returns="how soon the waiting request is to be admitted: the one with the highest score is next",
        mechanisms=(STEPS,),
    ),
    others=(
        Rank(
            function="preempt",
            arguments=(NOW, REQUEST, ENGINE),
            returns="how readily the running request makes room: the one with the highest score does",
            optional=True,
            mechanisms=(PREEMPTION,),
        ),
        Value(
            function="reserve",
            arguments=(NOW, ENGINE),
            returns="tokens of memory that are kept free when requests are admitted",
            optional=True,
            low=0.0,
            high=MAX_TOKENS,
            mechanisms=(RESERVE,),
        ),
    ),
    evaluator="vulcan_serving.simulator:SchedulingSimulator",
    objectives=objectives("fcfs"),
    directory=Path(__file__).parent,
    settings=settings(
        1,
        Setting("patience", "float", "seconds after which a request goes ahead of all others; 0: never", 120.0),
    ),
    properties=(
        Property.finite(BOUNDED.format("requests"), IN_ORDER),
        Property("blind to identity", "independent", "a request's number says nothing about it", subject="request.id"),
        Property(
            "longer waited, no lower score", "nonincreasing", "all else equal", subject="request.arrived", when=IN_ORDER
        ),
        Property("more cached, no lower score", "nondecreasing", "all else equal", subject="request.cached"),
    ),
    events=EVENTS,
    advice=(
        "The mean time to the first token falls when short work goes first; what is cached need not be computed.",
        "Work still to do is `request.prompt - request.cached` tokens now, and `request.predicted` later.",
        "A request that is preempted is computed again: memory that is nearly full is better not filled further.",
    ),
)  # fmt: skip
