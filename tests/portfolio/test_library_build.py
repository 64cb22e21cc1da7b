"""`vulcan library`: built, shown and exported."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from console import MOOD_TASK, Console, one_line
from json_documents import faults
from libraries import MRU
from locations import few_starts

from vulcan.portfolio.library_file import read_library, to_json

WORKLOADS = {
    "z1": "zipf:requests=9000,objects=1500,alpha=0.9,seed=3",
    "z2": "zipf:requests=9000,objects=1500,alpha=0.85,seed=4",
    "l1": "loop:requests=9000,objects=700",
    "l2": "loop:requests=9000,objects=760",
}
CACHES = few_starts()
BUILD = (
    "library", "build", "--task", CACHES, "--traces", "traces", "--cache-size", "10%", "--sample-size", "8",
    "--members", "3", "--keep", "mru", "--policy", "mru.py", "--policy", "mru.py@sample_size=64",
)  # fmt: skip


def write_traces(console: Console) -> None:
    from vulcan_traces import load_trace

    (console.directory / "traces").mkdir()
    for name, spec in WORKLOADS.items():
        trace = load_trace(spec)
        rows = (f"{n},{trace.keys[o]},1" for n, o in enumerate(trace.objects))
        (console.directory / "traces" / f"{name}.csv").write_text("time,id,size\n" + "\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def vulcan(tmp_path_factory: pytest.TempPathFactory) -> Console:
    console = Console(tmp_path_factory.mktemp("library"))
    write_traces(console)
    (console.directory / "mru.py").write_text(MRU)
    return console


@pytest.fixture(scope="module")
def built(vulcan: Console) -> Any:
    return vulcan.document(*BUILD, "-o", "lib")


def test_a_library_is_built(vulcan: Console, built: dict[str, Any]) -> None:
    sums = {w["name"]: w["sha256"] for w in built["workloads"]}
    for name in WORKLOADS:
        data = (vulcan.directory / "traces" / f"{name}.csv").read_bytes()
        assert sums[f"{name}.csv"] == hashlib.sha256(data).hexdigest()
    assert [i["name"] for i in built["instances"]] == [f"{name}@10%" for name in sorted(WORKLOADS)]
    assert len(built["members"]) == 3 and built["members"][0]["name"] == "mru"
    matrix = built["matrix"]["object"]
    assert {"fifo", "lru", "s3-fifo"} <= set(matrix["baselines"])
    assert {*matrix["members"], *matrix["dropped"]} == {"mru", "mru_2", "fifo", "gdsf_admitting", "lru", "s3_fifo"}
    assert matrix["baselines"]["fifo"] == [0.0] * 4, "the objective compares with it"
    assert to_json(read_library(vulcan.directory / "lib")) == built


def test_a_run_gives_its_best_policies(vulcan: Console) -> None:
    run = vulcan.document(
        "search", "--task", CACHES, "--trace", "traces/z1.csv", "--cache-size", "10%", "--budget-candidates", "8",
        "--tune", "0", "--simplify", "0", "--executor", "local", "--workers", "1", "--seed", "5",
    )["run"]  # fmt: skip
    members = vulcan.document(*BUILD, "--run", run, "--per-run", "2", "--members", "20", "-o", "of_run")["members"]
    origins = [m["provenance"] for m in members if m["provenance"]["run"]]
    assert 1 <= len(origins) <= 2
    for origin in origins:
        assert (origin["seed"], origin["search"]["budget_candidates"]) == (5, 8)
        assert origin["workloads"]


def test_matrix_is_what_eval_measures(vulcan: Console, built: dict[str, Any]) -> None:
    member = built["members"][0]
    rows = vulcan.document(
        "eval", f"lib/{member['policy']}", "--task", "cache_eviction", "--cache-size", "10%", "--sample-size", "8",
        *(text for name in WORKLOADS for text in ("--trace", f"traces/{name}.csv")),
    )["rows"]  # fmt: skip
    measured = {r["instance"]: r["score"] for r in rows if r["policy"] == member["name"]}
    names = [i["name"] for i in built["instances"]]
    assert built["matrix"]["object"]["members"][member["name"]] == [measured[name] for name in names]


def test_a_plan_in_a_file_is_the_same_build(vulcan: Console, built: dict[str, Any]) -> None:
    plan = vulcan.directory / "plan.toml"
    plan.write_text(
        'cache_size = ["10%"]\nobjective = ["object", "byte"]\nmembers = 3\nkeep = ["lru"]\n'
        'policy = ["mru.py", "mru.py@sample_size=8"]\n'
    )
    task = ("library", "build", "--task", CACHES, "--traces", "traces")
    options = (
        "--cache-size", "10%", "--objective", "object", "--objective", "byte", "--members", "2", "--keep", "lru",
        "--policy", "mru.py", "--policy", "mru.py@sample_size=8",
    )  # fmt: skip
    of_file = vulcan.document(*task, "--config", "plan.toml", "--members", "2", "-o", "of_file")
    assert of_file == vulcan.document(*task, *options, "-o", "of_options")
    assert (of_file["objectives"], len(of_file["members"])) == (["object", "byte"], 2), "the command line comes first"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("members = 1e1", "members is 10.0, which is no whole number"),
        ("policy = [1]", "policy is not a name or a list of names"),
        ("limit = true", "limit is True, which is no number"),
        ("tune = 3", "tune is an option of searches"),
    ],
)
def test_a_plan_with_another_type_is_refused(vulcan: Console, line: str, what: str) -> None:
    (vulcan.directory / "wrong.toml").write_text(line + "\n")
    build = ("library", "build", "--task", "cache_eviction", "--traces", "traces", "--config", "wrong.toml", "-o", "x")
    refused = vulcan(*build)
    assert f"wrong.toml: {what}" in one_line(refused)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "--task", "cache_eviction", "--traces", "nowhere.csv", "-o", "x"), "nowhere.csv"),
        (
            ("build", "--task", "cache_eviction", "--traces", "traces", "--objective", "bit", "-o", "x"),
            "no objective 'bit'",
        ),
        (("build", "--task", "cache_eviction", "--traces", "traces", "--cache-sise", "1%", "-o", "x"), "did you mean"),
        (("build", "--task", MOOD_TASK, "--traces", "traces", "-o", "x"), "its evaluator names no setting that has"),
        (("build", "--task", "cache_eviction", "--traces", "traces", "--members", "0", "-o", "x"), "--members is 0"),
        (("show", "traces"), "no library at traces"),
    ],
)
def test_mistakes_are_one_line(vulcan: Console, arguments: tuple[str, ...], message: str) -> None:
    assert message in one_line(vulcan("library", *arguments))
    assert not (vulcan.directory / "x" / "library.json").exists()


def test_documents_are_what_their_models_say(vulcan: Console, built: dict[str, Any]) -> None:
    told = vulcan.document("library", "export", "lib", "-o", "following.py")
    assert faults(built, "LibraryDocument") == faults(told, "FollowingDocument") == []
    assert sorted(told["members"]) == sorted(m["name"] for m in built["members"])
    assert "FOLLOWED = (" in (vulcan.directory / "following.py").read_text()
