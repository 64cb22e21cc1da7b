"""Pages of the site that do not lie in `docs/`, and links that hold in both places: a hook of mkdocs.

The README is the home page, and the papers of the project and of each task are pages too. Links in all of them, and in
`docs/`, are written as they hold in the repository. On the site a link to a page leads to that page, one to the store
of a recorded run to its report; one to any other file of the repository is shown as its path, for the site has no copy.

The reference of tasks, of Python and of JSON documents is made from code here, and lies nowhere in the repository.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

from json_page import document_pages, index_page
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from python_page import python_page
from run_reports import linked_stores, page_of, report_of
from task_pages import task_pages

ROOT = Path(__file__).resolve().parents[2]

PAPERS = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
}
"""Where files of the repository are on the site."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
NAMED_FILE = re.compile(r"^(`{3,})(\w+) (\S+)$", re.MULTILINE)
"""A block of code that is a whole file: its language, and its name."""


def elsewhere() -> dict[str, str]:
    """Every page that lies outside of `docs/`: its path in the repository, and on the site."""
    packs = {f"tasks/{path.parent.name}/README.md": f"tasks/{path.parent.name}.md"
             for path in sorted(ROOT.glob("tasks/*/README.md"))}  # fmt: skip
    return {**PAPERS, **packs}


@cache
def reference() -> dict[str, str]:
    """Every page that is made from code as the site is built: its path on it, and its text."""
    return {
        "json.md": index_page(linked=True),
        "reference/python.md": python_page(),
        **document_pages(),
        **task_pages(),
    }


def on_files(files: Files, config: Any) -> Files:
    for source, page in elsewhere().items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.remove(files.src_uris["json.md"])  # the repository's has no links to pages that are only here
    for page, text in reference().items():
        files.append(File.generated(config, page, content=text))
    for store in linked_stores():
        files.append(File.generated(config, page_of(store), content=report_of(store)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """What mkdocs is to render: links of the site, and names of files as titles."""
    place = page.file.src_uri
    sources = {site: source for source, site in elsewhere().items()}
    source = sources.get(place, f"docs/{place}")
    return NAMED_FILE.sub(r'\1\2 title="\3"', links_of_the_site(markdown, source, place))


def links_of_the_site(markdown: str, source: str, place: str) -> str:
    """The text with its links rewritten: it is `source` in the repository, and the page `place` on the site.

    Raises PluginError for a link to what the repository has not.
    """

    def rewritten(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        path, mark, anchor = target.partition("#")
        if re.match(r"\w+:", target) or not path:
            return match.group()
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        made = place in reference() and wanted.removeprefix("docs/") in reference()
        if not (made or (ROOT / wanted).exists()):
            raise PluginError(f"{source}: a link to {target}, and there is no {wanted}")
        page = elsewhere().get(wanted)
        if page is None and wanted.endswith(("/run.db", ".tar.xz")):
            page = page_of(wanted)
        if page is None and wanted.startswith("docs/"):
            page = wanted.removeprefix("docs/") + ("/README.md" if (ROOT / wanted).is_dir() else "")
        if page is None:
            return text if text.startswith("`") else f"{text} (`{wanted}`)"
        return f"{picture}[{text}]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{mark}{anchor})"

    return LINK.sub(rewritten, markdown)
