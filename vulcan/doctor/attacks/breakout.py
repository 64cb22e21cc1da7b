"""Runner of an attack's code in a child, in place of a candidate that has broken out of its language."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from typing import Any

from vulcan.foreign_code import ForeignCall
from vulcan.scoring.program_wire import MessageChannel


def carry_out(code: str, given: Mapping[str, Any], **names: object) -> dict[str, str]:
    """Run the code; return `{"got": text}`, or `{"sign": ..., "detail": ...}` of what stopped it."""
    trophies: list[str] = []
    with (attempt := ForeignCall()):
        exec(compile(code, "attack", "exec"), {"given": given, "got": lambda x: trophies.append(str(x)), **names})
    if trophies:
        return {"got": trophies[0][:100]}
    match attempt.error:
        case None:
            return {"sign": "nothing", "detail": "it found nothing"}
        case MemoryError():
            return {"sign": "memory", "detail": "MemoryError"}
        case OSError(errno=int(number)):
            return {"sign": errno.errorcode.get(number, str(number)), "detail": str(attempt.error)}
    return {"sign": type(attempt.error).__name__, "detail": attempt.failure or ""}


def run(channel: MessageChannel) -> None:
    """Serve a fork server's messages, each an attack's code and `given`, or a ping."""
    while (message := channel.receive()) is not None:
        order = json.loads(message)
        if "code" in order:
            given = order["given"] | {"channel": channel.descriptor}
            result = carry_out(order["code"], given, channel=channel)
        else:
            result = {"pong": ""}
        channel.send(json.dumps(result).encode())
