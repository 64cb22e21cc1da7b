"""Whatever a reader or the checker is given, it is read or refused in a line; `make fuzz` tries for hours."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import examples
from fuzz import bound_memory, fuzzed, tried
from fuzz_targets import TARGETS, TRACES, requests_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutation import mutated

from vulcan_traces.readers import FORMATS

ALL = os.environ.get("VULCAN_FAULTS") == "all"
INPUTS, INPUTS_IF_COSTLY = (5000, 200) if ALL else (150, 12)


@pytest.fixture
def bounded() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    bound_memory()
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.faults
@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_refuses_what_it_cannot_read(name: str, bounded: None) -> None:
    count, findings = fuzzed(name, 600.0, seed=3, most=INPUTS_IF_COSTLY if TARGETS[name].costly else INPUTS)
    print(f"{count} inputs, and {len(findings)} findings")
    assert [(finding.what, finding.data) for finding in findings] == []
    assert count > 10


COUNTS = {
    # lines end in returns where no line feed is
    "txt": lambda data: sum(bool(line.strip()) for line in data.split(b"\n" if b"\n" in data else b"\r")),
    "oracleGeneral": lambda data: len(data) // 24,
    "be-u32": lambda data: len(data) // 4,
    "be-i64": lambda data: len(data) // 8,
}
"""What a few lines of Python count in formats that need no more."""


@pytest.mark.faults
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_read_has_as_many_requests_as_plain_python_counts(name: str) -> None:
    rng, read = random.Random(17), 0
    for _ in range(INPUTS):
        data = mutated(TRACES[name], (b"0", b"-1", b"\n", b"gamma"), rng)
        if (count := requests_of(name, data)) is not None:
            assert count == COUNTS[name](data), data
            read += 1
    assert read > 10


def test_every_format_of_traces_has_an_example() -> None:
    assert set(TRACES) == set(FORMATS)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "library"])  # which is several files
def test_some_example_of_each_is_good(name: str) -> None:
    """So that a reader is tried on what is nearly right, and not on noise alone."""
    good = 0
    for example in TARGETS[name].examples:
        try:
            TARGETS[name].read(example)
        except TARGETS[name].expected:
            continue
        good += 1
    assert good > 0


@pytest.mark.parametrize("name", ["policy", "exported policy", "reply", "configuration", "spot", "event"])
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(codec="utf-8"), max_size=300))
def test_a_reader_of_text_refuses_any_text(name: str, text: str) -> None:
    finding = tried(name, text.encode())
    assert finding is None, finding


@pytest.mark.parametrize("form", ["--short", pytest.param("--long", marks=pytest.mark.slow)])
def test_what_is_no_plain_file_is_refused_in_bounded_memory(form: str, tmp_path: Path) -> None:
    script = Path(__file__).with_name("hostile_files.py")
    done = subprocess.run([sys.executable, script, tmp_path, form], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_reader_that_fails_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The search for faults finds one that is put there: a reader that stumbles over a byte of 255."""
    from fuzz_targets import Target

    def read(data: bytes) -> None:
        if b"\xff" in data:
            raise LookupError("stumbled")

    monkeypatch.setitem(TARGETS, "faulty", Target(read, (b"some example",)))
    _, findings = fuzzed("faulty", 60.0, seed=1, most=500, at=tmp_path / "new")
    assert [finding.what.splitlines()[-1] for finding in findings] == ["LookupError: stumbled"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == {"faulty-0": findings[0].data}


def test_the_input_that_ends_the_process_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fuzz_targets import Target

    read: list[bytes] = []

    def die(data: bytes) -> None:
        read.append(data)
        if len(read) > 2:
            raise KeyboardInterrupt  # as a crash would, nothing after it runs

    monkeypatch.setitem(TARGETS, "deadly", Target(die, (b"some example",)))
    with pytest.raises(KeyboardInterrupt):
        fuzzed("deadly", 60.0, seed=1, at=tmp_path)
    assert (tmp_path / "deadly-last").read_bytes() == read[-1]
