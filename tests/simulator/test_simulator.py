"""The simulator kit: specs as JSON, sizes, plans, and what the base class has from three methods."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.simulator import Case, Simulator, kinds_of, measured_range, parse_size, sources, sparse
from vulcan.simulator.base import _code_of
from vulcan.simulator.spec import decode, encode
from vulcan.sizes import BYTES, TOKENS
from vulcan.task import Json, Metrics, Split


@dataclass(frozen=True)
class Room:
    path: str
    size: int
    parts: tuple[tuple[int, float], ...] = ()
    measure_from: int = 0
    measure_to: int = 100
    door: str | None = sparse(None)


@dataclass(frozen=True)
class Filled:
    taken: float

    @property
    def decisions(self) -> int:
        return int(self.taken)

    def metrics(self) -> Metrics:
        return {"taken": self.taken}


@dataclass
class Rooms(Simulator[Room, list[int], Filled]):
    loads: list[str] = field(default_factory=list)
    spec = Room
    known = kinds_of(["half", "most"], ["all"])
    caches_baselines = True
    least_window = 5
    unmeasured = ("path",)

    def __post_init__(self) -> None:
        super().__init__()

    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[Room]]:
        for path, part, share in sources(["a", "b"], {}, split):
            start, stop = measured_range(share, 100, path, "people")
            yield Case(path, part, Room(path, 8, measure_from=start, measure_to=stop))

    def load(self, spec: Room) -> list[int]:
        self.loads.append(spec.path)
        return list(range(100))

    def source(self, spec: Room) -> object:
        return spec.path

    def run(self, who: Policy | str, spec: Room, workload: list[int]) -> Filled:
        assert isinstance(who, str)
        return Filled({"half": 0.5, "most": 0.9, "all": 1.0}[who] * spec.size)


texts = st.text(max_size=8)
rooms = st.builds(
    Room,
    texts,
    st.integers(),
    st.lists(st.tuples(st.integers(), st.floats(allow_nan=False, allow_infinity=False))).map(tuple),
    door=st.none() | texts,
)


@given(rooms)
def test_a_spec_is_the_same_after_json(room: Room) -> None:
    plain = json.loads(json.dumps(encode(room)))
    assert plain == encode(room) and decode(Room, plain) == room
    assert list(plain) == [f.name for f in dataclasses.fields(Room) if f.name != "door" or room.door is not None]


@pytest.mark.parametrize(
    ("plain", "says"), [({"path": "a"}, "lacks size"), ({"path": "a", "size": 1, "hue": 2}, "hue")]
)
def test_json_of_another_spec_is_refused(plain: dict[str, Json], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode(Room, plain)


@dataclass(frozen=True)
class Stay:
    from_: int


def test_a_field_that_python_could_not_name_is_without_its_underscore() -> None:
    assert encode(Stay(3)) == {"from": 3} and decode(Stay, {"from": 3}) == Stay(3)


def test_instances_are_cut_along_time_and_workloads_loaded_once() -> None:
    simulator = Rooms()
    instances = simulator.instances({}, Split())
    assert [(i.name, i.split, i.parameters["measure_to"]) for i in instances[:3]] == [
        ("a", "train", 60), ("a", "validation", 80), ("a", "test", 100),
    ]  # fmt: skip
    simulator.prepare(instances)
    simulator.prepare(instances)
    assert simulator.loads == ["a", "b"]
    windows = simulator.windows(instances[1], 4)
    assert [simulator.spec_of(w).measure_from for w in windows] == [60, 65, 70, 75]
    assert {w.split for w in windows} == {"validation"}
    simulator.least_window = 6
    assert simulator.windows(instances[1], 4) == ()


WORKLOADS = {
    "cache_eviction": ("trace", "".join(f"{n},{n % 3},5\n" for n in range(20))),
    "congestion_control": ("link", "time_s,rate_mbps\n" + "".join(f"{n},{n + 1}\n" for n in range(20))),
    "load_balancing": ("trace", "time,duration\n" + "".join(f"{n},{1 + n % 5}\n" for n in range(600))),
    "request_scheduling": ("trace", "".join(
        f'{{"timestamp": {900 * n}, "input_length": 600, "output_length": 9, "hash_ids": [{n}]}}\n' for n in range(40)
    )),
    "spot_single": ("trace", json.dumps({"metadata": {"gap_seconds": 600}, "data": [0, 1, 1] * 400})),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKLOADS)
def test_files_of_one_name_are_told_apart_by_the_directories_that_differ(tmp_path: Path, name: str) -> None:
    setting, text = WORKLOADS[name]
    paths = [tmp_path / folder / "now.csv" for folder in ("a/x", "b/x", "c")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    task = find_task(name)
    evaluator = load_evaluator(task)

    def names(*chosen: Path) -> list[str]:
        settings = complete_settings(task, {setting: [str(path) for path in chosen]})
        return [instance.name for instance in evaluator.instances(settings, task.split)]

    alone = names(paths[0])
    assert all(one.startswith("now") for one in alone)
    assert sorted(names(*paths)) == sorted(f"{folder}/{one}" for folder in ("a/x", "b/x", "c") for one in alone)
    assert names(paths[0], paths[0]) == 2 * alone  # which a search refuses


def test_a_baseline_is_cached_by_what_it_depends_on() -> None:
    simulator, again = Rooms(), Rooms()
    first, *_ = simulator.instances({}, Split())
    assert simulator.evaluate_baseline("half", first) == {"taken": 4.0}
    assert again.evaluate_baseline("half", again.like(first, "elsewhere", path="z")) == {"taken": 4.0}
    assert again.loads == []
    assert again.best_baseline(first, lambda metrics: metrics["taken"]) == "most"


@pytest.mark.parametrize("name", ["vulcan_rooms", "rooms_of_another"])
def test_a_baseline_is_measured_again_by_changed_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "helper.py").write_text("SHARE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    digests = [_code_of(name), _code_of.__wrapped__(name)]
    (package / "helper.py").write_text("SHARE = 2\n")
    digests.append(_code_of.__wrapped__(name))
    assert digests[0] == digests[1] != digests[2]


def test_an_optional_method_is_offered_where_it_is_overridden() -> None:
    assert not Rooms().offers(Evaluator.findings)
    assert load_evaluator(find_task("load_balancing")).offers(Evaluator.findings)


@pytest.mark.parametrize(
    ("text", "size"), [("64MiB", 2**26), ("1.5k", 1536), ("7", 7), ("10%", 50), ("2obj", 20), (" 3 KB ", 3000)]
)
def test_sizes(text: str, size: float) -> None:
    assert parse_size(text, {**BYTES, "obj": 10}, "cache size", "bytes", whole=500) == size


def test_tokens_have_units_of_a_thousand() -> None:
    assert parse_size("1.2M", TOKENS, "cache size", "tokens") == 1_200_000


@pytest.mark.parametrize("text", ["", "x", "5%", "1obj", "-3", "0", "1e99", "9" * 20])
def test_what_is_no_size_is_one_line(text: str) -> None:
    with pytest.raises(UserError, match=r"^cache size '.*' (is|write)"):
        parse_size(text, BYTES, "cache size", "bytes (64MiB)")


def test_an_evaluator_that_lacks_a_method_is_one_line() -> None:
    task = dataclasses.replace(find_task("load_balancing"), evaluator="vulcan.simulator:Simulator")
    with pytest.raises(UserError, match="lacks cases, load, run"):
        load_evaluator(task)
    with pytest.raises(UserError, match="inherits from"):
        load_evaluator(dataclasses.replace(task, evaluator="vulcan.simulator:Case"))
