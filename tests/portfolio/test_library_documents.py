"""Libraries on disk: what is written is read back, and what makes no sense is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from libraries import MRU, policies_in, usual

from vulcan.errors import UserError
from vulcan.portfolio.candidates import policy_spec, read_settings
from vulcan.portfolio.library_file import read_library, to_json, write_library
from vulcan.registry import find_task


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    library = usual()
    write_library(library, tmp_path / "lib")
    assert read_library(tmp_path / "lib") == library
    assert set(policies_in(tmp_path / "lib")) == {"hyperbolic.py", "mru.py"}


def test_a_library_in_its_task_refers_to_the_policies_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mru.py").write_text(MRU)
    write_library(usual(), tmp_path / "library")
    assert set(policies_in(tmp_path / "library")) == {"hyperbolic.py"}
    found = read_library(tmp_path / "library")
    assert [member.file for member in found.members] == ["policies/hyperbolic.py", "../policies/mru.py"]
    assert [member.source for member in found.members] == [member.source for member in usual().members]


def without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(plain: dict[str, Any]) -> None:
        for name in path[:-1]:
            plain = plain[name]
        del plain[path[-1]]

    return change


def setting(value: Any, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(plain: Any) -> None:
        for name in path[:-1]:
            plain = plain[name]
        plain[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting(2, "format"), "has the format 2, and this Vulcan reads 1"),
        (without("format"), "has no number `format`"),
        (without("matrix"), "lacks 'matrix'"),
        (without("matrix", "object", "members", "mru"), "lacks the member mru"),
        (setting([1.0], "matrix", "object", "members", "mru"), "mru has 1 scores under object for 4 instances"),
        (setting([0.0] * 3 + [float("nan")], "matrix", "object", "members", "mru"), "no JSON|not JSON"),
        (setting([], "instances"), "0 instances|no training instance"),
        (setting("../evil", "members", 0, "name"), "no identifier"),
        (setting("../../etc/passwd", "members", 0, "policy"), "must be policies/hyperbolic.py"),
        (setting([], "members"), "it has no member"),
        (setting(None, "members"), "makes no sense"),
    ],
)
def test_bad_libraries_are_refused(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    write_library(usual(), tmp_path)
    plain = to_json(usual())
    change(plain)
    (tmp_path / "library.json").write_text(json.dumps(plain))
    with pytest.raises(UserError, match=message) as refused:
        read_library(tmp_path)
    assert "\n" not in str(refused.value)
    assert str(tmp_path / "library.json") in str(refused.value)


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no library\.json"):
        read_library(tmp_path)
    for text in ("{", "[]", "[" * 100_000):
        (tmp_path / "library.json").write_text(text)
        with pytest.raises(UserError, match=r"not JSON|not an object|no number `format`"):
            read_library(tmp_path)
    write_library(usual(), tmp_path)
    (tmp_path / "policies" / "mru.py").unlink()
    with pytest.raises(UserError, match=r"the policy .*mru\.py cannot be read"):
        read_library(tmp_path)


def test_settings_of_a_policy_stand_behind_its_file() -> None:
    task = find_task("cache_eviction")
    given = {"unit_sizes": "true", "sample_size": "8"}
    assert policy_spec("a.py@unit_sizes=true,sample_size=8") == (Path("a.py"), given)
    assert read_settings(task, {"sample_size": "8", "unit_sizes": "true"}, "x") == {
        "sample_size": 8,
        "unit_sizes": True,
    }
    for options, message in (
        ({"sample_size": "many"}, "sample_size is 'many', which is no int"),
        ({"sampl_size": "8"}, "did you mean 'sample_size'"),
        ({"seed": "1"}, "seed is an option of searches|no whole number"),
    ):
        with pytest.raises(UserError, match=message):
            read_settings(task, options, "--policy a.py")
    with pytest.raises(UserError, match="not of the form key=value"):
        policy_spec("a.py@heap")
