"""Wire format between parent and child: JSON objects, each prefixed by its length in four bytes.

JSON and not pickle: unpickling data from the child would let it run arbitrary code in the parent.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NoReturn

from vulcan.findings import InstanceFinding
from vulcan.scoring.job import JobRequest, Outcome
from vulcan.scoring.program_wire import Hangup, Stream

HEADER = struct.Struct("!I")
MAX_REPLY = 1 << 20
"""Maximum size in bytes of a message that a parent reads."""
MAX_SIGNATURE = 256
"""Maximum length in characters of a digest of decisions, which is stored with every candidate."""


class MalformedMessage(Exception):
    """A message that is not of the expected form."""


def encode(message: Mapping[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """Parse a message. Raises MalformedMessage for anything but a JSON object."""
    try:
        message = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("not JSON") from error
    if not isinstance(message, dict):
        raise MalformedMessage("not an object")
    return message


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def outcome_of(
    reply: Mapping[str, Any], ticket: str, request: JobRequest, names: tuple[str, ...], seconds: float
) -> Outcome:
    """Parse and validate the outcome in a child's untrusted reply. Raises MalformedMessage.

    `ticket` is the nonce sent with the request: a reply prepared before the request cannot contain it.
    """
    status, message = reply.get("status"), reply.get("message", "")
    if reply.get("ticket") != ticket or not isinstance(message, str):
        raise MalformedMessage("not the reply to this job")
    match status:
        case "rejected" | "failed" | "memory" | "timeout" | "crashed":
            return Outcome(request.job, status, (), message, seconds)
        case "scored" if request.explain:
            return Outcome(request.job, "scored", (), "", seconds, findings=_findings(reply.get("findings"), names))
        case "scored":
            metrics = reply.get("metrics")
            if not isinstance(metrics, list) or len(metrics) != len(names) or not all(map(_are_metrics, metrics)):
                raise MalformedMessage("not one mapping of finite numbers an instance")
            signature = reply.get("signature")
            if not (signature is None or (request.probe and _is_signature(signature))):
                raise MalformedMessage("not a digest of decisions that was asked for")
            return Outcome(request.job, "scored", tuple(zip(names, metrics, strict=True)), "", seconds, signature)
    raise MalformedMessage("no status")


def _findings(findings: object, names: tuple[str, ...]) -> tuple[InstanceFinding, ...]:
    if not isinstance(findings, list):
        raise MalformedMessage("no list of findings")
    try:
        read = tuple(map(InstanceFinding.from_json, findings))
    except ValueError as error:
        raise MalformedMessage(str(error)) from error
    if any(one.split != "train" or one.instance not in names for one in read):
        raise MalformedMessage("findings of other instances than were asked for")
    return read


def _are_metrics(metrics: object) -> bool:
    return isinstance(metrics, dict) and all(isinstance(v, float) and math.isfinite(v) for v in metrics.values())


def _is_signature(signature: object) -> bool:
    return isinstance(signature, str) and 0 < len(signature) <= MAX_SIGNATURE


class Channel(Stream):
    """The child's end of the socket: plain `read` and `write`, the only calls on it that the sandbox allows."""

    def receive(self) -> bytes | None:
        """Return the body of the next message; None once the parent has closed its end."""
        try:
            return self.read(*HEADER.unpack(self.read(HEADER.size)))
        except Hangup:
            return None

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Raises Hangup."""
        self.write(encode(message))
