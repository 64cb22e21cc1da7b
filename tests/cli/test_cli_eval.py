"""`vulcan eval`: what its rows and means say, however the policies are called."""

from __future__ import annotations

import pytest
from console import LRU, ZIPF, Console

TWO_SIZES = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", "5%", "--cache-size", "20%")


@pytest.mark.parametrize(("size", "says"), [("110%", "nothing is ever evicted"), ("2", "no object fits")])
def test_a_cache_of_no_use_is_said_and_refused_by_a_search(vulcan: Console, size: str, says: str) -> None:
    (vulcan.directory / "mine.py").write_text(LRU)
    where = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", size)
    measured = vulcan("eval", "mine.py", *where)
    assert measured.returncode == 0
    assert says in measured.stderr
    refused = vulcan("search", *where, "--budget-candidates", "3", "--executor", "local")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert says in refused.stderr
    assert "choose a " in refused.stderr
    assert not (vulcan.directory / "runs").exists()


def test_several_policies_stand_side_by_side(vulcan: Console) -> None:
    (vulcan.directory / "lru.py").write_text(LRU)
    (vulcan.directory / "mine.py").write_text(LRU.replace("last_access", "count"))
    (vulcan.directory / "other").mkdir()
    (vulcan.directory / "other" / "lru.py").write_text(LRU)
    document = vulcan.document("eval", "lru.py", "mine.py", *TWO_SIZES)
    assert [m["policy"] for m in document["means"] if m["kind"] == "candidate"] == ["lru", "mine"]
    alike = vulcan.document("eval", "lru.py", "other/lru.py", *TWO_SIZES)
    first, second = (m for m in alike["means"] if m["kind"] == "candidate")
    assert (first.pop("policy"), second.pop("policy")) == ("lru.py", "other/lru.py")
    assert first == second
    (vulcan.directory / "bad.py").write_text("def priority(now, obj, cache, ghost):\n    return obj.colour\n")
    refused = vulcan("eval", "lru.py", "bad.py", *TWO_SIZES)
    assert refused.returncode == 1
    assert refused.stderr.startswith("bad: rejected: ")


def test_what_was_exported_for_another_task_is_said(vulcan: Console) -> None:
    (vulcan.directory / "lru.py").write_text(LRU)
    where = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", "10%")
    wrote = [vulcan.good("export", "lru.py", *where[:2], "-o", "out.py").stderr.split()[0] for _ in range(2)]
    assert wrote == ["wrote", "replaced"]
    said = "out.py was exported for the task cache_eviction, not for load_balancing\n"
    for command in ("eval", "check", "verify"):
        refused = vulcan(command, "out.py", "--task", "load_balancing")
        assert refused.returncode == 1
        assert refused.stderr.startswith(said)
    assert said not in vulcan("eval", "out.py", *where).stderr


def test_that_a_guard_is_not_measured_is_said(vulcan: Console) -> None:
    (vulcan.directory / "mru.py").write_text(LRU.replace("obj.last_access", "-obj.last_access"))
    where = ("--task", "cache_eviction", "--trace", ZIPF, "--cache-size", "10%")
    for format in ("python", "c"):
        vulcan.good("export", "mru.py", *where, "--guard", "lru", "--format", format, "-o", "out")
        said = "out is guarded by lru; this is the policy without it (`vulcan eval --guard lru` measures both)\n"
        assert said in vulcan.good("check", "out", *where[:2]).stderr
        assert said in vulcan.good("eval", "out", *where).stderr
        assert said not in vulcan.good("eval", "out", *where, "--guard", "lru").stderr


def test_where_nothing_can_be_gained_a_search_says_so(vulcan: Console) -> None:
    options = ("--cache-size", "10%", "--budget-candidates", "2", "--executor", "local", "--workers", "1")
    command = ("search", "--task", "cache_eviction", "--trace", "log.txt", *options)
    (vulcan.directory / "log.txt").write_text("".join(f"{100 * n}\n" for n in range(4_000)))
    refused = vulcan(*command)
    assert (refused.returncode, "every policy misses all" in refused.stderr) == (2, True)
    assert "ids never go down: are they times?" in refused.stderr
    (vulcan.directory / "log.txt").write_text("".join(f"{100 * (n // 2)}\n" for n in range(4_000)))
    searched = vulcan.good(*command)
    assert "there is nothing to gain on this data." in searched.stdout
