"""Lines of server logs and of tables, as records with the keys of the format `tokens`.

What a log has of a request is `prompt` and `output`, token ids, or else `input_length` and `output_length`.

`azure`      Azure's traces of 2023 and 2024 (Patel et al., ISCA 2024; Stojkovic et al., HPCA 2025):
             `TIMESTAMP,ContextTokens,GeneratedTokens`.
`burstgpt`   BurstGPT (Wang et al., KDD 2025): `Timestamp`, in seconds, `Model`, `Request tokens`, `Response tokens`,
             `Log Type`, and `Session ID` where a release has it. Requests that failed, without an output, are left out.
`vllm`       what `vllm serve --enable-log-requests --enable-log-outputs` prints with VLLM_LOGGING_LEVEL=DEBUG; times
             are in whole seconds.
`sglang`     what SGLang writes with `--log-requests --log-requests-format json`; from `--log-requests-level 3` on with
             token ids where clients send them.
`otel`       spans of OpenTelemetry's conventions for generative models, as OTLP's JSON lines or one span a line.

Lines of other kinds, and requests that had not ended, are left out.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Record = Mapping[str, Any]
LineParser = Callable[[bytes], Sequence[Record]]
"""Return the records that a line completes. Raises Malformed, or what the conversion of its values raises."""


class Malformed(ValueError):
    """A fault of a line or record, in words."""


def format_of(line: bytes) -> str | None:
    """Return the name of the format that a line is of, None where it could be of any."""
    if line.startswith(b"TIMESTAMP,ContextTokens,GeneratedTokens"):
        return "azure"
    if line.startswith(b"Timestamp,") and b",Response tokens" in line:
        return "burstgpt"
    if _VLLM_PROMPT.search(line.decode(errors="replace")):
        return "vllm"
    if _sglang_event(line):
        return "sglang"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if _otel_spans(record):
        return "otel"
    if not isinstance(record, dict):
        return None
    if "hash_ids" in record:
        return "bailian" if "chat_id" in record else "mooncake"
    return "tokens" if isinstance(record.get("prompt"), list) or "input_length" in record else None


def json_lines() -> LineParser:
    def parse(line: bytes) -> Sequence[Record]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Malformed("not JSON") from error
        if not isinstance(record, dict):
            raise Malformed("no JSON object")
        return (record,)

    return parse


def _table(record_of: Callable[[dict[str, str]], Record | None]) -> LineParser:
    header: list[str] = []

    def parse(line: bytes) -> Sequence[Record]:
        cells = next(csv.reader([line.decode(errors="replace").strip()]))
        if not header:
            header.extend(cells)
            return ()
        if len(cells) != len(header):
            raise Malformed(f"{len(cells)} cells, not {len(header)}")
        record = record_of(dict(zip(header, cells, strict=True)))
        return () if record is None else (record,)

    return parse


def azure_lines() -> LineParser:
    return _table(
        lambda row: {
            "timestamp": _seconds(row["TIMESTAMP"]),
            "input_length": int(row["ContextTokens"]),
            "output_length": int(row["GeneratedTokens"]),
        }
    )


def burstgpt_lines() -> LineParser:
    def record_of(row: dict[str, str]) -> Record | None:
        record = {
            "timestamp": float(row["Timestamp"]),
            "input_length": int(row["Request tokens"]),
            "output_length": int(row["Response tokens"]),
            "kind": row.get("Log Type", ""),
            "session": row.get("Session ID") or None,
        }
        return record if record["output_length"] else None

    return _table(record_of)


_VLLM_TIME = re.compile(r"\b(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\b")
_VLLM_PROMPT = re.compile(r"Request (\S+) details: prompt: .*prompt_token_ids: \[([\d, ]*)\], prompt_embeds")
_VLLM_OUTPUT = re.compile(r"Generated response (\S+)( \(streaming delta\))? details: output_token_ids: \[([\d, ]*)\]")
_VLLM_END = re.compile(r"Generated response (\S+?)(?: \(streaming (?:complete|delta)\))?: .*finish_reason: (\w+)$")


def vllm_lines() -> LineParser:
    running: dict[str, dict[str, Any]] = {}

    def parse(line: bytes) -> Sequence[Record]:
        text = line.decode(errors="replace").rstrip()
        if (found := _VLLM_PROMPT.search(text)) and (time := _VLLM_TIME.search(text)):
            month, day, hour, minute, second = map(int, time.groups())
            # a log does not say its year; in one with a 29 February a day is a day
            at = datetime(2024, month, day, hour, minute, second, tzinfo=UTC).timestamp()
            running[found[1]] = {"timestamp": at, "prompt": _ids(found[2]), "output": []}
        elif (found := _VLLM_OUTPUT.search(text)) and found[1] in running:
            running[found[1]]["output"] += _ids(found[3])
        elif (found := _VLLM_END.search(text)) and found[2] != "None" and found[1] in running:
            return (running.pop(found[1]),)
        return ()

    return parse


def sglang_lines() -> LineParser:
    received: dict[str, float] = {}

    def parse(line: bytes) -> Sequence[Record]:
        event = _sglang_event(line)
        if event is None:
            return ()
        name, at, request = str(event.get("rid")), _seconds(event["timestamp"]), event.get("obj") or {}
        if event["event"] == "request.received":
            received[name] = at
        if event["event"] != "request.finished" or not isinstance(meta := event["out"].get("meta_info"), dict):
            return ()
        record = {
            "timestamp": received.pop(name, at - float(meta.get("e2e_latency", 0))),
            "input_length": meta.get("prompt_tokens"),
            "output_length": meta.get("completion_tokens", 0),
            "session": request.get("session_id") or (request.get("session_params") or {}).get("id"),
            "priority": request.get("priority") or 0,
        }
        prompt, output = request.get("input_ids"), event["out"].get("output_ids")
        if isinstance(prompt, list) and len(prompt) == record["input_length"]:
            record["prompt"] = prompt
            if isinstance(output, list) and len(output) == record["output_length"]:
                record["output"] = output
        return (record,)

    return parse


def _sglang_event(line: bytes) -> dict[str, Any] | None:
    """Return the event of a request that a line has, None where it is another line."""
    try:
        event = json.loads(line[line.find(b"{") :])
    except ValueError:
        return None
    if isinstance(event, dict) and "timestamp" in event and str(event.get("event", "")).startswith("request."):
        return event
    return None


def otel_lines() -> LineParser:
    def parse(line: bytes) -> Sequence[Record]:
        return [record for span in _otel_spans(json.loads(line)) if (record := _of_span(span)) is not None]

    return parse


def _otel_spans(record: Any) -> list[dict[str, Any]]:
    """Return the spans of a JSON document; none where it has none."""
    if not isinstance(record, dict):
        return []
    if "resourceSpans" in record:
        scopes = (scope for resource in record["resourceSpans"] for scope in resource.get("scopeSpans", ()))
        return [span for scope in scopes for span in scope.get("spans", ())]
    return [record] if "attributes" in record and _start_of(record) is not None else []


def _start_of(span: Record) -> Any:
    return span.get("startTimeUnixNano", span.get("start_time"))


def _of_span(span: Record) -> Record | None:
    given = span.get("attributes") or {}
    if isinstance(given, list):  # OTLP: [{"key": ..., "value": {"intValue": "12"}}, ...]
        given = {each["key"]: next(iter(each.get("value", {}).values()), None) for each in given}

    def first(*names: str) -> Any:
        return next((given[f"gen_ai.{name}"] for name in names if f"gen_ai.{name}" in given), None)

    prompt = first("usage.input_tokens", "usage.prompt_tokens")
    if prompt is None:
        return None
    start = _start_of(span)
    return {
        "timestamp": _seconds(start) if "start_time" in span else int(start) / 1e9,
        "input_length": int(prompt),
        "output_length": int(first("usage.output_tokens", "usage.completion_tokens") or 0),
        "session": first("conversation.id"),
        "kind": str(first("agent.name", "operation.name") or ""),
    }


def _ids(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []


def _seconds(text: str) -> float:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
