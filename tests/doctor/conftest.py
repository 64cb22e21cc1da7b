"""Things to attack, and places to attack them from; places are kept, for each takes a while to set up."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from vulcan.doctor.attacks.attack import ForkedRange, targets
from vulcan.scoring.sandbox.layers import ALL, Layers

_KEPT = 8


@pytest.fixture(scope="session")
def given() -> Iterator[Mapping[str, object]]:
    with targets() as given:
        yield given


@pytest.fixture(scope="session")
def under(given: Mapping[str, object]) -> Iterator[Callable[[Layers], ForkedRange]]:
    """A forked child's place under some layers."""
    kept: dict[Layers, ForkedRange] = {}

    def under(layers: Layers = ALL) -> ForkedRange:
        if layers not in kept:
            if len(kept) == _KEPT:
                kept.pop(next(iter(kept))).close()
            kept[layers] = ForkedRange(given, layers)
        return kept[layers]

    yield under
    for arena in kept.values():
        arena.close()
