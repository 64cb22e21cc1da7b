"""Constants of a server's steps are those with which the log was made."""

from __future__ import annotations

import json
import random
from dataclasses import asdict

import pytest

from vulcan.errors import UserError
from vulcan_serving.server import SERVERS, find_server
from vulcan_traces.prompts.step_log import fit_steps


def write_log(path, noise, has_pairs=True, **wrong):
    draw, truth = random.Random(1), SERVERS["8b-h100"]
    names = ["prefill_tokens", "decode_tokens", "context", "seconds", *(["pairs"] if has_pairs else [])]
    lines = [",".join(names)]
    for _ in range(300):
        new, before, decode = draw.choice((0, draw.randrange(1, 2048))), draw.randrange(30_000), draw.randrange(40)
        context = sum(draw.randrange(100, 5000) for _ in range(decode))
        pairs = new * before + new * new / 2
        seconds = 1e-3 * truth.base_ms + 1e-6 * (truth.prefill_us * new + truth.decode_us * decode)
        seconds += 1e-9 * (truth.context_ns * context + truth.pair_ns * pairs * has_pairs)
        row = {"prefill_tokens": new, "decode_tokens": decode, "context": context, "pairs": pairs}
        row |= {"seconds": seconds * draw.gauss(1, noise)} | wrong
        lines.append(",".join(str(row[name]) for name in names))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("has_pairs", [True, False])
@pytest.mark.parametrize(("noise", "within"), [(0.0, 1e-3), (0.02, 0.5)])
def test_the_constants_are_found(tmp_path, noise, within, has_pairs):
    fitted = fit_steps(write_log(tmp_path / "steps.csv", noise, has_pairs))
    truth = asdict(SERVERS["8b-h100"])
    for name, value in fitted.constants.items():
        assert value == pytest.approx(truth[name] if has_pairs or name != "pair_ns" else 0, rel=within), name
    assert abs(fitted.errors).max() < 5 * max(noise, 1e-3)
    file = tmp_path / "server.json"
    file.write_text(json.dumps({**fitted.constants, "memory": 1000}))
    assert find_server(str(file)).memory == 1000


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"seconds": "x"}, "line 2: numbers are needed"),
        ({"context": -1}, "line 2: numbers from 0 on"),
        ({"seconds": 0}, "line 2: .*seconds above"),
        ({"prefill_tokens": 7}, "prefill_tokens is 7 in each step: what it costs cannot be told"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, wrong, why):
    with pytest.raises(UserError, match=why):
        fit_steps(write_log(tmp_path / "steps.csv", 0.0, **wrong))
