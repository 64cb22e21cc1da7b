"""Stand-ins for the base classes that the exporter writes into a module: those of a policy without state."""

from __future__ import annotations

from collections.abc import Callable


class _Entity:
    __slots__ = ()

    def fields(self) -> tuple[float, ...]:
        """The fields, to be kept as long as the entity is remembered."""
        return ()

    def resume(self, fields: tuple[float, ...]) -> None:
        """The entity is back: it has the fields that it left with."""


class _Statistics:
    def __getattr__(self, event: str) -> Callable[..., None]:
        """Nothing is kept of an event."""
        return lambda *_: None
