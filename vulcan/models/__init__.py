"""Language models: requests, replies, budgets, and the providers and servers that answer."""

from vulcan.models.base import (
    BudgetExhausted,
    Message,
    ModelRefused,
    ModelUnavailable,
    Parent,
    Proposer,
    Reply,
    Request,
    RequestRefused,
)
from vulcan.models.budget import Budget
from vulcan.models.open import open_proposer
from vulcan.models.reply_parser import NoSource, extract_source

__all__ = [
    "Budget",
    "BudgetExhausted",
    "Message",
    "ModelRefused",
    "ModelUnavailable",
    "NoSource",
    "Parent",
    "Proposer",
    "Reply",
    "Request",
    "RequestRefused",
    "extract_source",
    "open_proposer",
]
