"""Prefix caching: which cached prompts leave the memory of a language-model server."""

from pathlib import Path

from vulcan.task import (
    MAX_EXACT_INTEGER,
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
    relative_reduction,
)
from vulcan_serving.interface import MAX_PRIORITY, MAX_REQUESTS, MAX_SECONDS, MAX_TOKENS, READING, RESOLUTION, TRACE

NOW = Scalar(Feature("now", "float", "s", 0.0, MAX_SECONDS, "the time since the server started", resolution=RESOLUTION))

NODE = Entity(
    name="node",
    meaning="the leaf of the tree of cached prompts to be scored: tokens that follow those of its ancestors",
    features=(
        Feature("id", "int", "identity", 0.0, MAX_EXACT_INTEGER, "identifies the node and means nothing else"),
        Feature("tokens", "int", "tokens", 1.0, MAX_TOKENS, "tokens in the node"),
        Feature(
            "depth", "int", "tokens", 1.0, MAX_TOKENS, "tokens from the beginning of the prompt to the node's end"
        ),
        Feature(
            "hits", "int", "requests", 1.0, MAX_REQUESTS,
            "requests whose prompt or output went through it, the one that made it included; the parts of a node that "
            "was split each have its hits",
        ),
        Feature(
            "last_access", "float", "s", 0.0, MAX_SECONDS, "when a request last used it", resolution=RESOLUTION
        ),
        Feature(
            "created", "float", "s", 0.0, MAX_SECONDS,
            "when it was made: inserted, or split off as the upper part of another", resolution=RESOLUTION,
        ),
        Feature("gap", "float", "s", 0.0, MAX_SECONDS, "the time between its two latest hits, 0 while it has one"),
        Feature(
            "priority", "int", "priority", -MAX_PRIORITY, MAX_PRIORITY,
            "the highest priority of the requests that went through it; 0 where requests have none",
        ),
        Feature("siblings", "int", "nodes", 0.0, MAX_REQUESTS, "other children that its parent has now"),
        Feature(
            "children", "int", "nodes", 0.0, MAX_REQUESTS,
            "children that it has had: requests went on after it in so many ways; those that have left count",
        ),
        Feature(
            "ended", "bool", "flag", 0.0, 1.0,
            "1 where the session that last hit it is known to have ended; 0 where it lives, or none is recorded",
        ),
        Feature("turn", "int", "turns", 1.0, MAX_REQUESTS, "the turn of the conversation that last hit it, from 1"),
        Feature(
            "kind", "int", "kind", 0.0, 1000.0,
            "the kind of the request that last hit it: a number without order, 0 where none is recorded",
        ),
    ),
    key="id",
)  # fmt: skip

SERVER = Global(
    name="server",
    meaning="the server and its cache, as of the latest eviction",
    features=(
        Feature("capacity", "int", "tokens", 1.0, MAX_TOKENS, "tokens that the cache holds"),
        Feature("used", "int", "tokens", 0.0, MAX_TOKENS, "tokens that are occupied, by requests that run too"),
        Feature("needed", "int", "tokens", 0.0, MAX_TOKENS, "tokens that have to leave at this eviction, all together"),
        Feature("leaves", "int", "nodes", 0.0, MAX_REQUESTS, "leaves that may be evicted"),
        Feature("running", "int", "requests", 0.0, MAX_REQUESTS, "requests whose output is being written"),
        Feature("waiting", "int", "requests", 0.0, MAX_REQUESTS, "requests that have arrived and have not started"),
        Feature(
            "evicted_priority", "float", "priority", -1e300, 1e300,
            "the priority at which the latest evicted node left, 0 before the first (the inflation L of GreedyDual)",
        ),
    ),
)  # fmt: skip

EVENTS = (
    event(
        "on_hit",
        (NOW, NODE, SERVER),
        "A request's prompt or output was inserted, and went through `node`, which counts it already.",
    ),
    event(
        "on_insert",
        (NOW, NODE, SERVER),
        "`node` is new: inserted, or split off as the upper part of another node, which keeps its fields.",
    ),
    event("on_evict", (NOW, NODE, SERVER), "`node` is about to leave. It is still counted in `server`."),
)

LEAVES = Mechanism(
    "leaves",
    "When a request needs more room than is free, `priority` is called for every leaf of the tree that no running "
    "request uses, and the leaves with the lowest priorities are evicted, whole, until there is room (of equals the "
    "one that was accessed longest ago). A parent whose last child has left is a leaf too, and is scored at once. "
    "Statistics of a node observe when it is made and at each hit. So does SGLang.",
)

BLOCKS = Mechanism(
    "blocks",
    "As `leaves`, but of the last leaf no more leaves than is needed, block by block from its end; what stays of it "
    "keeps its fields, and `on_evict` is not called. So does vLLM.",
)

IN_ORDER = (
    "node.created <= now and node.last_access <= now and node.gap <= now and node.tokens <= node.depth "
    "and -1e250 <= server.evicted_priority <= 1e250"
)
"""Invariants of every cache that the declared ranges do not express."""

TASK = Task(
    name="prefix_cache",
    summary="Choose which cached prompts a language-model server evicts, so that few tokens are computed again.",
    signature=Rank(
        function="priority",
        arguments=(NOW, NODE, SERVER),
        returns="the node's priority to stay: the leaf with the lowest priority is evicted",
        mechanisms=(LEAVES, BLOCKS),
    ),
    evaluator="vulcan_prefix.simulator:PrefixSimulator",
    objectives=(
        relative_reduction("computed_tokens", "tokens", "the prompt tokens that are computed", "lru"),
        relative_reduction("ttft_ms", "ttft", "the mean time to the first token", "lru"),
        relative_reduction("p99_ttft_ms", "tail", "the 99th percentile of the time to the first token", "lru"),
    ),
    directory=Path(__file__).parent,
    settings=(
        TRACE,
        Setting(
            "cache_size",
            "text",
            "tokens (500000, 500k, 1.2M) or a share of the different tokens of the trace (5%)",
            "5%",
            repeatable=True,
        ),
        Setting("host_size", "text", "a second tier in host memory, likewise, where evicted tokens go; default: none"),
        Setting(
            "load",
            "float",
            "arrivals are spread so that computing all prompts without a cache would take this share of the time; "
            "0: as recorded",
            0.5,
        ),
        Setting("token_us", "float", "microseconds to compute a token of a prompt", 112.0),
        Setting("pair_ns", "float", "nanoseconds of attention for each pair of tokens", 2.1),
        Setting("overhead_ms", "float", "milliseconds of a prompt, whatever its length", 10.0),
        Setting("decode_ms", "float", "milliseconds to write a token of an output", 30.0),
        Setting("transfer_us", "float", "microseconds to fetch a token from host memory", 13.0),
        *READING,
    ),
    properties=(
        Property.finite(
            "a priority stays within +-1e300, where it would be clamped and nodes look alike; "
            "`server.evicted_priority`, on which it may build, being within +-1e250",
            IN_ORDER,
        ),
        Property("more hits, no lower priority", "nondecreasing", "all else equal", subject="node.hits", when=IN_ORDER),
        Property(
            "later access, no lower priority",
            "nondecreasing",
            "all else equal",
            subject="node.last_access",
            when=IN_ORDER,
        ),
        Property("blind to identity", "independent", "a node's number says nothing about it", subject="node.id"),
    ),
    events=EVENTS,
    advice=(
        "A node that is hit spares the server `node.tokens` tokens; those late in a long prompt cost more to compute.",
        "Agents call again within seconds, people within minutes, and most of what either leaves behind is never used "
        "again; shared system prompts are, all the time.",
        "Only the order of priorities counts, not their scale.",
    ),
)
