"""Memory layout of the features, and the numbers of the deciders."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a balancer's globals, and of its record of a server.
NOW, SERVERS, BALANCERS, IN_FLIGHT, REQUEST_LATENCY, REQUEST_SERVICE, REQUEST_LEFT, GLOBALS = range(8)
ID, REPORTED, LATENCY, AGE, SENT, MINE, CHANCE, RECORD = range(8)

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "servers.count": Slot("globals", SERVERS),
        "servers.balancers": Slot("globals", BALANCERS),
        "servers.unanswered": Slot("globals", IN_FLIGHT),
        "request.latency_ms": Slot("globals", REQUEST_LATENCY),
        "request.service_ms": Slot("globals", REQUEST_SERVICE),
        "request.in_flight": Slot("globals", REQUEST_LEFT),
        "server.id": Slot("entity", ID),
        "server.in_flight": Slot("entity", REPORTED),
        "server.latency_ms": Slot("entity", LATENCY),
        "server.age_ms": Slot("entity", AGE),
        "server.sent": Slot("entity", SENT),
        "server.mine": Slot("entity", MINE),
        "server.chance": Slot("entity", CHANCE),
    },
    global_slots=GLOBALS,
)

(
    POLICY,
    RANDOM,
    ROUND_ROBIN,
    LEAST_LOADED,
    POWER_OF_TWO,
    PREQUAL,
    SHORTEST_QUEUE,
    MIN_WORK,
    TWO_BY_OWN,
    PEAK_EWMA,
    IDLE_QUEUE,
    C3,
) = range(12)
