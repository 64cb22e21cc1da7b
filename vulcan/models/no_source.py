"""A verdict on a reply: there is no program to be had from it."""

from __future__ import annotations


class NoSource(Exception):
    """The reply holds no program: `rule` names what is wrong, `hint` says what to do instead."""

    def __init__(self, rule: str, message: str, hint: str) -> None:
        super().__init__(f"{rule}: {message}; {hint}")
        self.rule = rule
        self.message = message
        self.hint = hint
