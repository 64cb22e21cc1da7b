"""Nothing is shown."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vulcan.displays.opened import Opened
from vulcan.store.events import Event

if TYPE_CHECKING:
    from vulcan.searches.study import Study


class Silent:
    """See `vulcan.searches.session.Display`."""

    def opened(self, opened: Opened) -> None:
        """See `vulcan.displays.choice.ShownDisplay`."""

    def ended(self, summary: dict[str, Any]) -> None:
        """See `vulcan.displays.choice.ShownDisplay`."""

    def preparing(self, what: str) -> None:
        """See `Display`."""

    def begin(self, study: Study) -> None:
        """See `Display`."""

    def __call__(self, event: Event) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
