"""Every command of the documentation runs, page by page, in a directory of the page's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from docs_pages import Block, Page, pages
from docs_shell import Shell, prepare
from effort import slow

PAGES = pages()
AT_COMMIT = ("README.md", "docs/how-to/resume-and-repair.md", "tasks/cache_program/README.md")
"""Pages that are followed at each commit; commands of all of them are parsed by test_docs_mentions.py."""


def to_follow(page: Page, slow: bool) -> list[Block]:
    """What is done with a page's blocks: commands run, files written, and Python with no file name run."""
    if (page.slow and not slow) or any(need.startswith("run by ") for need in page.needs):
        return []
    blocks = [block for block in page.blocks if block.reason is None and (slow or not block.slow)]
    kinds = ("python",) if not page.generated else ()
    return [block for block in blocks if block.is_commands or block.file or block.language in kinds]


def cases() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        if any(block.is_commands for block in to_follow(page, slow=False)):
            mark = () if page.name in AT_COMMIT else (pytest.mark.slow,)
            found.append(pytest.param(page, False, id=page.name, marks=mark))
        if any(block.is_commands and (page.slow or block.slow) for block in to_follow(page, slow=True)):
            found.append(slow(page, True, id=f"{page.name}, all of it"))
    return found


@pytest.mark.parametrize(("read", "slow"), cases())
def test_a_page_can_be_followed(read: Page, slow: bool, tmp_path: Path, finished_run: Iterator[Path]) -> None:
    shell = Shell(tmp_path)
    with ExitStack() as stack:
        prepare(shell, read.needs, finished_run, stack)
        for block in to_follow(read, slow):
            shell.follow(block, read.name)


REASONS = {
    "it installs what is fetched from the network",
    "it calls a provider and costs money",
    "it needs root and this host's kernel; tests/evaluators/vulcan_link/linux runs it where both are there",
    "it serves until it is interrupted; tests/dashboard starts it in every test",
    "it is about a log of the reader's own",
    "it names members of a library of the reader's own",
    "it needs memory events of the processor, and DAMON",
    "it writes into the reader's own start-up files",
    "it is a test suite or a benchmark, run by itself",
    "it needs traces that are not in the repository",
    "it starts a server with a model",
    "it needs a deployment of the reader's own",
}
"""Why blocks are not run: no other reason is accepted."""


def test_each_block_that_is_not_run_has_a_known_reason() -> None:
    reasons = {block.reason for page in PAGES for block in page.blocks if block.reason is not None}
    assert reasons == REASONS


def test_no_command_hides_in_a_block_of_text() -> None:
    hidden = [
        f"{page.name}:{block.line}"
        for page in PAGES
        if not page.generated
        for block in page.blocks
        if block.language not in ("sh", "console") and block.text.lstrip().startswith(("vulcan ", "$ vulcan "))
    ]
    hidden += [
        f"{page.name}: {line.strip()}"
        for page in PAGES
        for line in page.text.splitlines()
        if line.startswith(("    vulcan ", "    $ vulcan ")) and not any(line.strip() in b.text for b in page.blocks)
    ]
    assert hidden == []
