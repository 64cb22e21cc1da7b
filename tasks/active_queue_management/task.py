"""Active queue management: with what probability a packet that comes to the queue is dropped."""

from pathlib import Path

from vulcan.task import Feature, Global, Mechanism, Metrics, Objective, Property, Setting, Task, Value, event

MAX_MS = 1e9
MAX_PACKETS = float(2**31)


def _balance(metric: str, name: str, what: str) -> Objective:
    def score(metrics: Metrics, _: object) -> float:
        return metrics["utilisation"] - metrics[metric] / 100.0

    return Objective(
        name=name,
        metric=metric,
        meaning=f"the share of the link that is used, minus {what} in tenths of a second: 10 ms cost as much as a "
        "tenth of the link",
        score=score,
        highest=1.0,
        beside=("loss", "completion_ms", "fairness"),
    )


def _service(metrics: Metrics, _: object) -> float:
    queue = metrics["delay_mean_ms"] / 100.0 + 2.0 * metrics["loss"]
    flows = metrics["completion_ms"] / 1000.0 + 0.5 * (1.0 - metrics["fairness"])
    return metrics["goodput"] - queue - flows


SERVICE = Objective(
    name="service",
    metric="delay_mean_ms",
    meaning="the share of the link that carries payload for the first time, minus: the mean queueing delay in tenths "
    "of a second, twice the share of packets that are lost, the mean time that short flows and bursts take in seconds, "
    "and half of what Jain's index of the long flows lacks of 1. A tenth of the link is worth 10 ms of queue, 5 % of "
    "loss, 100 ms for each short flow, or 0.2 of fairness",
    score=_service,
    beside=("goodput", "loss", "completion_ms", "fairness"),
)


QUEUE = Global(
    name="queue",
    meaning="the queue, as the packet finds it",
    features=(
        Feature("now_ms", "float", "ms", 0.0, MAX_MS, "the time"),
        Feature("packets", "int", "packets", 0.0, MAX_PACKETS, "packets that wait"),
        Feature("bytes", "int", "bytes", 0.0, 1500 * MAX_PACKETS, "their bytes"),
        Feature("limit_packets", "int", "packets", 1.0, MAX_PACKETS, "packets that it holds; more are dropped anyway"),
        Feature(
            "delay_ms", "float", "ms", 0.0, MAX_MS, "how long the packet waited that left last; 0 while it is empty"
        ),
        Feature("drain_bps", "float", "bit/s", 0.0, 1e15, "the rate at which it was emptied lately; 0 while not known"),
        Feature("expected_delay_ms", "float", "ms", 0.0, MAX_MS, "its bytes over that rate; 0 while that is not known"),
        Feature("idle_ms", "float", "ms", 0.0, MAX_MS, "how long it has been empty; 0 while it is not"),
        Feature("since_drop_ms", "float", "ms", 0.0, MAX_MS, "since the policy's last drop or mark, or the beginning"),
        Feature("drops", "int", "packets", 0.0, MAX_PACKETS, "the policy's drops and marks so far"),
        Feature("packet_bytes", "int", "bytes", 1.0, 1500.0, "the size of the packet that comes"),
    ),
)

PACKET = Global(
    name="packet",
    meaning="the packet that the event is about",
    features=(
        Feature("bytes", "int", "bytes", 1.0, 1500.0, "its size"),
        Feature("sojourn_ms", "float", "ms", 0.0, MAX_MS, "how long it has waited; 0 as it arrives"),
        Feature("ecn", "bool", "truth", 0.0, 1.0, "whether it would be marked instead of dropped"),
        Feature("marked", "bool", "truth", 0.0, 1.0, "whether it carries a mark"),
        Feature("overflow", "bool", "truth", 0.0, 1.0, "whether it is dropped because the queue is full"),
    ),
    observed="departure",
)

TIMER = Global(
    "queue",
    "the queue's timer",
    (
        Feature(
            "timer_ms", "float", "ms", 1.0, MAX_MS, "after how many ms `on_timer` is called, instead of any other time"
        ),
    ),
)

DROP = Global("packet", "its fate", (Feature("drop", "bool", "truth", 0.0, 1.0, "1 to drop or mark it after all"),))

EVENTS = (
    event("on_enqueue", (QUEUE, PACKET), "The packet has been let in; `queue` is as the packet found it.", (TIMER,)),
    event(
        "on_dequeue",
        (QUEUE, PACKET),
        "The packet is about to be sent; `queue` is without it. If it is dropped, the next one follows at once.",
        (DROP, TIMER),
    ),
    event(
        "on_drop",
        (QUEUE, PACKET),
        "The packet is dropped; `queue` is as at the event that led to it. A packet that is marked is not dropped.",
        (TIMER,),
    ),
    event("on_timer", (QUEUE,), "The time has come for which the timer was set; called first at time 0.", (TIMER,)),
)

ARRIVAL = Mechanism(
    "arrival",
    "`drop_probability` is called for each packet that comes to the queue, unless the queue is full, and the packet is "
    "dropped with that probability; where packets may carry marks (ECN), it is marked instead, if its flow is capable "
    "of that. Statistics observe at each of these calls, just before it.",
)

TASK = Task(
    name="active_queue_management",
    summary="Choose with what probability a packet that comes to a link's queue is dropped, so that packets wait "
    "little and the link stays busy.",
    signature=Value(
        function="drop_probability",
        arguments=(QUEUE,),
        returns="the probability with which the packet is dropped, from 0 to 1",
        low=0.0,
        high=1.0,
        mechanisms=(ARRIVAL,),
    ),
    evaluator="vulcan_link.aqm.simulator:QueueSimulator",
    objectives=(
        SERVICE,
        _balance("delay_mean_ms", "balance", "the mean queueing delay"),
        _balance("delay_p95_ms", "tail", "the 95th percentile of the queueing delay"),
    ),
    directory=Path(__file__).parent,
    settings=(
        Setting(
            "link", "text", "a link's trace, or a generated one such as constant:rate=12; default: generated links "
            "with flows of their own", repeatable=True,
        ),
        Setting("delay_ms", "float", "propagation one way of a named link, ms", 20.0),
        Setting("flows", "int", "flows over a named link", 5),
        Setting("algorithm", "text", "their congestion control", "cubic", choices=("cubic", "reno", "cubic-reno")),
        Setting("buffer_ms", "float", "what the queue holds, as ms of the link's mean rate", 300.0),
        Setting(
            "short_flows", "float", "short flows a second besides, of 10 packets and every fourth a burst of 40; at "
            "most a tenth of the link", 2.0,
        ),
        Setting("duration_s", "float", "seconds of a run, of which the first 2 are not measured", 12.0),
        Setting("ecn", "flag", "packets are marked instead of dropped, and all flows are capable of it"),
        Setting("draws", "int", "seed of the draws by the policy's probability, and of when short flows come", 1),
    ),
    properties=(
        Property("a probability", "bounded", "the number stays from 0 to 1", low=0.0, high=1.0, required=True),
        Property("longer wait, no lower probability", "nondecreasing", "all else equal", subject="queue.delay_ms"),
    ),
    events=EVENTS,
    axes=("delay_mean_ms", "utilisation"),
    advice=(
        "Flows that lose a packet send less a round trip later: little dropping, early, keeps the queue short.",
        "Many flows need a higher probability than few; an average over time tells a standing queue from a burst.",
        "A queue that runs empty wastes the link.",
        "A burst drains by itself; a short flow that loses its last packets waits for a timeout.",
    ),
)  # fmt: skip
