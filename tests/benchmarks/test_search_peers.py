"""What `benchmarks.search_peers` gives every system: replies in its own form, and scores by Vulcan's evaluator."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peer_endpoint import (
    COMPLETIONS,
    LoopbackServer,
    ModelEndpoint,
    OperatorReplies,
    RecordedReplies,
    requested_operator,
    shown_programs,
    with_markers,
    without_markers,
)
from benchmarks.peer_runs import PeerSearch, count_alike, run_process, search_with_vulcan
from benchmarks.peer_scorer import SCORE, PeerScorer
from benchmarks.search_peers import RECORDINGS, VULCAN, recorded_replies, table
from vulcan.anvil import check
from vulcan.models import Reply, extract_source
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.searches.feedback import PromptFeedback
from vulcan.searches.population import ScoredCandidate
from vulcan.searches.prompts import Prompts
from vulcan.searches.strategies import Draft

TASK = find_task("cache_eviction")
LRU = "def priority(now, obj, cache, ghost):\n    return obj.last_access\n"
LFU = "def priority(now, obj, cache, ghost):\n    return obj.count\n"
SIZE = "def priority(now, obj, cache, ghost):\n    return -obj.size\n"
WRONG = "import os\n\n\ndef decide(job, spot, vm):\n    return os.getpid()\n"

# The parts of each system's prompts that a reply depends on, in their order
OPENEVOLVE = f"""# Program Evolution History
## Top Performing Programs
### Program 1 (Score: 0.2)
```python
{with_markers(LFU)}
```
# Current Program
```python
{with_markers(LRU)}
```
# Task
Rewrite the program to improve its FITNESS SCORE.
```python
# Your rewritten program here
```"""
SHINKA = f"""You MUST respond using a short summary name, description and the full code:
<CODE>
```python
# The new rewritten program here.
```
</CODE>
# Prior programs

```python
{with_markers(LFU)}
```
# Current program

```python
{with_markers(LRU)}
```
# Task
"""
SHINKA_CROSSOVER = f"""{SHINKA}
Perform a cross-over between the code script above and the one below.
# Crossover Inspiration Programs
```python
{with_markers(SIZE)}
```
"""
KNOWN = f"## Known policies\n\n```python\n{SIZE}```\n\n"
VULCAN_PROMPT = (
    f"## The policy to change\n\n### Version 1\n\n```python\n{LRU}```\n\n### Idea 1\n\n```python\n{LFU}```\n"
)


@pytest.mark.parametrize(
    "prompt, programs",
    [
        (OPENEVOLVE, [LRU, LFU]),
        (SHINKA, [LRU, LFU]),
        (SHINKA_CROSSOVER, [LRU, SIZE, LFU]),
        (VULCAN_PROMPT, [LRU, LFU]),
        (KNOWN + VULCAN_PROMPT, [LRU, LFU, SIZE]),
        ("Write a policy.", []),
    ],
)
def test_the_current_program_is_the_first_of_those_that_a_prompt_shows(prompt: str, programs: list[str]) -> None:
    assert shown_programs(prompt, "priority") == programs


def test_only_a_prompt_that_asks_for_it_gets_a_combination_or_a_new_idea() -> None:
    assert [requested_operator(prompt) for prompt in (OPENEVOLVE, SHINKA, VULCAN_PROMPT)] == ["", "", ""]
    assert requested_operator(SHINKA_CROSSOVER) == "crossover"
    assert requested_operator("Design a completely different algorithm approach to solve the same problem.") == "fresh"


@pytest.mark.parametrize(
    "operator, parents, inspirations, requested",
    [
        ("initial", [LRU, LFU], [], "fresh"),
        ("mutate", [LRU], [LFU], ""),
        ("mutate", [LRU, LFU], [], ""),
        ("crossover", [LRU, LFU], [], "crossover"),
        ("fresh", [LRU], [LFU], "fresh"),
        ("fresh", [LRU, LFU], [], "fresh"),
    ],
)
def test_vulcans_prompts_are_read_as_they_are_meant(
    operator: str, parents: list[str], inspirations: list[str], requested: str
) -> None:
    def scored(source: str) -> ScoredCandidate:
        return ScoredCandidate(1, 1, 1, source, 0.5, (0.5,), 1, 1, "seed", 0, "model", (), "seed", ())

    draft = Draft(1, operator, tuple(map(scored, parents)), tuple(map(scored, inspirations)))
    known = PromptFeedback(background=f"## Known policies\n\n```python\n{SIZE}```\n")
    prompt = Prompts(TASK, TASK.objective("object"), complete_settings(TASK, {})).propose(draft, known)
    assert shown_programs(prompt, "priority") == [LRU, LFU, SIZE]
    assert requested_operator(prompt) == requested


@pytest.mark.parametrize("prompt", [OPENEVOLVE, SHINKA, SHINKA_CROSSOVER, VULCAN_PROMPT])
def test_a_reply_is_a_valid_policy_in_the_form_that_the_prompt_asks_for(prompt: str) -> None:
    writer = OperatorReplies(TASK, 1)
    for number in range(8):
        text = writer.write(number, prompt)
        tagged = "<CODE>" in prompt
        assert ("<NAME>" in text) == ("<DESCRIPTION>" in text) == ("</CODE>" in text) == tagged
        source = extract_source(Reply(text, "peers", "stop", None, None, None, 0.0), "priority")
        assert ("# EVOLVE-BLOCK-START" in source) == (prompt != VULCAN_PROMPT)
        assert without_markers(check(source, TASK).source) not in (LRU, LFU, SIZE)


def test_systems_that_show_the_same_programs_get_the_same_ones_by_the_number_of_the_call() -> None:
    def programs(prompt: str) -> list[str]:
        writer = OperatorReplies(TASK, 3)
        texts = [writer.write(number, prompt) for number in range(12)]
        replies = [Reply(text, "peers", "stop", None, None, None, 0.0) for text in texts]
        return [without_markers(extract_source(reply, "priority")) for reply in replies]

    assert programs(OPENEVOLVE) == programs(SHINKA) == programs(VULCAN_PROMPT)
    assert len(set(programs(OPENEVOLVE))) > 8


def test_the_k_th_call_gets_the_k_th_recorded_reply_in_any_form() -> None:
    replies = recorded_replies(RECORDINGS[2])
    writer = RecordedReplies(TASK, replies)
    for number in (0, 7, len(replies) + 7):
        recorded = extract_source(replies[number % len(replies)], "priority")
        assert recorded.strip() in writer.write(number, VULCAN_PROMPT)
        assert recorded.strip() in writer.write(number, SHINKA)
    prose = Reply("I have no idea.", "claude", "stop", None, None, None, 0.0)
    assert RecordedReplies(TASK, [prose]).write(0, SHINKA) == prose.text


def ask(url: str, body: Mapping[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def test_the_server_counts_calls_and_scores_programs_as_a_search_does() -> None:
    scorer = PeerScorer("spot_single", "public", {"trace": ["markov:up=2,down=1"], "windows": 12}, 0.0)
    source, score = scorer.start()
    endpoint = ModelEndpoint(OperatorReplies(scorer.task, 1))
    with LoopbackServer({COMPLETIONS: endpoint.complete, SCORE: scorer.answer}) as server:
        message = {"role": "user", "content": f"# Current program\n\n```python\n{source}```\n"}
        reply = ask(server.url + COMPLETIONS, {"model": "peers", "messages": [message]})
        assert "def decide(" in reply["choices"][0]["message"]["content"] and endpoint.calls == 1
        assert ask(server.url + SCORE, {"source": with_markers(source)}) == {
            "score": score, "valid": True, "feedback": "",
        }  # fmt: skip
        assert ask(server.url + SCORE, {"source": f"# the same again\n{source}"})["score"] == score
        refused = ask(
            server.url + SCORE, {"source": "import os\n\ndef decide(job, spot, vm):\n    return os.getpid()\n"}
        )
        assert (refused["score"], refused["valid"]) == (0.0, False) and "import" in refused["feedback"]
        with pytest.raises(urllib.error.HTTPError):
            ask(server.url + "/v1/embeddings", {})
    assert [candidate.verdict for candidate in scorer.judged] == ["scored", "scored", "rejected"]
    assert count_alike(scorer.judged) == 1


def test_a_search_by_vulcan_makes_as_many_calls_as_it_is_given(tmp_path: Path) -> None:
    scorer = PeerScorer("spot_single", "public", {"trace": ["markov:up=2,down=1"], "windows": 12}, 0.0)
    writer = OperatorReplies(scorer.task, 1)
    found = search_with_vulcan(VULCAN["Vulcan, loop only"], "Vulcan", scorer, writer, 6, 1, tmp_path)
    assert found.failure == "" and found.calls == 6
    assert found.measured + found.skipped + found.rejected == 6 and found.lost == 0
    assert found.train >= found.start and found.machine > 0


def test_a_process_that_fails_is_reported(tmp_path: Path) -> None:
    assert run_process(["sh", "-c", "echo no; exit 3"], tmp_path).failure == "exit code 3"
    assert (tmp_path / "log.txt").read_text() == "no\n"


def test_the_table_has_a_row_per_system_and_names_what_failed() -> None:
    searches = [
        PeerSearch("One", seed, 10, 8, 3, 0, 1, 1, 20.0, 4.0, 0.1, 0.2 + seed / 10, 0.15, failure)
        for seed, failure in ((1, ""), (2, "exit code 1"), (3, ""))
    ]
    assert table(searches)[2:] == [
        "| One | 10 | 20 | 4 | 8 | 3 | 0 | 1 | 1 | 0.4000 (0.3000 to 0.5000) | 0.1500 (0.1500 to 0.1500) |",
        "",
        "Best policy to start from, on train: 0.1000.",
        "Ended with an error: One, seed 2: exit code 1.",
    ]
