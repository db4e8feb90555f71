"""The page of a file, from a real server over two folders, one of them with a git history."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from tests.harbour import HARBOUR, write_files
from tests.serving import Served
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign, html_of, indexed, signed_in

from cairn.web.addresses import file_address
from cairn.web.code_markup import MOST_COLOURED

BERTHS, SCHEDULE = "src/harbour/berths.py", "src/harbour/schedule.py"
HOSTILE_PATH = f'{HOSTILE}/"it\'s" #1?&.py'
HOSTILE_CODE = f"""def lighthouse_keeper():
    \"\"\"</code></div><script>alert(1)</script> {HOSTILE}\"\"\"
    return "{HOSTILE}"


def light():
    return lighthouse_keeper()  # <script>alert(2)</script>
"""
LARGE = "".join(f"quay_{n} = {n}\n" for n in range(MOST_COLOURED // 10))
SECRET = "hunter2-hunter2"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The harbour in a git repository, with hostile names, code and subjects, a large file and a secret."""
    more = {
        HOSTILE_PATH: HOSTILE_CODE,
        "src/harbour/quays.py": LARGE,
        ".env": f"PASSWORD={SECRET}\n",
        ".gitignore": "*.log\n",
        "dredging.log": "Left out.\n",
    }
    folder = write_files(tmp_path_factory.mktemp("files") / "harbour", HARBOUR | more)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    for arguments in (
        ("init", "-q"),
        ("add", "-A"),
        (*identity, "commit", "-qm", f"Begin {HOSTILE} & <script>alert(3)</script>"),
    ):
        subprocess.run(("git", "-C", str(folder), *arguments), check=True)
    return folder


@pytest.fixture(scope="module")
def other(project: Path) -> Path:
    """A second folder, which also has a README."""
    return write_files(project.parent / "other", {"README.md": "# Other\n\nAnother project altogether.\n"})


@pytest.fixture(scope="module")
def served(project: Path, other: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over both folders, which does not watch them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_INDEX__WATCH", "false")
        with indexed(tmp_path_factory.mktemp("files-data") / "data", project, other) as running:
            yield running


@pytest.fixture(scope="module")
def browser(served: Served) -> Browser:
    return signed_in(served)


def panel(browser: Browser, path: str, **values: str) -> str:
    return browser.fragment(file_address(path).replace("/ui/file/", "/ui/file-panel/"), **values)


def marked(page: str) -> list[int]:
    return [int(n) for n in re.findall(r'class="line marked"><a class="number" id="L(\d+)"', page)]


def texts(page: str, pattern: str) -> list[str]:
    return [unescape(re.sub("<[^>]+>", "", each)) for each in re.findall(pattern, page, re.S)]


def test_file_page_shows_every_line_with_its_number(browser: Browser) -> None:
    page = browser.page(file_address(BERTHS))
    assert texts(page, r"</a><code>(.*?)</code>") == HARBOUR[BERTHS].rstrip("\n").split("\n")
    link = r'<a class="number" id="L(\d+)" href="\?lines=(\d+)&amp;panel=1&amp;repository='
    assert re.findall(link, page) == [(str(n), str(n)) for n in range(1, 16)]
    assert '<span class="k">class</span>' in page


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("11-13", [11, 12, 13]),
        ("4", [4]),
        ("", []),
        ("13-11", [11, 12, 13]),
        ("x", []),
        ("0", []),
        ("-3", []),
        ("4-", []),
        ("99999999999", []),
        ("1\n", []),
    ],
)
def test_lines_in_the_address_are_marked(browser: Browser, lines: str, shown: list[int]) -> None:
    assert marked(browser.page(f"/ui/file/{BERTHS}", lines=lines, panel="1")) == shown


def test_lines_beyond_the_end_are_explained(browser: Browser) -> None:
    assert "there is no line 900" in browser.page(file_address(BERTHS, (900, 901)) + "&panel=1")


def test_outline_leads_to_each_definition(browser: Browser) -> None:
    page = browser.page(file_address(BERTHS))
    found = re.findall(r'<li class="d(\d)"><a href="\?lines=([\d-]+)&amp;[^"]*#L(\d+)"', page)
    assert found == [("0", "4-15", "4"), ("1", "7-9", "7"), ("1", "11-15", "11")]
    names = texts(page, r'<span class="sort[^>]*>.*?</span>(<span>.*?</span>)')
    assert names == ["Berth", "__init__", "moor_ship"]


def test_file_page_shows_facts_and_links(browser: Browser, project: Path) -> None:
    page = browser.page(file_address(BERTHS, (11, 11)))
    assert "15 lines" in page
    assert f"{len(HARBOUR[BERTHS]):,} bytes" in page
    assert 'data-copy="src/harbour/berths.py:11"' in page
    assert f'href="vscode://file{project.as_uri().removeprefix("file://")}/{BERTHS}:11"' in page
    assert "harbour-source" in page


def test_editor_link_is_missing_on_another_machine(browser: Browser) -> None:
    answer = browser.ask(file_address(BERTHS), headers={"Host": "code.example.org"})
    assert b"vscode:" not in answer.body


def test_panel_shows_callers_and_callees_of_the_definition(browser: Browser) -> None:
    part = panel(browser, SCHEDULE, line="9")
    assert "<html" not in part
    assert texts(part, "<h2>(.*?)</h2>") == ["function assign_berths"]
    calls = part.partition("Calls")[2]
    assert f'href="/ui/file/{BERTHS}?lines=11-15&amp;repository=' in calls
    assert "src/harbour/berths.py:11</a>" in calls
    assert "% sure</summary>" in calls
    used = panel(browser, BERTHS, line="12")
    assert texts(used, "<h2>(.*?)</h2>") == ["method Berth.moor_ship"]
    callers = used.partition("Called by")[2].partition("<h3>")[0]
    assert "tests/test_berths.py:6</a>" in callers
    assert "src/harbour/schedule.py:11</a>" in callers
    assert "moor_ship" in callers


def test_panel_shows_related_passages_without_callers(browser: Browser) -> None:
    part = panel(browser, BERTHS, line="4")
    callers = set(texts(part.partition("<h3>Related")[0], r'<a class="at"[^>]*>(.*?)</a>'))
    related = set(texts(part.partition("<h3>Related")[2], r'<a class="at"[^>]*>(.*?)</a>'))
    assert related
    assert not callers & related
    assert "<summary>Why</summary><ul> <li>" in part


def test_panel_shows_the_history_on_demand(browser: Browser) -> None:
    part = panel(browser, BERTHS, history="1")
    assert f"Begin {HOSTILE} & <script>alert(3)</script>" in texts(part, r"</time> <span>(.*?)</span>")
    assert "Imported by" in part
    assert f'href="/ui/file/{SCHEDULE}?repository=' in part
    assert "Commits" not in panel(browser, BERTHS, line="4")


def test_panel_of_a_missing_line_is_that_of_the_file(browser: Browser) -> None:
    assert "Choose a line" in panel(browser, BERTHS, line="900")


def test_page_without_script_contains_the_panel(browser: Browser) -> None:
    page = browser.page(f"/ui/file/{SCHEDULE}", lines="9", panel="1")
    assert "Called by" in page
    assert "Commits" in page
    assert "Choose a line" in browser.page(file_address(SCHEDULE, (9, 9)))


def test_panel_redirects_browsers_to_the_page(browser: Browser) -> None:
    answer = browser.ask(f"/ui/file-panel/{SCHEDULE}?line=9")
    assert answer.status == 303
    assert answer.headers["location"] == f"/ui/file/{SCHEDULE}?lines=9&panel=1"


def test_names_code_and_subjects_are_escaped(browser: Browser) -> None:
    for page in (
        browser.page(file_address(HOSTILE_PATH)),
        browser.page(f"{file_address(HOSTILE_PATH, (3, 3))}&panel=1"),
        panel(browser, HOSTILE_PATH, line="3", history="1"),
        browser.page(f"{file_address(BERTHS, (3, 3))}&panel=1"),
    ):
        assert_nothing_foreign(page)
    page = browser.page(f"{file_address(HOSTILE_PATH, (3, 3))}&panel=1")
    assert texts(page, r"</a><code>(.*?)</code>") == HOSTILE_CODE.rstrip("\n").split("\n")
    assert f"{HOSTILE_PATH}:7" in texts(page.partition("Called by")[2], r'<a class="at"[^>]*>(.*?)</a>')


def test_links_to_a_hostile_name_lead_to_it(browser: Browser) -> None:
    page = browser.page(f"{file_address(HOSTILE_PATH, (2, 2))}&panel=1")
    link = re.search(r'<a class="at" href="([^"]*)"', page.partition("Called by")[2])
    assert link
    assert marked(browser.page(unescape(link[1]))) == [7]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("src/harbour/nowhere.py", "There is no"),
        (".env", "such files are never shown"),
        ("dredging.log", "is left out of the index by the rule"),
        ("src/harbour", "is a directory"),
        ("../../etc/passwd", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        (f"{HOSTILE}<script>alert(9)</script>", "There is no"),
        ("a\0b", "is not a path"),
        ("", "cannot be shown"),
        ("\udcff.py", "There is no"),
    ],
)
def test_paths_without_a_file_are_explained(browser: Browser, path: str, says: str) -> None:
    answer = browser.ask(file_address(path))
    page = html_of(answer)
    assert answer.status == 404
    assert says in page
    assert SECRET not in page
    assert_nothing_foreign(page)
    refused = browser.ask(
        file_address(path).replace("/ui/file/", "/ui/file-panel/") + "?line=1",
        headers={"Cairn-Fragment": "1"},
    )
    assert refused.status in (400, 404)
    assert SECRET.encode() not in refused.body


def test_page_of_an_ambiguous_path_links_to_each_file(browser: Browser, project: Path, other: Path) -> None:
    answer = browser.ask(file_address("README.md", (3, 3)))
    assert answer.status == 404
    links = [unescape(each) for each in re.findall(r'<li><a href="([^"]*)"', html_of(answer))]
    assert links == [file_address("README.md", (3, 3), folder.as_uri()) for folder in (project, other)]
    assert "Another project" in browser.page(links[1])
    assert "Harbour is a small library" in browser.page(links[0])


def test_unusual_path_redirects_to_the_file(browser: Browser) -> None:
    answer = browser.ask("/ui/file/harbour/berths.py?lines=4")
    assert answer.status == 303
    assert answer.headers["location"] == file_address(BERTHS, (4, 4))


def test_large_file_is_shown_without_colours(browser: Browser) -> None:
    page = browser.page(file_address("src/harbour/quays.py"))
    assert "too large to show with colours" in page
    assert page.count('<div class="line">') == LARGE.count("\n")
    assert page.count('<div class="block">') == LARGE.count("\n") // 100
    assert "Outline" in page
    assert page.count("data-first=") == 1_000, "a longer outline is cut"
    assert "too large" not in browser.page(file_address(BERTHS))


def test_compressed_page_is_the_same(browser: Browser) -> None:
    address = file_address(BERTHS, (4, 4))
    answer = browser.ask(address, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == browser.ask(address).body


def test_changed_file_is_shown_in_its_current_version(browser: Browser, project: Path) -> None:
    place, text = project / "src/harbour/tides.py", HARBOUR["src/harbour/tides.py"]
    address = file_address("src/harbour/tides.py")
    assert "has changed since" not in browser.page(address)
    try:
        place.write_text(f"def low_water():\n    return 0\n\n\n{text}", encoding="utf-8")
        page = browser.page(address)
        assert "has changed since it was indexed" in page
        assert "low_water" in page
        assert "are not current" in panel(browser, "src/harbour/tides.py", line="9")
        place.unlink()
        assert "no longer exists" in browser.page(address)
    finally:
        place.write_text(text, encoding="utf-8")


def test_file_page_requires_a_session(served: Served) -> None:
    stranger = Browser(served)
    for path in (file_address(BERTHS), f"/ui/file-panel/{BERTHS}?line=4", file_address(".env")):
        answer = stranger.ask(path)
        assert answer.status == 401
        assert b"Berth" not in answer.body.replace(BERTHS.encode(), b"")
