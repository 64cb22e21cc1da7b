"""Memory layout of the features, and the numbers of what decides."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a node's record: first those of `_NODE`, from STAMP on what no policy reads: the order of accesses,
# the time of the latest hit, the priority that evicted nodes had then, the most tokens that the branch had, when it was
# last released, and the session of its latest hit.
(
    TOKENS, DEPTH, HITS, LAST_ACCESS, CREATED, GAP, PRIORITY, SIBLINGS, CHILDREN_HAD, ENDED, TURN, KIND, ID,
    STAMP, LAST_HIT, BASE, HISTORY, RELEASED, SESSION, RECORD,
) = range(20)  # fmt: skip
# Float64 slots of the globals, in the order of `_SERVER` after the time
NOW, CAPACITY, USED, NEEDED, LEAVES, RUNNING, WAITING, EVICTED_PRIORITY, GLOBALS = range(9)

_NODE = (
    "tokens", "depth", "hits", "last_access", "created", "gap", "priority", "siblings", "children", "ended", "turn",
    "kind", "id",
)  # fmt: skip
_SERVER = ("capacity", "used", "needed", "leaves", "running", "waiting", "evicted_priority")

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        **{f"node.{name}": Slot("entity", n) for n, name in enumerate(_NODE)},
        **{f"server.{name}": Slot("globals", n) for n, name in enumerate(_SERVER, CAPACITY)},
    },
    global_slots=GLOBALS,
)

POLICY, LRU, LFU, FIFO, SLRU, BY_PRIORITY, TLRU, VLLM, WORKLOAD_AWARE, GREEDY_DUAL = range(10)

# The numbers of the modelled server, as the kernel takes them
(
    OVERHEAD, SECONDS_PER_TOKEN, SECONDS_PER_PAIR, SECONDS_PER_OUTPUT, SECONDS_PER_TRANSFER, TLRU_THRESHOLD,
    TLRU_ESTIMATE,
) = range(7)  # fmt: skip
