"""Memory layout of the features of both tasks, and the columns of the kernel's tables."""

from vulcan.anvil.feature_layout import Layout, Slot

KNOWN = ("prompt", "predicted", "priority", "kind", "session", "turn", "ttft_goal", "tpot_goal")
"""What is known of a request when it arrives: the first slots of its record, and a part of a router's globals."""

KNOWN_FEATURES = len(KNOWN)
PREDICTED = 1

# Float64 slots of a request's record, after what is known
ID, ARRIVED, GENERATED, COMPUTED, CACHED, PREEMPTED, FIRST_TOKEN, RECORD = range(KNOWN_FEATURES, KNOWN_FEATURES + 8)

# Of an engine's globals
NOW, RUNNING, WAITING, FREE, CAPACITY, BUDGET, MAX_RUNNING, STEP, GLOBALS = range(9)

_OF_REQUESTS = (*KNOWN, "id", "arrived", "generated", "computed", "cached", "preempted", "first_token")
_OF_ENGINE = ("running", "waiting", "free", "capacity", "budget", "max_running", "step")

SCHEDULING = Layout(
    features={
        "now": Slot("globals", NOW),
        **{f"request.{name}": Slot("entity", index) for index, name in enumerate(_OF_REQUESTS)},
        **{f"engine.{name}": Slot("globals", RUNNING + index) for index, name in enumerate(_OF_ENGINE)},
    },
    global_slots=GLOBALS,
)

# Of a router's record of a replica; the report is from REPORTED on
REPLICA, MINE, PREFILL, HELD, PREFIX, SAME, DRAWN, QUEUE, REPORTED, _, _, AGE, SENT, CHANCE, REPLICA_RECORD = range(15)

# Of a router's globals: the time, its own, the request to be sent, and the answer
ROUTER_REPLICAS, ROUTERS, UNFINISHED, ROUTER_CAPACITY = range(1, 5)
ROUTER_REQUEST = ROUTER_CAPACITY + 1
ANSWER = ROUTER_REQUEST + KNOWN_FEATURES
ROUTER_GLOBALS = ANSWER + 6

_OF_REPLICAS = (
    "id", "mine", "prefill", "held", "prefix", "same", "drawn", "queue", "running", "waiting", "used", "age_ms", "sent",
    "chance",
)  # fmt: skip
_OF_ROUTER = ("replicas", "routers", "unfinished", "capacity")
_OF_ANSWERS = ("prompt", "predicted", "cached", "generated", "ttft", "total")

ROUTING = Layout(
    features={
        "now": Slot("globals", NOW),
        **{f"replica.{name}": Slot("entity", index) for index, name in enumerate(_OF_REPLICAS)},
        **{f"router.{name}": Slot("globals", ROUTER_REPLICAS + index) for index, name in enumerate(_OF_ROUTER)},
        **{f"request.{name}": Slot("globals", ROUTER_REQUEST + index) for index, name in enumerate(KNOWN)},
        **{f"answer.{name}": Slot("globals", ANSWER + index) for index, name in enumerate(_OF_ANSWERS)},
    },
    global_slots=ROUTER_GLOBALS,
)

# Columns of the table of requests: tokens of prompt, output, written output, in memory, given by this step, found in
# memory when first admitted, and computed in all; blocks that it holds, and those of them that others may find; where
# the numbers of its blocks and of those that it holds begin; how often it was preempted; its replica, router, session;
# what its router estimated that is to be computed
(
    PROMPT, OUTPUT, WRITTEN, IN_MEMORY, GIVEN, FOUND, SPENT, BLOCKS_HELD, BLOCKS_NAMED, FIRST_BLOCK, FIRST_HELD,
    TIMES_PREEMPTED, AT, VIA, SESSION, ESTIMATE, COLUMNS,
) = range(17)  # fmt: skip
# Columns of the times of requests: when first admitted, of the first token, of the last one
ADMITTED, FIRST, LAST, TIMES = range(4)

# Columns of the record of steps
STEP_COLUMNS = 5
PREEMPTION = -1

# The integers and the numbers that a kernel takes
BLOCK_TOKENS, CAPACITY_BLOCKS, STEP_BUDGET, MOST_RUNNING, IS_CHUNKED, INTEGERS = range(6)
BASE_S, PREFILL_S, PAIR_S, DECODE_S, CONTEXT_S, PATIENCE_S, DELAY_S, NUMBERS = range(8)
