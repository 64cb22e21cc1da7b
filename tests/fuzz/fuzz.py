"""Hands every reader, and the checker, what nobody should hand them: `python tests/fuzz/fuzz.py --minutes 10`.

Each target of `fuzz_targets` has so many minutes, in a process of its own with bounded memory, several side by side;
so have random policies, which every back end has to compute alike (`differential`).
What is found is written to a file as it was at once, and listed; then the exit code is 1. One seed gives one sequence
of inputs.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import resource
import signal
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "support"))

from fuzz_targets import TARGETS
from mutation import mutated

MEMORY = 2 << 30
"""Bytes of address space that a reader may take beside what the process has."""

SLOWEST = 20
"""Seconds that one input may take."""

MAX_FINDINGS = 20


class TooSlow(BaseException):
    """An input took longer than any should; nothing that catches errors catches this."""


@dataclass(frozen=True)
class Finding:
    target: str
    data: bytes
    what: str


def tried(name: str, data: bytes) -> Finding | None:
    """What is wrong with how a target takes these bytes; None where it takes them as it should."""
    target = TARGETS[name]
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(SLOWEST)
    try:
        target.read(data)
    except target.expected:
        return None
    except TooSlow:
        return Finding(name, data, f"more than {SLOWEST} s")
    except Exception:  # noqa: BLE001 (any other exception is what is looked for)
        return Finding(name, data, traceback.format_exc(limit=-3))
    finally:
        signal.alarm(0)
    return None


def _too_slow(_number: int, _frame: object) -> None:
    raise TooSlow


def warm_up(name: str) -> None:
    """Read the examples, in all the time it takes: some readers are compiled at their first use."""
    for data in TARGETS[name].examples:
        with contextlib.suppress(*TARGETS[name].expected):
            TARGETS[name].read(data)


def bound_memory() -> None:
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def place_of(at: Path, target: str, number: int | str) -> Path:
    return at / f"{target.replace(' ', '-')}-{number}"


def kept(at: Path, finding: Finding, number: int | str) -> None:
    """Write the input down as it was."""
    at.mkdir(parents=True, exist_ok=True)
    place_of(at, finding.target, number).write_bytes(finding.data)


def fuzzed(
    name: str, seconds: float, seed: int, most: int | None = None, at: Path | None = None
) -> tuple[int, list[Finding]]:
    """How many inputs a target was given, and what was found, of each exception once.

    Each finding is written to `at` as it is found; an input that ends the process is there as `last`.
    """
    rng = random.Random(f"{seed} {name}")
    target = TARGETS[name]
    findings: dict[str, Finding] = {}
    warm_up(name)
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until and len(findings) < MAX_FINDINGS and (most is None or count < most):
        data = mutated(target.examples, target.words, rng)
        if at is not None:
            kept(at, Finding(name, data, ""), "last")
        found = tried(name, data)
        count += 1
        if found is not None and (kind := found.what.strip().splitlines()[-1][:60]) not in findings:
            if at is not None:
                kept(at, found, len(findings))
            findings[kind] = found
    if at is not None:
        place_of(at, name, "last").unlink(missing_ok=True)
    return count, list(findings.values())


POLICIES = "policies in every back end"


def policies(seconds: float, seed: int, at: Path) -> tuple[int, list[Finding]]:
    """How many policies were tried, and on which of them back ends differ; these are written to `at`."""
    from differential import Difference
    from differential import fuzzed as tried_alike

    def noted(found: Difference, number: int) -> None:
        kept(at, Finding(POLICIES, found.source.encode(), found.what), number)

    batch = tried_alike(seconds, seed, note=noted)
    return batch.count, [Finding(POLICIES, found.source.encode(), found.what) for found in batch.found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="how many targets at a time")
    parser.add_argument("--only", help="the targets of which the name holds this")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where inputs are written to")
    options = parser.parse_args()
    names = [name for name in TARGETS if options.only is None or options.only in name]
    found: list[Finding] = []
    died = False
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context, initializer=bound_memory) as processes:
        seconds, seed, at = 60 * options.minutes, options.seed, options.findings
        running = {name: processes.submit(fuzzed, name, seconds, seed, None, at) for name in names}
        if options.only is None or options.only in POLICIES:
            running[POLICIES] = processes.submit(policies, seconds, seed, at)
        print(f"{'target':30} {'inputs':>10} {'found':>6}")
        for name, future in running.items():
            try:
                count, findings = future.result()
            except BrokenProcessPool:
                print(f"{name:30} its process, or one beside it, has died: see {at}/*-last", flush=True)
                died = True
                continue
            found += findings
            print(f"{name:30} {count:10,} {len(findings):6}", flush=True)
            for number, finding in enumerate(findings):
                print(f"\n{finding.target}: {place_of(at, name, number)}\n{finding.what}", flush=True)
    print(f"\n{'nothing was found' if not found else f'{len(found)} findings'}")
    return 1 if found or died else 0


if __name__ == "__main__":
    sys.exit(main())
