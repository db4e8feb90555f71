"""Texts that try to control the terminal, through commands on real terminals.

`benchmarks/hostile_terminal.py` sends thousands through every command.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hostile_texts import (
    ATTACKS,
    HostileFile,
    foreign_controls,
    hostile_server,
    hostile_texts,
    run_on_terminals,
    write_repository,
)
from rich.style import Style
from rich.text import Text

from cairn.cli import console
from cairn.cli.output import print_error, to_stderr
from cairn.errors import CairnError
from cairn.startup.streams import guard_streams
from tests.serving import serving, wait_for

from .command_line import run_cairn
from .shared import environment_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
TEXTS = hostile_texts(2 * len(ATTACKS))
LINK = "file:///harbour/"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "lighthouse"


@pytest.fixture(scope="module")
def file(root: Path) -> Iterator[HostileFile]:
    """A file of an indexed repository of hostile texts, and the environment of its index."""
    files = write_repository(root, TEXTS)
    with environment_of(root):
        run_cairn("index", "-q", str(root))
        yield files[1]


def check(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command on terminals, and return what it wrote there, which controls neither of them."""
    shown = run_on_terminals(command, cwd, environment)
    assert shown.problems(cwd) == []
    assert shown.code in (0, 1, 2)
    return shown.stdout + shown.stderr


def test_commands_that_open_the_index_do_not_control_the_terminal(root: Path, file: HostileFile) -> None:
    assert "\ufffd" in check("search", file.word, cwd=root)
    with hostile_server(TEXTS) as url:
        shown = check("status", cwd=root, CAIRN_TEAM__URL=url, CAIRN_TEAM_TOKEN="t")
    assert "refused: " in shown


def test_commands_that_ask_a_running_engine_do_not_control_the_terminal(
    root: Path, file: HostileFile
) -> None:
    with serving(str(root)) as server:
        wait_for(lambda: server.ask("/readyz").status == 200)
        for option in ("--max-tokens", "9000"), ("--json",):
            assert "\ufffd" in check("search", file.word, *option, cwd=root)
        assert "\ufffd" in check("page", file.path, cwd=root)
        copy = run_cairn("page", file.path, cwd=root).stdout.split("\n")[1:]
        text = (root / file.path).read_text().split("\n")
        # A pipe gets exact copies of the lines.
        assert copy == [*(f"{number}:{line}" for number, line in enumerate(text[:-1], 1)), ""]


def test_names_that_could_control_the_terminal_are_not_completed(root: Path, file: HostileFile) -> None:
    line = f"cairn search x -C {root} --in {file.word}/"
    asked = {"_CAIRN_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": "6"}
    (root / file.word / "plain.py").write_text("")
    offered = check(cwd=root, **asked).splitlines()
    assert f"plain,{file.word}/plain.py" in offered
    assert len(offered) < len(TEXTS) // 8
    assert "\ufffd" not in "".join(offered)


@contextmanager
def terminals(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Make a terminal of the streams of this process. Yield a function that returns what was written."""
    import pty

    ours, theirs = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # This is the end of a terminal on Linux.
            while part := os.read(ours, 65_536):
                written.append(part)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    stream = os.fdopen(theirs, "w", encoding="utf-8")
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    guard_streams()

    def output() -> str:
        stream.close()
        reader.join()
        os.close(ours)
        return b"".join(written).decode()

    yield output


def test_no_way_to_print_lets_control_characters_through(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[Callable[[str], object]] = [
        print,
        console.write_exactly,
        to_stderr,
        console.warn,
        lambda text: console.write(f"[bold]{console.escape(text)}[/] {console.link(LINK + 'a', text)}"),
        lambda text: console.write(console.link(f"{LINK}{text}", "berth")),
        lambda text: console.write(Text("berth", style=Style(link=text))),
        lambda text: print_error(CairnError(text), ["--json"]),
        lambda text: logging.StreamHandler(sys.stderr).handle(
            logging.LogRecord("cairn", logging.ERROR, "", 0, "%s", (text,), None)
        ),
        lambda text: sys.excepthook(ValueError, ValueError(text), None),
    ]
    with terminals(monkeypatch) as output:
        for way in ways:
            for text in hostile_texts(500):
                way(text)
        with console.waiting("Waiting …"):
            for text in ATTACKS:
                to_stderr(text)
        shown = output()
    assert shown.count("\ufffd") > 500 * len(ways)
    assert [each for each in foreign_controls(shown, LINK, draws_progress=True) if LINK not in each] == []
