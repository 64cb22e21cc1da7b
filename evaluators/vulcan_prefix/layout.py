"""Memory layout of the features, and the numbers of what decides."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a node's record; from STAMP on what no policy reads: the order of accesses, the time of the latest
# hit, the priority that evicted nodes had then, the most tokens that the branch had, when it was last released, and the
# session of its latest hit.
(
    TOKENS,
    DEPTH,
    HITS,
    LAST_ACCESS,
    CREATED,
    GAP,
    PRIORITY,
    SIBLINGS,
    CHILDREN_HAD,
    ENDED,
    TURN,
    KIND,
    ID,
    STAMP,
    LAST_HIT,
    BASE,
    HISTORY,
    RELEASED,
    SESSION,
    RECORD,
) = range(20)

# Float64 slots of the globals
NOW, CAPACITY, USED, NEEDED, LEAVES, RUNNING, WAITING, EVICTED_PRIORITY, GLOBALS = range(9)

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "node.id": Slot("entity", ID),
        "node.tokens": Slot("entity", TOKENS),
        "node.depth": Slot("entity", DEPTH),
        "node.hits": Slot("entity", HITS),
        "node.last_access": Slot("entity", LAST_ACCESS),
        "node.created": Slot("entity", CREATED),
        "node.gap": Slot("entity", GAP),
        "node.priority": Slot("entity", PRIORITY),
        "node.siblings": Slot("entity", SIBLINGS),
        "node.children": Slot("entity", CHILDREN_HAD),
        "node.ended": Slot("entity", ENDED),
        "node.turn": Slot("entity", TURN),
        "node.kind": Slot("entity", KIND),
        "server.capacity": Slot("globals", CAPACITY),
        "server.used": Slot("globals", USED),
        "server.needed": Slot("globals", NEEDED),
        "server.leaves": Slot("globals", LEAVES),
        "server.running": Slot("globals", RUNNING),
        "server.waiting": Slot("globals", WAITING),
        "server.evicted_priority": Slot("globals", EVICTED_PRIORITY),
    },
    global_slots=GLOBALS,
)

POLICY, LRU, LFU, FIFO, SLRU, BY_PRIORITY, TLRU, VLLM, WORKLOAD_AWARE, GREEDY_DUAL = range(10)

# The numbers of the modelled server, as the kernel takes them
(
    OVERHEAD,
    SECONDS_PER_TOKEN,
    SECONDS_PER_PAIR,
    SECONDS_PER_OUTPUT,
    SECONDS_PER_TRANSFER,
    TLRU_THRESHOLD,
    TLRU_ESTIMATE,
    NUMBERS,
) = range(8)
