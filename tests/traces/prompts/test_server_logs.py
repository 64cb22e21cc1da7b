"""Logs as servers write them: the records of tables, of vLLM, SGLang and OpenTelemetry, among lines of other kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vulcan.errors import UserError
from vulcan_traces.prompts import load_prompts
from vulcan_traces.prompts.prompt_trace import PromptTrace

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0318800,3180,8
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01.017335+00:00,2399,6
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,API log
60,GPT-4,0,0,0,Conversation log
"""
VLLM = """INFO 11-16 18:16:59 [api_server.py:1995] vLLM API server version 0.33.0
DEBUG 11-16 18:17:03 [request_logger.py:55] Request chat-1 details: prompt: 'a, prompt_token_ids: [9], b', \
prompt_token_ids: [1, 2, 3, 4, 5], prompt_embeds shape: None.
INFO 11-16 18:17:03 [request_logger.py:66] Received request chat-1: params: SamplingParams(n=1), lora_request: None.
DEBUG 11-16 18:17:05 [request_logger.py:55] Request cmpl-2 details: prompt: None, \
prompt_token_ids: [1, 2, 3, 4, 7, 7, 7, 7], prompt_embeds shape: None.
DEBUG 11-16 18:17:06 [request_logger.py:110] Generated response chat-1 (streaming delta) details: output_token_ids: [6]
INFO 11-16 18:17:06 [request_logger.py:117] Generated response chat-1 (streaming delta): output: 'x', \
finish_reason: None
DEBUG 11-16 18:17:07 [request_logger.py:110] Generated response chat-1 (streaming delta) details: \
output_token_ids: [7, 8]
INFO 11-16 18:17:07 [request_logger.py:117] Generated response chat-1 (streaming complete): output: 'xyz', \
finish_reason: streaming_complete
DEBUG 11-16 18:17:09 [request_logger.py:110] Generated response cmpl-2 details: output_token_ids: [4, 4]
INFO 11-16 18:17:09 [request_logger.py:117] Generated response cmpl-2: output: 'finish_reason: no', \
finish_reason: length
DEBUG 11-16 18:17:10 [request_logger.py:55] Request cmpl-3 details: prompt: None, \
prompt_token_ids: [1], prompt_embeds shape: None.
"""


def sglang(level: int) -> str:
    def event(kind: str, second: int, **rest: object) -> str:
        return json.dumps({"timestamp": f"2026-05-10T00:00:{second:02}.250000", "event": f"request.{kind}", **rest})

    tokens = {"input_ids": [1, 2, 3, 4, 5]} if level > 2 else {}
    out: dict[str, object] = {"meta_info": {"id": "r1", "prompt_tokens": 5, "completion_tokens": 3, "e2e_latency": 9.0}}
    ids = {"output_ids": [6, 7, 8]} if level > 2 else {}
    late = {"meta_info": {"prompt_tokens": 9, "completion_tokens": 1, "e2e_latency": 2.0}}
    return "\n".join(
        [
            "[2026-05-10 00:00:00] The server is fired up and ready to roll!",
            event("received", 1, rid="r1", obj={"rid": "r1", "session_id": "s", **tokens}),
            event("received.openai", 1, obj={}),
            event(
                "finished", 7, rid="r1", obj={"rid": "r1", "session_id": "s", "priority": 2, **tokens}, out=out | ids
            ),
            event("finished", 9, rid="r2", obj={"rid": "r2", "session_params": {"id": "s"}}, out=late),
        ]
    )


def otel(exporter: str) -> str:
    def attributes(span: dict[str, Any]) -> Any:
        if exporter == "console":
            return span
        return [
            {"key": k, "value": {"stringValue": v} if isinstance(v, str) else {"intValue": str(v)}}
            for k, v in span.items()
        ]

    spans = [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 32,
            "gen_ai.usage.output_tokens": 16,
            "gen_ai.conversation.id": "c",
        },
        {"http.route": "/v1/chat/completions"},
        {"gen_ai.usage.prompt_tokens": 64, "gen_ai.usage.completion_tokens": 16, "gen_ai.conversation.id": "c"},
    ]
    if exporter == "console":
        return "\n".join(
            json.dumps({"name": "chat", "start_time": f"2026-05-10T00:00:0{n}.500000Z", "attributes": span})
            for n, span in enumerate(spans)
        )
    made = [
        {"startTimeUnixNano": str(1_700_000_000_500_000_000 + n * 10**9), "attributes": attributes(span)}
        for n, span in enumerate(spans)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": made}]}]})


@pytest.mark.parametrize(
    ("text", "arrivals", "prompts", "outputs"),
    [
        (AZURE, [0.0, 0.05192], [4808, 3180], [10, 8]),
        (AZURE_2024, [0.0, 1.007405], [2162, 2399], [5, 6]),
        (BURSTGPT, [0.0, 40.0], [472, 1087], [18, 230]),
        (VLLM, [0.0, 2.0], [5, 8], [3, 2]),
        (sglang(0), [0.0, 6.0], [5, 9], [3, 1]),
        (sglang(3), [0.0, 6.0], [5, 9], [3, 1]),
        (otel("console"), [0.0, 2.0], [32, 64], [16, 16]),
        (otel("otlp"), [0.0, 2.0], [32, 64], [16, 16]),
    ],
    ids=["azure", "azure-2024", "burstgpt", "vllm", "sglang-lengths", "sglang-tokens", "otel-console", "otel-otlp"],
)
def test_a_servers_log_is_recognised(
    text: str, arrivals: list[float], prompts: list[int], outputs: list[int], tmp_path: Path
) -> None:
    trace = read(text, tmp_path)
    assert trace.arrivals.tolist() == pytest.approx(arrivals, abs=1e-6)
    assert trace.prompt_tokens.tolist() == prompts
    assert trace.output_tokens.tolist() == outputs
    assert trace.prompt_blocks.tolist() == [tokens // trace.block_tokens for tokens in prompts]
    assert len(trace.blocks) == sum((p + o) // trace.block_tokens for p, o in zip(prompts, outputs, strict=True))


def read(text: str, directory: Path, block_tokens: int | None = None) -> PromptTrace:
    path = directory / "log"
    path.write_text(text)
    return load_prompts(path, block_tokens=block_tokens)


def test_token_ids_of_vllm_and_sglang_are_shared_prefixes(tmp_path: Path) -> None:
    trace = read(VLLM, tmp_path, block_tokens=4)
    assert trace.blocks.tolist() == [0, 1, 0, 2]
    assert read(sglang(3), tmp_path, block_tokens=4).blocks[:2].tolist() == [0, 1]


def test_a_sessions_next_longer_prompt_begins_with_the_last_and_its_output(tmp_path: Path) -> None:
    trace = read(otel("otlp"), tmp_path)
    assert trace.blocks.tolist() == [0, 1, 2, 0, 1, 2, 3, 4]
    assert (trace.sessions.tolist(), trace.turns.tolist()) == ([1, 1], [1, 2])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (f"{AZURE}yesterday,1,1\n", 4, "not as azure"),
        (f"{AZURE}2023-11-16 18:17:05,1\n", 4, "2 cells, not 3"),
        (f"{BURSTGPT}70,GPT-4,many,1,1,API log\n", 5, "not as burstgpt"),
        (otel("console").replace("32", '"x"'), 1, "not as otel"),
    ],
)
def test_a_malformed_line_of_a_servers_log_is_named(text: str, line: int, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"line {line}: {why}"):
        read(text, tmp_path)


def test_what_vllms_own_logger_writes_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm", reason="vllm is not installed: make test-serving")
    import logging

    from vllm.entrypoints.serve.utils import request_logger
    from vllm.logging_utils import NewLineFormatter
    from vllm.sampling_params import SamplingParams

    handler = logging.FileHandler(tmp_path / "log")
    handler.setFormatter(
        NewLineFormatter("%(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s", "%m-%d %H:%M:%S")
    )
    monkeypatch.setattr(request_logger.logger, "level", logging.DEBUG)
    monkeypatch.setattr(request_logger.logger, "handlers", [handler])
    request_logger.logger._cache.clear()  # type: ignore[attr-defined]
    own = request_logger.RequestLogger(max_log_len=None)
    own.log_inputs("chat-1", "two\nlines", [1, 2, 3], None, SamplingParams(), None)
    own.log_outputs("chat-1", "a", [4], None, True, True)
    own.log_outputs("chat-1", "b", [5], "stop", True, True)
    own.log_outputs("chat-1", "ab", None, "streaming_complete", True, False)
    own.log_inputs("chat-2", None, [1], None, SamplingParams(), None)
    own.log_outputs("chat-2", "c", [2, 3, 4], "length")
    handler.close()
    trace = load_prompts(tmp_path / "log")
    assert (trace.prompt_tokens.tolist(), trace.output_tokens.tolist()) == ([3, 1], [2, 3])
