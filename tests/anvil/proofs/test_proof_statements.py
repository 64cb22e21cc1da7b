"""How properties are declared, and what the search and the command line make of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from anvil_toy import TOY, returning
from typer.testing import CliRunner

from vulcan.anvil import check
from vulcan.anvil.proofs import check_properties, refuted_required, verify
from vulcan.cli.main import app
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.task import Property, Task

PARABOLA = returning("(item.whole - 5) ** 2")


def declaring(*properties: Property) -> Task:
    return replace(TOY, properties=properties)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "rising", "subject": "now"}, "its kind is one of"),
        ({"kind": "nondecreasing"}, "needs a subject"),
        ({"kind": "holds"}, "needs a claim"),
        ({"kind": "bounded"}, "a low, a high or both"),
        ({"kind": "bounded", "low": 2.0, "high": 1.0}, "not two finite numbers in order"),
        ({"kind": "bounded", "high": float("inf")}, "not two finite numbers in order"),
        ({"kind": "independent", "subject": "now", "claim": "result > 0"}, "takes no claim"),
        ({"kind": "bounded", "low": 0.0, "subject": "now"}, "takes no subject"),
    ],
)
def test_a_property_that_makes_no_sense_is_refused(fields, said) -> None:
    with pytest.raises(ValueError, match=said):
        Property("p", meaning="", **fields)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (Property("p", "nondecreasing", "", subject="item.colour"), "subject 'item.colour' is not a feature"),
        (Property("p", "holds", "", claim="result <= item.colour"), "`item.colour` is not declared"),
        (Property("p", "holds", "", claim="result <="), "claim 'result <='"),
        (Property("p", "bounded", "", low=0.0, when="result > 3"), "'result' is not defined"),
        (Property("p", "bounded", "", low=0.0, when="item.whole = 3"), "when 'item.whole = 3'"),
        (Property("p", "bounded", "", low=0.0, when="[1, 2]"), "is not in the language"),
    ],
)
def test_a_condition_that_is_none_names_task_and_property(declared: Property, said: str) -> None:
    with pytest.raises(UserError) as caught:
        check_properties(declaring(declared))
    assert said in str(caught.value) and "task 'toy', property 'p'" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError):
        verify(check(PARABOLA, declaring(declared)))


def test_only_required_properties_are_refuted_for_a_search_and_the_feedback_shows_the_numbers() -> None:
    rising = Property("more, no lower", "nondecreasing", "", subject="item.whole")
    assert refuted_required(check(PARABOLA, declaring(rising))) is None
    refutation = refuted_required(check(PARABOLA, declaring(replace(rising, required=True))))
    assert refutation is not None
    assert refutation.feedback.startswith(
        "property 'more, no lower' is broken (the result does not fall when item.whole grows, all else equal): "
    )
    low, high = (values["item.whole"] for values in refutation.verdict.counterexample.inputs)
    assert refutation.verdict.counterexample.results == ((low - 5) ** 2, (high - 5) ** 2)
    assert low < high and (low - 5) ** 2 > (high - 5) ** 2


def test_a_condition_that_no_input_fulfils_claims_nothing() -> None:
    (verdict,) = verify(check(PARABOLA, declaring(Property("p", "bounded", "", high=0.0, when="item.below > 0"))))
    assert verdict.outcome == "proved"


def test_a_chain_of_calls_and_choices_too_long_to_unfold_is_unknown_with_the_reason() -> None:
    body = "    t = item.signed\n    for i in range(1000):\n        t = t * 0.5 + 1\n    return t\n"
    source = "def rate(now, item, world, past):\n" + body
    (verdict,) = verify(check(source, declaring(Property("p", "bounded", "", low=-1e9, high=1e9))))
    assert verdict.outcome == "unknown" and "unfolded, it is a chain of more than" in verdict.reason


# The command line

RUNNER = CliRunner()
CACHE = find_task("cache_eviction")


def written(tmp_path: Path, expression: str) -> Path:
    path = tmp_path / "policy.py"
    path.write_text(f"def priority(now, obj, cache, ghost):\n    return {expression}\n", encoding="utf-8")
    return path


def test_a_policy_with_all_properties_is_proved_and_the_exit_code_is_0(tmp_path: Path) -> None:
    path = written(tmp_path, "obj.count + obj.last_access")
    result = RUNNER.invoke(app, ["verify", str(path), "--task", "cache_eviction", "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["policy"] == str(path) and document["task"] == "cache_eviction"
    assert [found["name"] for found in document["properties"]] == [
        declared.name for declared in CACHE.properties if declared.function in (None, CACHE.signature.function)
    ]
    for found in document["properties"]:
        assert (found["verdict"], found["arithmetic"], found["method"]) == ("proved", "exact float64", "certificate")
        assert found["counterexample"] is None


def test_a_refuted_property_shows_its_counterexample_and_the_exit_code_is_1(tmp_path: Path) -> None:
    path = written(tmp_path, "(obj.count - 5) ** 2")
    result = RUNNER.invoke(app, ["verify", str(path), "--task", "cache_eviction", "--json"])
    assert result.exit_code == 1
    (refuted,) = [f for f in json.loads(result.stdout)["properties"] if f["verdict"] == "refuted"]
    assert refuted["name"] == "more requests, no lower priority"
    at = {"obj.insertion": 0.0, "obj.last_access": 3.0, "now": 4.0}  # what the property's condition speaks of
    assert refuted["counterexample"] == {
        "inputs": [{"obj.count": 1.0, **at}, {"obj.count": 2.0, **at}], "results": [16.0, 9.0],
    }  # fmt: skip
    spoken = RUNNER.invoke(app, ["verify", str(path), "--task", "cache_eviction"])
    assert spoken.exit_code == 1
    assert "obj.count 1 gives 16, 2 gives 9" in spoken.stdout and "exact float64" in spoken.stdout


def test_an_unknown_required_property_has_exit_code_1(tmp_path: Path) -> None:
    """Without time only certificates are left; of a property that is not required unknown is no failure."""
    source = "import math\ndef priority(now, obj, cache, ghost):\n    return math.exp(cache.evicted_priority)\n"
    path = tmp_path / "policy.py"
    path.write_text(source, encoding="utf-8")
    task = tmp_path / "mine"
    task.mkdir()
    declared = "Property('up', 'nondecreasing', 'p', subject='cache.evicted_priority', required=REQUIRED)"
    text = (
        "from dataclasses import replace\nfrom vulcan.registry import find_task\nfrom vulcan.task import Property\n"
        f"TASK = replace(find_task('cache_eviction'), properties=({declared},))\n"
    )
    for required, code in (("True", 1), ("False", 0)):
        (task / "task.py").write_text(text.replace("REQUIRED", required), encoding="utf-8")
        result = RUNNER.invoke(app, ["verify", str(path), "--task", str(task), "--json", "--seconds", "2"])
        assert json.loads(result.stdout)["properties"][0]["verdict"] == "unknown", result.output
        assert result.exit_code == code


def test_deeply_nested_choices_end_in_a_verdict() -> None:
    lines = ["def rate(now, item, world, past):", "    x = item.signed"]
    for i in range(50):
        lines += [f"    if x > {i}:", f"        x = min(x * 0.5, {i}) + item.whole"]
    task = replace(
        declaring(Property("p", "nondecreasing", "", subject="item.whole", required=True)), operations=50_000
    )
    policy = check("\n".join([*lines, "    return x", ""]), task)
    (verdict,) = verify(policy, seconds=5.0)
    assert verdict.outcome in ("refuted", "unknown")
    assert (refuted_required(policy) is None) == (verdict.outcome == "unknown")


def test_a_rejected_policy_has_exit_code_1_and_its_violations(tmp_path: Path) -> None:
    path = written(tmp_path, "obj.colour")
    result = RUNNER.invoke(app, ["verify", str(path), "--task", "cache_eviction", "--json"])
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["accepted"] is False and document["violations"][0]["rule"] == "feature"
