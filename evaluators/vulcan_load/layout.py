"""Memory layout of the features, and the numbers of the deciders."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a balancer's globals, and of its record of a server, in the order of `_SHOWN` and `_SERVER`.
NOW, SERVERS, BALANCERS, IN_FLIGHT, REQUEST_LATENCY, REQUEST_SERVICE, REQUEST_LEFT, GLOBALS = range(8)
ID, REPORTED, LATENCY, AGE, SENT, MINE, CHANCE, RECORD = range(8)

_SHOWN = (
    "now", "servers.count", "servers.balancers", "servers.unanswered", "request.latency_ms", "request.service_ms",
    "request.in_flight",
)  # fmt: skip
_SERVER = ("id", "in_flight", "latency_ms", "age_ms", "sent", "mine", "chance")

LAYOUT = Layout(
    features={
        **{name: Slot("globals", n) for n, name in enumerate(_SHOWN)},
        **{f"server.{name}": Slot("entity", n) for n, name in enumerate(_SERVER)},
    },
    global_slots=GLOBALS,
)

(
    POLICY, RANDOM, ROUND_ROBIN, LEAST_LOADED, POWER_OF_TWO, PREQUAL, SHORTEST_QUEUE, MIN_WORK, TWO_BY_OWN, PEAK_EWMA,
    IDLE_QUEUE,
) = range(11)  # fmt: skip
