"""`vulcan export --list`, and that every format carries the policy that it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cache_formats import CASES
from typer.testing import CliRunner

from vulcan.cli.main import app
from vulcan.errors import UserError
from vulcan.export import Provenance, policy_source
from vulcan.export.formats import EXPORTERS, every_format, exporters_of, find_exporter
from vulcan.export.pack_formats import hidden_by, pack_formats
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task, known_tasks
from vulcan.task import Task

TRACE = ("--trace", "zipf:requests=3000,objects=400,alpha=0.9,seed=2", "--cache-size", "10%")
CARRYING = (".py", "policy.h", "policy_cache.h", ".java", "policy.go", ".rs")
NAMES = ("gdsf heap", "little sample", "hits_evict queues")


def vulcan(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert (result.exit_code or result.return_value or 0) == code, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # which pytest-xdist sets
    return tmp_path


@pytest.mark.parametrize("name", sorted(known_tasks()))
def test_what_each_format_carries_is_the_policy(name: str) -> None:
    """For each task and each format that it is offered in; what is refused says why in one line."""
    task = find_task(name)
    made = 0
    sources = list(task.seed_policies().values())[:2]
    for source in sources:
        policy = check_policy(source, task)
        for attempt in every_format(policy, Provenance(name, "a.py", "", "", "")):
            if attempt.refusal:
                assert "\n" not in attempt.refusal and str(Path.cwd()) not in attempt.refusal
                continue
            carrying = [t for f, t in attempt.files.items() if f.endswith(CARRYING)]
            (text,) = carrying
            read = check_policy(policy_source(text), task)
            assert (read.fingerprint, dict(read.parameters)) == (policy.fingerprint, dict(policy.parameters))
            made += 1
    assert made >= len(sources)  # Python is for all


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_file_measures_as_the_policy_does(name: str, folder: Path) -> None:
    """The main file of each format, by `vulcan eval`."""
    (folder / "a.py").write_text(CASES[name])
    task = find_task("cache_eviction")
    made = every_format(check_policy(CASES[name], task), Provenance(task.name, "a.py", "", "", ""))
    caches = set() if "queues" in name else {"c-cache", "sqlite", "caffeine"}
    refused = {"c-fixed", "bpf", "c-cache", "sqlite", "caffeine"} - caches
    assert {each.format for each in made if each.refusal} == refused
    expected = measured("a.py")
    assert 0 < expected[0]["misses"] < expected[0]["requests"]
    for each in made:
        for file, text in each.files.items():
            if file != "sqlite_pages.c":  # a program has its policy in the header beside it
                (folder / file).write_text(text)
                assert measured(file) == expected, file


def measured(file: str) -> list[dict[str, Any]]:
    rows = json.loads(vulcan("eval", file, "--task", "cache_eviction", *TRACE, "--json"))["rows"]
    return [{**row, "policy": ""} for row in rows if row["kind"] == "candidate"]


def test_formats_are_listed_for_a_task_and_for_a_policy(folder: Path) -> None:
    told = json.loads(vulcan("export", "--list", "--task", "congestion_control", "--json"))
    assert told["task"] == "congestion_control"
    assert {row["format"]: row["refused"] is None for row in told["formats"]} == {
        "python": True, "c": True, "c-fixed": True, "bpf": True,
        "java": True, "go": True, "rust": True,
    }  # fmt: skip
    (folder / "a.py").write_text(CASES["gdsf heap"])
    told = json.loads(vulcan("export", "a.py", "--list", "--task", "cache_eviction", "--json"))
    assert (told["policy"], len(told["formats"])) == ("a.py", 13)
    told = json.loads(vulcan("export", "--list", "--task", "cache_eviction", "--json"))
    assert [row["format"] for row in told["formats"] if row["refused"]] == ["bpf"]


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("node.turn", "sglang needs register(describe=...), as the policy reads node.turn\n"),
        ("node.hits + server.waiting", "sglang needs register(load=...), as the policy reads server.waiting\n"),
        ("node.hits", ""),
    ],
)
def test_what_a_format_asks_of_its_user_is_said(read: str, told: str, folder: Path) -> None:
    (folder / "a.py").write_text(f"def priority(now, node, server):\n    return {read}\n")
    said = CliRunner().invoke(app, ["export", "a.py", "--task", "prefix_cache", "--format", "sglang"]).output
    assert said.partition("a.py\n")[2] == told


def test_mistakes_are_one_line(folder: Path) -> None:
    (folder / "a.py").write_text(CASES["gdsf heap"])
    task = ("--task", "cache_eviction")
    for words, why in (
        (["export"], "name a run, or a policy's file with --task"),
        (["export", *task], "with --task a policy's file is needed"),
        (["export", "a.py", *task, "--list", "--format", "c"], "--list writes nothing"),
        (["export", "a.py", *task, "--format", "cachetool"], "'cachetool'; did you mean 'cachetools'?"),
        (["export", "a.py", "--task", "congestion_control", "--format", "libcachesim"], "'libcachesim'"),
        (["export", "a.py", "--task", "congestion_control", "--called", "never"], "one of: ack, round"),
        (["export", "a.py", *task, "--candidate", "3"], "--candidate is of a run"),
        (["export", "a.py", "--called", "round"], "--called is not expected here"),
    ):
        with pytest.raises(UserError) as error:
            vulcan(*words)
        assert why in str(error.value)
        assert "\n" not in str(error.value)


def test_options_of_the_task_go_into_the_program_and_a_rejected_policy_into_none(folder: Path) -> None:
    task = ("--task", "congestion_control", "--format", "bpf", "-o", "out")
    (folder / "a.py").write_text("def cwnd(state, window):\n    return state.nothing\n")
    vulcan("export", "a.py", *task, code=1)
    assert not (folder / "out").exists()
    (folder / "a.py").write_text(find_task("congestion_control").seed_policies()["reno_like"])
    vulcan("export", "a.py", *task, "--called", "round")
    assert "#define SETTING_CALLED_ROUND\n" in (folder / "out" / "congestion_control.bpf.c").read_text()


# The seam by which a task pack adds formats


@pytest.fixture
def pack(tmp_path: Path) -> Task:
    """The task of eviction with formats of its own."""
    from dataclasses import replace

    (tmp_path / "export").mkdir()
    return replace(find_task("cache_eviction"), directory=tmp_path)


GOOD = 'summary = "mine"\nneeds = "mine"\nmodules = ["vulcan_cache.exported.twin"]\n'


def declare(task: Task, text: str) -> None:
    (task.directory / "export" / "formats.toml").write_text(text)


def test_a_pack_adds_formats(pack: Task) -> None:
    assert pack_formats(pack) == {} and exporters_of(pack) == EXPORTERS
    declare(pack, f"[mine]\n{GOOD}")
    added = find_exporter("mine", pack)
    assert (added.format, added.summary, added.takes_programs) == ("mine", "mine", False)
    with pytest.raises(UserError, match="no export format is called 'mine'"):
        find_exporter("mine")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[mine]\nsummary = ", "cannot be read"),
        ("mine = 3\n", "'mine' stands outside of a table"),
        (f"[mine]\n{GOOD}need = 3\n", "unknown key 'need'; did you mean 'needs'?"),
        ('[mine]\nneeds = "a"\nmodules = ["c"]\n', "mine needs summary, a text"),
        ('[mine]\nsummary = "a"\nneeds = "a"\nmodules = "c"\n', "mine needs modules, a list"),
        (f'[mine]\n{GOOD}mechanisms = "heap"\n', "mine needs mechanisms, a list"),
        (f"[mine]\n{GOOD}statistics = 0\n", "mine needs statistics, a list of names"),
        (f"[mine]\n{GOOD}asks = 3\n", "mine needs asks, a table"),
        (f"[python]\n{GOOD}", "'python', which is Vulcan's own"),
    ],
)
def test_what_a_pack_declares_wrongly_is_told(pack: Task, text: str, why: str) -> None:
    declare(pack, text)
    with pytest.raises(UserError, match="formats") as error:
        exporters_of(pack)
    assert why in str(error.value) and "\n" not in str(error.value)


def test_a_format_hides_features_that_there_are(pack: Task) -> None:
    declare(pack, f'[mine]\n{GOOD}hides = ["obj.sizes"]\n')
    with pytest.raises(UserError, match=r"mine hides 'obj.sizes', no feature, event or function; did you mean"):
        hidden_by(pack, "mine")


@pytest.mark.parametrize(
    ("module", "why"),
    [("not_there.at_all", "is not found"), ("vulcan_cache.exported.mapping", "lacks the line")],
)
def test_a_module_that_cannot_be_written_is_told(pack: Task, module: str, why: str) -> None:
    declare(pack, f"[mine]\n{GOOD}".replace("vulcan_cache.exported.twin", module))
    policy = check_policy(CASES["gdsf heap"], pack)
    with pytest.raises(UserError, match=why):
        find_exporter("mine", pack).export(policy, Provenance("cache_eviction", "a.py", "", "", ""))  # type: ignore[arg-type]
