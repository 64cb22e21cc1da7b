"""A search for what a format can carry: other policies are rejected before they are scored, with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export import Provenance, hidden_by
from vulcan.export.formats import export_policy
from vulcan.export.pack_formats import pack_formats
from vulcan.generator.proposer import OfflineEvolve
from vulcan.models.base import Request
from vulcan.registry import find_task, known_tasks
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.prompts import Draft, Prompts
from vulcan.searches.reply import parse_source
from vulcan.searches.target import check_target, seeds_of

CONGESTION = find_task("congestion_control")
WINDOWS = """
def cwnd(state, window):
    if state.cause != 0:
        return max(state.cwnd_packets / 2, 2)
    slow = window.avg_rtt_us.window_percentile(1, {length}) + state.rtt_us.window_percentile(1, {length})
    return min(state.cwnd_packets + state.acked_packets / max(slow, 1), 65535)
"""


def test_what_the_format_cannot_carry_is_rejected_with_the_reason() -> None:
    small, large = (WINDOWS.replace("{length}", str(length)) for length in (20, 200))
    for source in (small, large):
        assert parse_source(source, CONGESTION).policy is not None
    assert parse_source(small, CONGESTION, "bpf").policy is not None
    found = parse_source(large, CONGESTION, "bpf")
    assert (found.policy, found.rules) == (None, ("target",))
    assert found.feedback.startswith("- [target] it cannot be exported as bpf: ")
    assert "over the 4,096 that are kept of each" in found.feedback


def test_a_search_begins_with_what_the_format_carries() -> None:
    assert seeds_of(CONGESTION, "bpf") == seeds_of(CONGESTION, None)
    balancing = find_task("load_balancing")
    assert seeds_of(balancing, "c") == balancing.seed_policies()
    assert seeds_of(balancing, "bpf") == {}
    config = SearchConfig(task="load_balancing", settings=complete_settings(balancing, {}), objective="tail")
    check_target(balancing, config)
    with pytest.raises(UserError, match="bpf carries no policy of task 'load_balancing' to begin with"):
        check_target(balancing, replace(config, target="bpf"))
    assert config.to_json()["target"] is None
    assert SearchConfig.from_json(replace(config, target="c").to_json()).target == "c"


OWN = [(name, file) for name in known_tasks() for file in sorted(find_task(name).directory.glob("policies/*/*.py"))]


@pytest.mark.parametrize(("name", "file"), OWN, ids=lambda value: getattr(value, "stem", value))
def test_a_search_for_a_format_begins_with_what_the_pack_has_for_it_too(name: str, file: Path) -> None:
    assert seeds_of(find_task(name), file.parent.name)[file.stem] == file.read_text()
    assert file.stem not in seeds_of(find_task(name), None)


HIDING = [
    (name, format) for name in known_tasks() for format, each in pack_formats(find_task(name)).items() if each.hides
]


@pytest.mark.parametrize(("name", "format"), HIDING)
def test_a_search_shows_nothing_that_its_target_hides(name: str, format: str) -> None:
    task = find_task(name)
    settings = complete_settings(task, {})
    config = SearchConfig(task=name, settings=settings, objective=task.objectives[0].name, target=format)
    hidden = hidden_by(task, format)
    offered = config.offered(task)
    whole, shown = (
        {name for name, _ in each.whole_interface.features()} | {of.function for of in (*each.events, *each.others)}
        for each in (task, offered)
    )
    assert set(hidden) == whole - shown
    prompt = Prompts(offered, task.objectives[0], settings).propose(Draft(1, "initial", ()))
    functions = {other.function for other in task.others}
    assert not [each for each in hidden if (f"def {each}(" if each in functions else f"`{each}`") in prompt]
    generator = OfflineEvolve(offered)
    for number in range(1, 30):
        source = generator.propose(Request(number, 0, (), (), 1)).text.split("```python\n")[1].removesuffix("```\n")
        assert not check(source, task).plan.read & set(hidden)
    check_target(offered, config)
    for source in seeds_of(offered, format).values():
        assert parse_source(source, offered, format).policy is not None
    names = [argument.name for argument in task.signature.arguments]
    feature = next((each for each in hidden if each.split(".")[0] in names), None)
    if feature is None:
        return
    mechanisms = pack_formats(task)[format].mechanisms
    line = f'MECHANISM = "{mechanisms[0]}"\n' if mechanisms and len(task.mechanisms) > 1 else ""
    uses = check(f"{line}def {task.signature.function}({', '.join(names)}):\n    return 1.0 * {feature}\n", task)
    with pytest.raises(UserError, match=f"the policy uses {feature}, which "):
        export_policy(uses, format, Provenance(name, "", "", "", ""))
