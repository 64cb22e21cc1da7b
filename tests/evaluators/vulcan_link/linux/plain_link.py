"""A bottleneck one byte at a time: slow, and an independent reading of what Mahimahi's documentation says."""

from __future__ import annotations

from collections.abc import Sequence

Packet = tuple[int, int]  # when it arrives (ns), bytes of IP


def plain_bottleneck(
    opportunities: Sequence[int], buffer: int, arrivals: Sequence[Packet], until: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Number and departure (ns) of each packet that crosses by `until`, and the numbers of those dropped."""
    line: list[list[int]] = []  # number, bytes left; the first may be partly sent
    departed: list[tuple[int, int]] = []
    dropped: list[int] = []
    begun = False
    # At one time the opportunity comes before the arrival: it takes what waited already
    events = sorted(
        [(when, 0, 0) for when in opportunities if when <= until]
        + [(when, 1, number) for number, (when, _) in enumerate(arrivals)]
    )
    for when, arrives, number in events:
        if arrives:
            if len(line) - begun >= buffer:
                dropped.append(number)
            else:
                line.append([number, arrivals[number][1] + 4])
            continue
        for _ in range(1504):
            if line:
                begun = True
                line[0][1] -= 1
                if line[0][1] == 0:
                    departed.append((line.pop(0)[0], when))
                    begun = False
    return departed, dropped
