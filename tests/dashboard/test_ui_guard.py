"""Who is let in, and what every answer says of itself."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from edited_log import configured
from live import MARKUP, Server
from locations import recorded_run

from vulcan.dashboard.server import serve as serve_page

PAGES = (
    "/", "/runs/recorded", "/runs/recorded/candidates/60", "/runs/nothing", "/nothing",
)  # fmt: skip
SCRIPTS = ("run.js", "dom.js", "style.css")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., Server]) -> Server:
    directory = tmp_path_factory.mktemp("guarded")
    shutil.copytree(recorded_run(), directory / "runs" / "recorded")
    return serve(directory)


def stranger(server: Server) -> httpx.Client:
    return httpx.Client(base_url=server.home, trust_env=False)


def refused(answer: httpx.Response) -> str:
    """The one line with which something is refused."""
    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/plain")
    (line,) = answer.text.splitlines()
    return line


@pytest.mark.parametrize("path", [*PAGES, "/api/runs", "/api/runs/recorded", "/static/dom.js"])
def test_nobody_is_let_in_without_the_token(server: Server, path: str) -> None:
    with stranger(server) as client:
        assert "vulcan ui" in refused(client.get(path))
        for wrong in ("", "x", server.token[:-1], server.token + "x", "é"):
            assert "token is wrong" in refused(client.get(path, params={"token": wrong}))
        client.cookies.set("vulcan", server.token)
        assert refused(client.get(path))


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(server: Server) -> None:
    with stranger(server) as client:
        welcome = client.get("/runs/recorded", params={"token": server.token, "sort": "a&b"})
        cookie = welcome.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert server.token not in cookie
        assert server.token not in welcome.text
        assert 'content="0; url=/runs/recorded?sort=a%26b"' in welcome.text
        assert client.get("/runs/recorded").status_code == 200


def test_the_way_on_from_the_token_leads_nowhere_else(server: Server) -> None:
    with stranger(server) as client:
        for path in ("//evil.example/", "/\\evil.example", "/%22%3E%3Cimg%20src=x%3E"):
            text = client.get(server.home + path, params={"token": server.token}).text
            assert re.findall(r'url=(/[^/\\"<][^"<>]*|/)"', text), text
            assert "<img" not in text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.", "", "[::2]"]
)
def test_other_names_of_the_server_are_refused(server: Server, host: str) -> None:
    with server.client() as client:
        assert "127.0.0.1" in refused(client.get("/", headers={"host": host}))
        assert refused(client.get("/", params={"token": server.token}, headers={"host": host}))


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "LOCALHOST:1", "[::1]:99", "127.0.0.1"])
def test_it_may_be_reached_through_a_tunnel(server: Server, host: str) -> None:
    with server.client() as client:
        assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    with server.client() as client:
        for path in (*PAGES, "/api/runs", "/api/runs/recorded", "/api/runs/recorded/candidates", "/static/dom.js"):
            answer = client.request(method, path, content=b"{}", params={"token": server.token})
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", [*PAGES, "/api/runs", "/api/runs/nothing", *(f"/static/{name}" for name in SCRIPTS)])
def test_every_answer_allows_the_pages_own_files_alone(server: Server, path: str) -> None:
    with server.client() as client:
        answer = client.get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.findall(r"<script(?![^>]*src=)|<[^>]* (?:on\w+|style)=", answer.text)
    assert all(to.startswith(("/", "#")) for to in re.findall(r'<[^>]* (?:src|href)="([^"]*)"', answer.text))


@pytest.mark.parametrize("name", ["%2e%2e", "..%2f..", "recorded%2f..%2f..", "nothing", "a%00b"])
def test_runs_are_known_by_name_alone(server: Server, name: str) -> None:
    with server.client() as client:
        for address in (f"/runs/{name}", f"/api/runs/{name}", f"/api/runs/{name}/candidates"):
            assert client.get(address).status_code in (400, 404)
        assert client.get("/static/%2e%2e/pages.py").status_code == 404
        answer = client.get("/runs/" + MARKUP.replace("/", "-"))
        assert answer.status_code == 404
        assert "<img src=x" not in answer.text


def test_it_listens_to_this_machine_alone(server: Server) -> None:
    port = int(server.home.rpartition(":")[2])
    listening = [
        line.split()[1]
        for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
        for line in table.read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [f"0100007F:{port:04X}"]


def test_its_address_can_be_reached_as_soon_as_it_is_told(tmp_path: Path) -> None:
    class ReachedError(Exception):
        pass

    def reach(address: str) -> None:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)):
            raise ReachedError

    with pytest.raises(ReachedError):
        serve_page(tmp_path, None, 0, reach, browser=False)


def test_the_page_of_a_foreign_run_executes_nothing(tmp_path: Path, serve: Callable[..., Server]) -> None:
    run, mark = tmp_path / "runs" / "foreign", tmp_path / "ran"
    shutil.copytree(recorded_run(), run)
    (run / "pack").mkdir()
    (run / "pack" / "task.py").write_text(f"open({str(mark)!r}, 'a').write('ran')\nTASK = None\n")
    configured(run / "run.db", task=str(run / "pack"))
    with serve(tmp_path).client() as client:
        for path in ("", "/figures/behaviour", "/candidates/1", "/candidates/1/why"):
            answer = client.get(f"/api/runs/foreign{path}")
            assert answer.status_code != 500, path
            assert "Traceback" not in answer.text
    assert not mark.exists()
