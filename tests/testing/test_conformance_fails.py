"""Each check of the conformance suite fails where a task breaks that promise, and says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console import Console
from faults import FAULTS, Fault
from json_documents import faults
from locations import ROOT

from vulcan.errors import UserError
from vulcan.scaffold import write_task
from vulcan.testing import CHECKS, CheckFailed, Subject, examine

FEW = {"jobs": 25, "load": [0.9]}
NUMBERED = list(enumerate(FAULTS))


def broken(place: Path, name: str, fault: Fault) -> None:
    """The task that `vulcan task new` writes, and the fault in it."""
    write_task(name, "rank", place)
    for file, old, new in ((fault.file, fault.old, fault.new), *fault.also):
        path = place / f"{name}_task" / file
        if new is None:
            path.unlink()
            continue
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new) if old else new, encoding="utf-8")


@pytest.mark.parametrize(("number", "fault"), NUMBERED, ids=[str(fault) for fault in FAULTS])
def test_a_broken_promise_is_found(tmp_path: Path, number: int, fault: Fault) -> None:
    name = f"faulty_{number}"  # modules stay loaded
    broken(tmp_path / name, name, fault)
    (check,) = [check for check in CHECKS if check.name == fault.check]
    settings = {} if fault.check == "settings" else FEW
    with pytest.raises((CheckFailed, UserError)) as found:
        check.run(Subject(str(tmp_path / name), settings))
    assert fault.says in str(found.value)
    if isinstance(found.value, CheckFailed):
        assert found.value.remedy


def test_an_error_of_the_evaluator_is_told_with_its_place() -> None:
    def simulate() -> None:
        raise RuntimeError("boom")

    line = simulate.__code__.co_firstlineno + 1
    with pytest.raises(CheckFailed, match=rf"RuntimeError: boom \({Path(__file__).name}, line {line}\)"):
        Subject("cache_eviction", {}).calling("evaluate", simulate)


def test_every_check_is_broken_by_a_fault() -> None:
    assert {fault.check for fault in FAULTS} == {check.name for check in CHECKS}


def test_the_page_has_every_promise() -> None:
    rows = "".join(f"| {check.name} | {check.promise} |\n" for check in CHECKS)
    page = (ROOT / "docs" / "own-task.md").read_text(encoding="utf-8")
    assert f"| check | every task promises that |\n| --- | --- |\n{rows}" in page


def test_what_needs_a_failed_check_is_not_tried(tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.says == "none of the split 'validation'")
    broken(tmp_path / "halved", "halved", fault)
    findings = {finding.check: finding for finding in examine(Subject(str(tmp_path / "halved"), FEW))}
    assert findings["instances"].result == "failed"
    assert findings["prompts"].result == "passed"
    for name in ("baselines", "features", "sandbox"):
        assert (findings[name].result, findings[name].note) == ("not tried", "needs 'instances'")


def test_the_command_tells_what_to_mend(tmp_path: Path) -> None:
    turned = next(fault for fault in FAULTS if fault.says == "turn the objective's sign")
    broken(tmp_path / "turned", "turned", turned)
    command = ("task", "validate", f"{tmp_path}/turned", "--jobs", "25")
    vulcan = Console(tmp_path)
    told = vulcan(*command)
    assert told.returncode == 1
    assert told.stderr == ""
    assert "failed    objective" in told.stdout
    assert "fix: higher must be better: turn the objective's sign, or mend the bound" in told.stdout
    document = json.loads(vulcan(*command, "--json").stdout)
    assert not document["passed"]
    failed = [check for check in document["checks"] if check["result"] == "failed"]
    assert [check["check"] for check in failed] == ["objective"]
    assert "and the bound 'preemptive' only" in failed[0]["problem"]
    assert faults(document, "ValidateDocument") == []


@pytest.mark.parametrize("low_or_whole", ["high=10.0", 'type="int", low=0.0'])
def test_machine_code_is_watched_too(tmp_path: Path, low_or_whole: str) -> None:
    """A kernel's policies are called by address: a range that it leaves is seen all the same."""
    place = tmp_path / "narrow" / "task.py"
    place.parent.mkdir()
    feature = "elapsed_s" if "high" in low_or_whole else "price_ratio"
    place.write_text(
        "from dataclasses import replace\n"
        "from vulcan.registry import find_task\n"
        "whole = find_task('spot_single')\n"
        "def narrowed(argument):\n"
        f"    features = [replace(f, {low_or_whole}) if f.name == {feature!r} else f for f in argument.features]\n"
        "    return replace(argument, features=tuple(features))\n"
        "arguments = tuple(map(narrowed, whole.signature.arguments))\n"
        "TASK = replace(whole, signature=replace(whole.signature, arguments=arguments), events=())\n",
        encoding="utf-8",
    )
    settings = {"deadline": [52.0], "overhead": [0.2], "windows": 6}
    (features,) = [check for check in CHECKS if check.name == "features"]
    with pytest.raises(CheckFailed, match=rf"{feature} was .* looks at features"):
        features.run(Subject(str(place), settings))
    assert "looks" in features.run(Subject("spot_single", settings))
