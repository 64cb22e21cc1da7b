"""Model of the JSON document that `vulcan kernel run` prints."""

from __future__ import annotations

from typing import Annotated, TypedDict

from vulcan_link.linux.figures import LinkFigures, Measurement


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
    application: Annotated[str, "as the option of the same name; so are the next three"]
    transfers: Annotated[str, "short flows, or `none`"]
    policer: Annotated[str, "a policer, or `none`"]
    reordering: Annotated[str, "packets that come late, or `none`"]
    exact_clock: Annotated[bool, "whether the link acts at exact times, not on Mahimahi's clock of milliseconds"]
    linux: Annotated[str, "the kernel's release"]
    kernel: Annotated[Measurement, "what was measured"]
    simulator: Annotated[LinkFigures | None, "what was predicted; `null` for an algorithm that the simulator lacks"]
