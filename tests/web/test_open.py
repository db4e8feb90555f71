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
from click.testing import CliRunner
from tests.serving import PATIENCE_SECONDS, Served, serving
from tests.web.conftest import Browser

from cairn.operations.tokens import serve_token
from cairn.paths import write_private
from cairn.serve import open_page as opening
from cairn.serve.command import open_page


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
    for each in (link, opened("--print", served.addresses["page"])):
        assert enters(each)


@pytest.mark.usefixtures("bare_data_dir")
def test_announced_link_signs_in(tmp_path: Path) -> None:
    """The link is valid for ten minutes, so the server is a new one and not the one that the tests share."""
    folder = tmp_path / "alone"
    folder.mkdir()
    with serving(str(folder), "--no-lsp") as served:
        assert enters(served.addresses["link"])


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


BROWSER = """#!{python}
import os, re, sys, urllib.request
page = urllib.request.urlopen(sys.argv[1]).read().decode()
link = re.search('url=(http[^"]*)', page)[1]
file = sys.argv[1].removeprefix("file://")
modes = [oct(os.stat(each).st_mode & 0o777) for each in (file, os.path.dirname(file))]
with open({seen!r}, "w") as seen:
    print(*sys.argv, *modes, link, file=seen)
urllib.request.urlopen(link)
"""

no_scripts = pytest.mark.skipif(os.name == "nt", reason="the browser is a script")


def install_browser(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "browser"
    file.write_text(program)
    file.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(file))


@no_scripts
@pytest.mark.usefixtures("same_user")
def test_command_line_of_the_browser_does_not_contain_the_link(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    install_browser(BROWSER.format(python=sys.executable, seen=str(seen)), tmp_path, monkeypatch)
    assert opened(project) == ""
    _, address, *modes, link = seen.read_text().split()
    assert address.startswith("file:///")
    assert modes == ["0o600", "0o700"]
    assert not Path(address.removeprefix("file://")).exists()
    assert not enters(link), "the browser has used it"


@no_scripts
@pytest.mark.usefixtures("same_user")
def test_link_is_printed_if_the_browser_does_not_use_it(
    served: Served, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "USE_SECONDS", 0.5)
    abandoned = Path(served.addresses["tokenFile"]).parent / "links" / "abandoned.html"
    write_private(abandoned, "of a killed command")
    os.utime(abandoned, (0, 0))
    install_browser("#!/bin/sh\nexit 0\n", tmp_path, monkeypatch)
    shown = CliRunner().invoke(open_page, [str(project)])
    assert "No browser has opened this link" in shown.stderr
    assert enters(shown.stdout)
    assert not [*abandoned.parent.iterdir()]


@pytest.mark.skipif(sys.platform != "linux", reason="snaps are for Linux")
def test_browser_of_a_snap_gets_a_file_that_it_can_read(
    bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "xdg-settings"
    program.write_text("#!/bin/sh\necho firefox_firefox.desktop\n")
    program.chmod(0o700)
    for name, value in (
        ("PATH", f"{tmp_path}:{os.environ['PATH']}"),
        ("HOME", str(tmp_path)),
        ("BROWSER", ""),
    ):
        monkeypatch.setenv(name, value)
    with opening._page("http://127.0.0.1:1/ui/sign-in?code=a") as page:
        assert page.parent == bare_data_dir / "links"
    (tmp_path / "snap" / "firefox" / "common").mkdir(parents=True)
    with opening._page("http://127.0.0.1:1/ui/sign-in?code=a") as page:
        assert page.parent == tmp_path / "snap" / "firefox" / "common" / "cairn"
        assert page.stat().st_mode & 0o777 == 0o600
    assert not page.exists()


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
