"""File systems, paths and files that SQLite cannot use as it does elsewhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from console import Console
from locations import few_starts

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import RunStarted, RunStopped
from vulcan.store.file import use_rollback_journal
from vulcan.store.runs import FILE

STARTED = RunStarted({"task": "x"}, "0")

NO_SHARED_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int refused(int flags, int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = file < 0 || !(flags & MAP_SHARED) ? 0 : readlink(link, path, sizeof path);
    return n > 4 && !memcmp(path + n - 4, "-shm", 4);
}
#define MAP(name) void *name(void *to, size_t size, int rights, int flags, int file, off_t from) { \
    void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, #name); \
    if (refused(flags, file)) { errno = ENODEV; return MAP_FAILED; } \
    return real(to, size, rights, flags, file, from); }
MAP(mmap)
MAP(mmap64)
"""

SEARCH = (
    "search", "--task", few_starts(), "--trace", "zipf:objects=200,requests=4000,alpha=1.0,seed=3",
    "--executor", "local", "--budget-candidates", "3", "--quiet",
)  # fmt: skip


@pytest.fixture(scope="module")
def no_shared_memory(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes that cannot map a `-shm` file, as on 9p."""
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-ldl"]
    subprocess.run(command, input=NO_SHARED_MEMORY, text=True, check=True)
    return {"LD_PRELOAD": str(library)}


def started(path: Path) -> Path:
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(STARTED)
    return path


def test_a_run_from_elsewhere_is_read_and_resumed_without_shared_memory(
    vulcan: Console, no_shared_memory: dict[str, str]
) -> None:
    vulcan.good(*SEARCH)
    assert "finished" in vulcan.good("show", "latest", **no_shared_memory).stdout
    vulcan.good("resume", "latest", **no_shared_memory)
    assert "finished" in vulcan.good("show", "latest").stdout


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_while_it_is_written_to_is_an_error(tmp_path: Path, replaced: bool) -> None:
    with closing(SQLiteStore(tmp_path / FILE, create=True)) as store:
        store.append(STARTED)
        (tmp_path / FILE).unlink()
        if replaced:
            (tmp_path / FILE).touch()
        with pytest.raises(UserError, match="was removed or replaced"):
            store.append(RunStopped("finished"))


def test_opening_a_run_deletes_no_file_that_its_journal_names(tmp_path: Path) -> None:
    """SQLite deletes the journal of several files that a rollback journal names, whatever that file is."""
    path, victim = started(tmp_path / FILE), tmp_path / "victim"
    use_rollback_journal(path)
    victim.write_text("mine")
    page = path.read_bytes()[:4096]
    name = os.fsencode(victim)
    nonce = 1
    checksum = nonce + sum(page[at] for at in range(4096 - 200, 0, -200))
    header = bytes.fromhex("d9d505f920a163d7") + b"".join(
        n.to_bytes(4, "big") for n in (1, nonce, path.stat().st_size // 4096, 512, 4096)
    )
    record = (1).to_bytes(4, "big") + page + checksum.to_bytes(4, "big")
    lock_page = (0x40000000 // 4096 + 1).to_bytes(4, "big")
    end = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    journal = header.ljust(512, b"\0") + record + lock_page + name + end
    path.with_name(f"{FILE}-journal").write_bytes(journal)
    with pytest.raises(UserError, match="names another file"):
        SQLiteStore(path)
    assert victim.exists()
    with closing(sqlite3.connect(path)) as db:  # the attack is real
        db.execute("SELECT * FROM events").fetchall()
    assert not victim.exists()
