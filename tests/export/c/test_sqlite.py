"""SQLite with an exported policy as its page cache: the same rows, and the misses that the simulator has.

These need gcc and SQLite's header (libsqlite3-dev), and are skipped without.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cache_formats import CASES as STATELESS

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan_cache.simulate import simulate

TASK = find_task("cache_eviction")
CHECKED = ("-fsanitize=undefined,address", "-fno-sanitize-recover")
HERE = Path(__file__).parent
if not Path("/usr/include/sqlite3.h").exists():
    pytest.skip("sqlite3.h is missing: apt-get install libsqlite3-dev", allow_module_level=True)

CASES = {
    **{name: STATELESS[name] for name in ("gdsf heap", "rich heap", "little heap")},
    "lhd": TASK.seed_policies()["lhd"],
}
MADE = """create table t(k integer primary key, v text); create index i on t(v)
with recursive n(i) as (values(0) union all select i + 1 from n where i < 3999)\
 insert into t select i, hex(i * 2654435761 % 4294967296) || hex(zeroblob(120)) from n
"""


def statements(seed: int, count: int, *, writes: bool) -> str:
    """Skewed look-ups, scans, and writes: taken back or not, of several pages, also at the file's end."""
    rng = np.random.default_rng(seed)
    made = []
    for number, key in enumerate((rng.zipf(1.2, count) * 2654435761 % 4000).tolist()):
        made.append(f"select v from t where k = {key}")
        if number % 17 == 0:
            made.append(f"select sum(length(v)) from t where k between {key} and {key + 60}")
        if number % 250 == 249:
            made.append("select count(*) from t where length(v) > 3")
        if writes and number % 40 == 0:
            end = "rollback" if number % 80 else "commit"
            made.append(f"begin; update t set v = v || '{number}' where k % 50 = {key % 50}; {end}")
        if writes and number % 300 == 0:
            made.append(f"begin; delete from t where k > 3900; {'rollback' if number % 600 else 'commit; vacuum'}")
    return "\n".join(made) + "\n"


@dataclass(frozen=True)
class Work:
    """What SQLite did: its own count of misses, a hash of the rows, and the pages it asked for, in order."""

    misses: int
    rows: str
    requests: list[int]


def built(folder: Path, source: str | None) -> Path:
    """Build the program with a policy, or with SQLite's own cache."""
    folder.mkdir()
    files = []
    if source is not None:
        for name, written in export_policy(check(source, TASK), "sqlite", Provenance("", "", "", "", "")).items():
            (folder / name).write_text(written)
        files = [str(folder / "sqlite_pages.c")]
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", *CHECKED, str(HERE / "sqlite_work.c"), *files]
    subprocess.run([*command, "-o", str(folder / "work"), "-lsqlite3", "-lm"], check=True)
    return folder / "work"


@functools.cache  # SQLite's own cache does the same work beside each policy
def worked(program: Path, pages: int, text: str) -> Work:
    """Run the statements on a new database."""
    names = [program.parent / name for name in ("work.db", "requests")]
    names[0].unlink(missing_ok=True)
    subprocess.run(["sqlite3", names[0]], input=MADE.replace("\n", ";\n"), text=True, check=True)
    done = subprocess.run(
        [program, names[0], str(pages), names[1]], input=text, text=True, capture_output=True, check=True
    )
    assert not done.stderr
    _, misses, rows = done.stdout.split()
    return Work(int(misses), rows, [int(line) for line in names[1].read_text().split()])


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("own") / "cache", None)


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_its_own_cache_and_misses_those_of_the_simulator(
    name: str, own: Path, tmp_path: Path
) -> None:
    program = built(tmp_path / "policy", CASES[name])
    for pages in (10, 60):
        text = statements(3, 400, writes=True)
        assert worked(program, pages, text).rows == worked(own, pages, text).rows
        text = statements(4, 1000, writes=False)
        done, theirs = worked(program, pages, text), worked(own, pages, text)
        objects = np.array(done.requests, np.uint32)
        missed = simulate(check(CASES[name], TASK), objects, np.ones(len(objects), np.int64), pages).misses
        print(f"{name}, {pages} pages: {done.misses:,} of {len(objects):,}; SQLite's own {theirs.misses:,}")
        assert done.misses == missed and done.rows == theirs.rows
