"""Logs of language-model servers are read as they are documented, and generated ones have the published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_traces.prompts import PROMPT_WORKLOADS, PromptTrace, load_prompts


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records))
    return path


def blocks(trace: PromptTrace, request: int) -> list[int]:
    return trace.blocks[trace.starts[request] : trace.starts[request + 1]].tolist()


def test_mooncake_blocks_are_prefixes_and_unknown_outputs_are_their_own(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.jsonl",
        {"timestamp": 3000, "input_length": 1100, "output_length": 500, "hash_ids": [7, 8, 9]},
        {"timestamp": 1000, "input_length": 1536, "output_length": 10, "hash_ids": [7, 8, 5]},
        {"timestamp": 4000, "input_length": 1024, "output_length": 0, "hash_ids": [6, 8]},
    )
    trace = load_prompts(path)
    assert trace.block_tokens == 512
    assert trace.arrivals.tolist() == [0.0, 2.0, 3.0]
    assert trace.prompt_blocks.tolist() == [3, 2, 2]
    assert blocks(trace, 0) == [0, 1, 2]
    assert blocks(trace, 1) == [0, 1, 3]  # the third block is the output's, and the prompt's end
    assert blocks(trace, 2) == [4, 5]  # block 8 after another one is another prefix


def test_bailian_records_have_sessions_turns_and_kinds(tmp_path: Path) -> None:
    first = {"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 33, "output_length": 20}
    path = write(
        tmp_path / "q.jsonl",
        {**first, "type": "text", "turn": 1, "hash_ids": [1, 2, 3]},
        {**first, "chat_id": 2, "type": "file", "turn": 1, "hash_ids": [1, 4, 5]},
        {**first, "chat_id": 9, "parent_chat_id": 1, "type": "text", "turn": 2, "hash_ids": [1, 2, 6]},
    )
    trace = load_prompts(path)
    assert trace.block_tokens == 16
    assert trace.sessions.tolist() == [1, 2, 1]
    assert trace.turns.tolist() == [1, 1, 2]
    assert [trace.kind_names[kind] for kind in trace.kinds] == ["text", "file", "text"]
    assert blocks(trace, 0)[:2] == blocks(trace, 2)[:2]


def test_token_ids_of_ones_own_log_give_blocks_that_outputs_fill(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.jsonl",
        {"timestamp": 10, "prompt": [1, 2, 3, 4, 5], "output": [6, 7, 8, 9], "session": "a", "priority": 2},
        {"timestamp": 12, "prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9], "output_length": 3, "session": "a"},
    )
    trace = load_prompts(path, block_tokens=4)
    assert blocks(trace, 0) == [0, 1]
    assert blocks(trace, 1) == [0, 1, 2]
    assert trace.turns.tolist() == [1, 2]
    assert trace.priorities.tolist() == [2, 0]


def hashed(block: int, count: int = 60, gap: int = 500) -> list[dict[str, Any]]:
    """Requests of a log of blocks of another size than Mooncake's."""
    lengths = [100 + 37 * n for n in range(count)]
    return [
        {"timestamp": gap * n, "input_length": length, "output_length": 1, "hash_ids": list(range(-(-length // block)))}
        for n, length in enumerate(lengths)
    ]


@pytest.mark.parametrize(("block", "given"), [(64, None), (64, 64), (64, 16), (512, 16), (96, 96)])
def test_a_block_size_is_one_that_lengths_agree_with(
    block: int, given: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace = load_prompts(write(tmp_path / "m.jsonl", *hashed(block)), block_tokens=given)
    assert trace.block_tokens == block
    assert trace.prompt_blocks.tolist() == [record["input_length"] // block for record in hashed(block)]
    assert ("lengths agree" in caplog.text) == (block != (given or 512))


def test_lengths_that_agree_with_no_block_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--block-tokens"):
        load_prompts(write(tmp_path / "m.jsonl", *hashed(96)))
    with pytest.raises(UserError, match=r"--block-tokens \("):
        load_prompts(write(tmp_path / "m.jsonl", {**hashed(16)[0], "input_length": 5000, "hash_ids": [1]}))


@pytest.mark.parametrize(("gap", "doubted"), [(500, False), (1, True), (200_000, True)])
def test_times_in_another_unit_are_doubted(
    gap: int, doubted: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load_prompts(write(tmp_path / "m.jsonl", *hashed(512, gap=gap)))
    assert ("seconds" in caplog.text) == doubted


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "no known format"),
        ("[1]", "no known format"),
        ('{"timestamp": 1}', "no known format"),
        ('{"timestamp": "x", "input_length": 1, "output_length": 1, "hash_ids": []}', "timestamp"),
        ('{"timestamp": 1, "input_length": -1, "output_length": 1, "hash_ids": []}', "input_length"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": ["a"]}', "hash_ids"),
        ('{"timestamp": 1, "prompt": [1.5]}', "whole numbers `prompt`"),
    ],
)
def test_a_malformed_line_is_named(line: str, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.jsonl", line)
    with pytest.raises(UserError, match=reason) as error:
        load_prompts(path)
    assert "line 1" in str(error.value)


def test_generated_workloads_have_the_published_figures() -> None:
    chat, agent, documents = (
        load_prompts(f"{kind}:requests=2000,seed=9,rate=0.2") for kind in ("chat", "agent", "documents")
    )
    assert len(chat.turns) / len(np.unique(chat.sessions)) == pytest.approx(2.54, rel=0.15)
    assert chat.output_tokens.mean() == pytest.approx(441, rel=0.1)
    assert agent.turns.mean() > 15
    assert np.median(agent.prompt_tokens) > 10_000
    assert documents.prompt_tokens.mean() == pytest.approx(19_000, rel=0.25)
    assert documents.output_tokens.mean() == pytest.approx(72, rel=0.1)
    for trace in (chat, agent, documents):
        assert np.all(np.diff(trace.arrivals) >= 0)
        assert np.all(np.diff(trace.starts) == (trace.prompt_tokens + trace.output_tokens) // trace.block_tokens)


def test_a_specification_gives_the_same_requests_again_and_another_seed_others() -> None:
    one, again, other = (load_prompts(f"mix:requests=500,seed={seed}") for seed in (3, 3, 4))
    assert one.digest == again.digest != other.digest
    assert set(one.kinds.tolist()) == {1, 2, 3, 4}
    assert set(PROMPT_WORKLOADS) == {"train", "validation", "test"}
    with pytest.raises(UserError, match="no generator"):
        load_prompts("caht:requests=5")


@pytest.mark.parametrize("spec", ["mix:requests=250,seed=11", "chat:requests=300", "agent:requests=300"])
def test_a_block_of_a_generated_prompt_always_has_the_same_ones_before_it(spec: str) -> None:
    trace = load_prompts(spec)
    before = np.concatenate([[-1], trace.blocks[:-1]])
    before[trace.starts[:-1][np.diff(trace.starts) > 0]] = -1
    assert len(np.unique(np.stack([trace.blocks, before]), axis=1).T) == trace.block_count
