"""`cairn open` finds a running server, or becomes one, and opens the page with a link that signs in."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.serving import PATIENCE_SECONDS, Served, serving, wait_for
from tests.web.conftest import Browser

from cairn.operations.tokens import serve_token


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "cairn", "open", *map(str, arguments)]


def opened(*arguments: str | Path, code: int = 0) -> str:
    """Run the command to its end and return its output, or its errors for another exit code."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


@contextmanager
def showing(*arguments: str | Path) -> Iterator[str]:
    """Run a command that serves the page itself, and yield the link that it prints."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Cairn shows file://")
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def enters(link: str) -> bool:
    """Return whether the link signs a browser in."""
    url, _, path = link.strip().partition("/ui/")
    port = int(url.rpartition(":")[2])
    browser = Browser(Served(None, {"url": f"http://127.0.0.1:{port}"}, ""))  # type: ignore[arg-type]
    return browser.ask(f"/ui/{path}").status == 303 and browser.ask("/ui/").status == 200


@pytest.fixture
def same_user(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command see the records and the token of the running server."""
    monkeypatch.setenv("CAIRN_DATA_DIR", str(Path(served.addresses["tokenFile"]).parent))


@pytest.mark.usefixtures("same_user")
def test_open_finds_the_server_of_the_folder(served: Served, project: Path) -> None:
    link = opened("--print", project)
    assert link.startswith(served.addresses["page"])
    for each in (link, opened("--print", served.addresses["page"]), served.addresses["link"]):
        assert enters(each)


def test_open_ignores_killed_server_and_takes_another_port(
    tmp_path: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "alone"
    folder.mkdir()
    with serving(str(folder), "--no-lsp") as killed:
        killed.process.kill()
        killed.process.wait()
        with socket.create_server(("127.0.0.1", killed.port)):
            monkeypatch.setenv("CAIRN_SERVE__PORT", str(killed.port))
            with showing("--print", folder) as link:
                assert enters(link)
                assert enters(opened("--print", folder)), "a second command finds the first one's server"


@pytest.mark.usefixtures("same_user")
@pytest.mark.skipif(os.name == "nt", reason="the browser is a shell script")
def test_open_starts_the_browser_with_the_link(
    served: Served, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    assert opened(project) == ""
    assert wait_for(lambda: seen.exists() and seen.read_text().strip())
    assert enters(seen.read_text())


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("no-such-folder", "is neither a directory nor the URL of a server"),
        ("http://127.0.0.1:9", "Is `cairn serve` running there?"),
        ("http://", "is not the URL of a server"),
        ("http://[", "is not the URL of a server"),
        ("https://cairn.example.org", "needs a token"),
    ],
)
def test_open_explains_wrong_places(bare_data_dir: Path, place: str, says: str) -> None:
    serve_token()
    assert says in opened("--print", place, code=1)
