"""Models of the JSON document that `vulcan kernel run` prints."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict


class FlowDocument(TypedDict):
    """Figures of one flow."""

    goodput_mbps: Annotated[float, "payload that reached the receiver, in Mbit/s"]
    retransmitted: Annotated[int, "retransmitted segments"]
    min_rtt_ms: Annotated[float, "smallest round-trip time"]
    smoothed_rtt_ms: NotRequired[Annotated[float, "smoothed round-trip time at the end, of the kernel"]]


class TransfersDocument(TypedDict):
    """How long short flows took, the connection's opening included."""

    completion_ms: Annotated[float, "mean; one that is not complete counts as if it were at the end"]
    completion_p95_ms: Annotated[float, "95th percentile"]
    completed: Annotated[float, "share of those that are complete"]


class PunctualityDocument(TypedDict):
    """Punctuality of the emulated link."""

    wakeups: Annotated[int, "events at which the link had to act"]
    late: Annotated[int, "those at which it was late by over 1 ms"]
    worst_ms: Annotated[float, "the largest delay"]
    real_time: Annotated[bool, "whether it was scheduled before every ordinary process"]


class LinkFigures(TypedDict):
    """Figures of a link, measured or simulated."""

    utilisation: Annotated[float, "share of the link's capacity that was used"]
    throughput_mbps: Annotated[float, "what left the link, in Mbit/s"]
    goodput_mbps: Annotated[float, "payload that reached the receivers, in Mbit/s"]
    queueing_delay_avg_ms: Annotated[float, "mean queueing delay"]
    queueing_delay_p95_ms: Annotated[float, "95th percentile of the queueing delay"]
    queueing_delay_max_ms: Annotated[float, "largest queueing delay"]
    delivered: Annotated[int, "packets that left the link"]
    dropped: Annotated[int, "packets that were dropped"]
    loss: Annotated[float, "share of the packets that arrived at the link and were dropped"]
    jain: Annotated[float, "Jain's fairness index of the flows' goodputs"]
    retransmitted: Annotated[int, "retransmitted segments"]
    flows: Annotated[list[FlowDocument], "figures of each flow"]
    transfers: Annotated[TransfersDocument | None, "of `--transfers`"]


class MeasuredLink(LinkFigures):
    """Figures of a link that was measured."""

    punctuality: Annotated[PunctualityDocument, "how punctual the emulated link was"]


class KernelRunDocument(TypedDict):
    """Measurements of `vulcan kernel run`, and the simulator's prediction."""

    algorithm: Annotated[str, "the algorithm or policy"]
    link: Annotated[str, "the link's name"]
    link_digest: Annotated[str, "identifies the link's trace"]
    delay_ms: Annotated[float, "one-way delay"]
    buffer_packets: Annotated[int, "packets that the buffer holds"]
    seconds: Annotated[float, "duration"]
    competing: Annotated[list[str], "the algorithm of each competing flow, which are the last of `flows`"]
    competing_delay_ms: Annotated[float, "their one-way delay"]
    jitter_ms: Annotated[float, "up to how much acknowledgements come late at random"]
    ack_batch_ms: Annotated[float, "acknowledgements arrive together on multiples of this; 0 for at once"]
    random_loss: Annotated[float, "share of packets that are lost at random before the queue"]
    application: Annotated[
        list[float] | None, "packets that the application writes, and ms between; `null`: endless data"
    ]
    transfers: Annotated[list[float] | None, "packets of each short flow, and ms between their starts"]
    policer: Annotated[list[float] | None, "Mbit/s that a policer lets through, and bytes of its bucket"]
    reordering: Annotated[list[float] | None, "share of packets that come late, and by how many ms"]
    reverse: Annotated[str | None, "the algorithm of a flow that sends the other way"]
    exact_clock: Annotated[bool, "whether the link acts at exact times, not on Mahimahi's clock of milliseconds"]
    linux: Annotated[str, "the kernel's release"]
    kernel: Annotated[MeasuredLink, "what was measured"]
    simulator: Annotated[LinkFigures | None, "what was predicted; `null` for an algorithm that the simulator lacks"]
