"""Proposals that get no reply: which of them count, and when a search ends for them."""

from __future__ import annotations

import logging

from vulcan.errors import UserError
from vulcan.models import ModelRefused, RequestRefused
from vulcan.searches.proposal import PendingProposal

log = logging.getLogger(__name__)

MAX_UNANSWERED = 5
"""Consecutive proposals that a model may leave unanswered before the search stops."""


class MissingReplies:
    """The proposals without a reply, in order, of a search whose models have answered before, or have not."""

    def __init__(self, answered: bool) -> None:
        self.answered = answered
        self._refusal: RequestRefused | None = None
        self._in_row = 0

    def refuse(self, pending: PendingProposal, refusal: RequestRefused) -> None:
        """Note that a model refused a proposal's prompt."""
        self._refusal, pending.refused = refusal, True
        log.warning("proposal %d is lost: %s", pending.proposal.number, refusal)

    def check_refusals(self) -> None:
        """Raise ModelRefused where a prompt was refused, and none was ever answered: so would the others be."""
        if self._refusal is not None and not self.answered:
            raise ModelRefused(str(self._refusal)) from self._refusal

    def count(self, pending: PendingProposal) -> bool:
        """Count a proposal that is complete, and check whether it waits for the next one to be stored.

        A missing reply counts only if the model answers later proposals: if it is down, the unanswered proposals are
        asked again when the search resumes. A prompt that is refused by a model which answers others is not.
        """
        missing = pending.unanswered is not None and not pending.unpaid
        self._in_row = self._in_row + 1 if missing else 0
        return missing and not (pending.refused and self.answered)

    def check_row(self, pending: PendingProposal) -> None:
        """Raise UserError, or ModelRefused where the last was refused, after too many proposals without a reply."""
        if self._in_row >= MAX_UNANSWERED:
            why = (
                f"the model gave no reply to {MAX_UNANSWERED} proposals in a row, the last of them "
                f"{pending.proposal.number}: {pending.unanswered}"
            )
            if pending.refused:
                raise ModelRefused(why)
            raise UserError(f"{why}; when it is back, continue with `vulcan resume`")
