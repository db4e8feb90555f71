"""Colours of texts that Pygments takes very long for: their time is limited, and ends with the request."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from itertools import islice

import psutil
import pytest
from tests.harbour import write_files
from tests.serving import Served, wait_for
from tests.web.conftest import indexed, signed_in
from tests.web.test_highlighting import plain

from cairn.web import highlighting
from cairn.web.code_markup import code_lines, streamed_lines
from cairn.web.highlighting import Highlighting

SLOW = {"make": "a" * 100_000, "ini": "a=" * 50_000, "markdown": "\n" * 100_000}
"""Texts by their languages, each of which takes 57 s or more without a limit. The second is slow in a single
match of a pattern."""
ENOUGH_SECONDS = 20.0
"""Much more processor time than the limits are, and much less than the texts take."""


def highlighters(process_id: int) -> dict[psutil.Process, float]:
    """Return the children of a process that make colours, with their processor time. Others are servers of
    other tests."""
    found = {}
    for process in psutil.Process(process_id).children():
        with contextlib.suppress(psutil.Error):
            if "cairn.web.highlighter" in " ".join(process.cmdline()):
                found[process] = process.cpu_times().user
    return found


def used_seconds() -> float:
    """Return the processor time of this process, and of its child processes that have ended."""
    highlighting.close()
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.mark.parametrize("language", SLOW)
def test_slow_text_is_shown_without_colours_in_time(language: str) -> None:
    text = f"x = <b>\n{SLOW[language]}\n"
    before = used_seconds()
    assert plain(code_lines(text, language, "a")) == text.removesuffix("\n").split("\n")
    assert used_seconds() - before < ENOUGH_SECONDS


def test_response_limits_the_time_of_its_texts_together() -> None:
    before = used_seconds()
    text = SLOW["make"][:19_000]
    Highlighting().run(lambda: [code_lines(f"{number}\n{text}", "make", "a") for number in range(50)])
    assert used_seconds() - before < ENOUGH_SECONDS


def test_text_has_colours_after_a_slow_one() -> None:
    code_lines(SLOW["ini"], "ini", "a")
    assert "<span" in code_lines("def f(): pass", "python", "a.py")[0]


def test_killed_highlighter_leaves_the_text_plain() -> None:
    text = "".join(f"def f{n}():\n    return 'a'\n" for n in range(4_000))
    lines = streamed_lines(text, "python", "a.py")
    first = list(islice(lines, 10))
    for process in highlighters(os.getpid()):
        process.kill()
    assert plain([*first, *lines]) == text.splitlines()


def test_stop_ends_colours_of_a_text_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highlighting, "RESPONSE_SECONDS", 2 * ENOUGH_SECONDS)
    colours = Highlighting()
    text = "x\n" + SLOW["make"]
    shown: list[str] = []
    thread = threading.Thread(target=lambda: shown.extend(colours.run(lambda: code_lines(text, "make", "b"))))
    highlighting.close()
    thread.start()
    wait_for(lambda: any(seconds > 0.3 for seconds in highlighters(os.getpid()).values()))
    colours.stop()
    thread.join()
    assert plain(shown) == text.split("\n")
    wait_for(lambda: not highlighters(os.getpid()), ENOUGH_SECONDS)
    assert colours.run(lambda: code_lines("def f(): pass", "python", "b.py")) == ["def f(): pass"]


# --- with a browser ---------------------------------------------------------------------------------------

PAGES = {"/ui/file/short.md": 15_000, "/ui/file/long.md": 25_000}
"""Pages with the numbers of blank lines in their files. The first file has its colours before the page is
sent, the second while it is sent."""
_START_SECONDS = 0.5
"""More processor time than the start of a process takes."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    files = {
        page.rpartition("/")[2]: "A pier\n" + "\n" * length + "A mole\n" for page, length in PAGES.items()
    }
    files |= {f"{name}.py": f"def pier(): return '{name}'\n" for name in files}
    project = write_files(tmp_path_factory.mktemp("slow") / "slow", files)
    with indexed(tmp_path_factory.mktemp("slow-data") / "data", project) as running:
        yield running


def busy_highlighter(
    served: Served, before: dict[psutil.Process, float]
) -> tuple[psutil.Process, float] | None:
    """Return a process that has worked for a while, and its processor time."""
    now = highlighters(served.process.pid).items()
    return next((each for each in now if each[1] > before.get(each[0], _START_SECONDS) + 0.2), None)


@pytest.mark.parametrize("page", PAGES)
def test_colours_end_when_the_browser_leaves(slow: Served, page: str) -> None:
    browser = signed_in(slow)
    assert '<span class="k">' in browser.page(f"{page}.py")  # A process is ready now.
    before = highlighters(slow.process.pid)
    request = [
        f"GET {page} HTTP/1.1",
        f"Host: 127.0.0.1:{slow.port}",
        f"Cookie: cairn_session_{slow.port}={browser.cookie}",
        "Sec-Fetch-Site: same-origin",
        "\r\n",
    ]
    with socket.create_connection(("127.0.0.1", slow.port)) as connection:
        connection.sendall("\r\n".join(request).encode())
        process, at_end = wait_for(lambda: busy_highlighter(slow, before))
    used = [at_end]

    def rests() -> bool:
        used.append(highlighters(slow.process.pid).get(process, 0))
        with contextlib.suppress(psutil.NoSuchProcess):
            return process.status() == psutil.STATUS_SLEEPING
        return True

    wait_for(rests)
    assert max(used) - at_end < 0.5
