"""The page of a change, from a real server over a repository with changes and a folder without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR, write_files
from tests.serving import Answer, Served
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign, html_of, indexed, signed_in

from cairn.web.addresses import CHANGE, file_address

BERTHS, SCHEDULE = "src/harbour/berths.py", "src/harbour/schedule.py"
RENAMED = HARBOUR[BERTHS].replace("def moor_ship(self, ship)", "def tie_up(self, ship, rope)")
HOSTILE_PATH = f"{HOSTILE.replace('/', '')}.py"
MANY = 3_000
"""The number of hunks of a large diff."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """The harbour with a commit, a renamed method that is not committed, and a new file that is hostile."""
    made = GitRepository(tmp_path_factory.mktemp("change") / "harbour", HARBOUR)
    made.git("branch", "first")
    made.write({BERTHS: RENAMED, HOSTILE_PATH: f"def lure():\n    return '{HOSTILE}'\n"})
    return made


@pytest.fixture(scope="module")
def served(repository: GitRepository, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    other = write_files(repository.folder.parent / "other", {"lamp.py": "def kindle():\n    return 1\n"})
    with indexed(tmp_path_factory.mktemp("change-data") / "data", repository.folder, other) as running:
        yield running


@pytest.fixture(scope="module")
def browser(served: Served) -> Browser:
    return signed_in(served)


@pytest.fixture(scope="module")
def changed(browser: Browser) -> str:
    """The page of what is not committed."""
    return browser.page(CHANGE)


def pasted(browser: Browser, diff: str, **fields: str) -> Answer:
    return browser.ask(CHANGE, method="POST", body=urlencode({"diff": diff.replace("\n", "\r\n"), **fields}))


def diff_of(path: str, before: str, after: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n"


def long_file(length: int) -> str:
    """Return a diff that adds a file."""
    added = "".join(f"+quay_{n} = {n}\n" for n in range(length))
    return f"--- /dev/null\n+++ b/long.py\n@@ -0,0 +1,{length} @@\n{added}"


def lines(page: str, kind: str) -> list[str]:
    """Return the text of the lines of a kind: `added`, `removed` or "" for context."""
    found = re.findall(rf'<div class="line{f" {kind}" if kind else ""}">.*?<code>(.*?)</code>', page, re.S)
    return [unescape(re.sub("<[^>]+>", "", each)) for each in found]


def part(page: str, first: str, last: str = "</section>") -> str:
    """Return what is between two texts of a page."""
    return page.partition(first)[2].partition(last)[0]


# --- what is not committed -------------------------------------------------------------------------------


def test_diff_is_shown_with_context_and_colours(changed: str) -> None:
    berths = part(changed, f'href="{file_address(BERTHS)}?', "</details>")
    assert lines(berths, "removed") == ["    def moor_ship(self, ship):"]
    assert lines(berths, "added") == ["    def tie_up(self, ship, rope):"]
    assert lines(berths, "")[0] == "        self.length = length"
    assert '<span class="k">def</span>' in berths
    assert "<mark>moor_ship</mark>" in berths
    assert 'class="sizes"><span class="plus">+1</span>' in berths


def test_places_that_use_the_old_definition_are_first_and_marked(changed: str) -> None:
    call = 'href="/ui/file/src/harbour/schedule.py?lines=11&amp;repository='
    assert call in part(changed, "Still uses what changed")
    berths = part(changed, f'href="{file_address(BERTHS)}?', "</details>")
    belongs = part(berths, 'aria-label="What belongs to it"', "<h5")
    assert "Berth.tie_up" in belongs
    assert "Before: Berth.moor_ship" in belongs
    lists = re.findall(r"<h5.*?</h5>", berths)
    assert "Still uses the old one" in lists[0]
    assert call in part(berths, "Still uses the old one", "</ul>")


def test_prompt_can_be_copied(changed: str) -> None:
    assert 'data-copy-from="prompt"' in changed
    assert "moor_ship" in part(changed, '<pre id="prompt"', "</pre>")


def test_change_of_a_branch_is_compared_with_the_files(browser: Browser, changed: str) -> None:
    page = browser.page(CHANGE, base="first")
    assert lines(page, "added") == lines(changed, "added")
    assert "since first" in page


def test_unknown_base_is_an_error_with_the_form(browser: Browser) -> None:
    answer = browser.ask(f"{CHANGE}?base=no-such-branch")
    assert answer.status == 400
    page = html_of(answer)
    assert "no-such-branch" in part(page, 'role="alert">', "</p>")
    assert 'name="base" value="no-such-branch"' in page


def test_file_can_be_shown_alone(browser: Browser) -> None:
    page = browser.page(CHANGE, file=BERTHS)
    assert lines(page, "removed") == ["    def moor_ship(self, ship):"]
    assert "lure" not in "".join(lines(page, "added"))
    assert f'href="{CHANGE}">Show all files' in page
    assert "did not change" in browser.page(CHANGE, file="README.md")


def test_page_of_a_file_leads_to_its_changes(browser: Browser) -> None:
    page = browser.page(file_address(BERTHS))
    assert re.search(rf'href="{CHANGE}\?repository=[^"]*&amp;file=src%2Fharbour%2Fberths.py"', page)


def test_folder_is_chosen_by_its_name(browser: Browser, repository: GitRepository) -> None:
    page = browser.page(CHANGE, repository="harbour")
    assert lines(page, "added")
    uri = repository.folder.as_uri()
    assert f'<option value="{uri}"' in page
    assert browser.ask(f"{CHANGE}?repository=nowhere").status == 400
    assert "git" in html_of(browser.ask(f"{CHANGE}?repository=other"))


# --- a diff ----------------------------------------------------------------------------------------------


def test_pasted_diff_needs_no_repository(browser: Browser) -> None:
    diff = diff_of("lamp.py", "def kindle():", "def light():")
    answer = pasted(browser, diff, repository="other")
    page = html_of(answer)
    assert lines(page, "removed") == ["def kindle():"]
    assert lines(page, "added") == ["def light():"]
    assert "    return 1" in lines(page, ""), "the files have the state before the diff"
    assert f">\n{diff}</textarea>" in answer.body.decode()


def test_text_that_is_no_diff_is_an_error(browser: Browser) -> None:
    answer = pasted(browser, "Moor the ship.")
    assert answer.status == 400
    assert 'role="alert"' in html_of(answer)


def test_diff_that_does_not_fit_is_shown_without_context(browser: Browser) -> None:
    page = html_of(pasted(browser, diff_of(BERTHS, "no such line", "another line")))
    assert lines(page, "removed") == ["no such line"]
    assert lines(page, "") == []


def test_large_diff_is_limited_and_says_so(browser: Browser) -> None:
    hunks = "".join(f"@@ -{n}0 +{n}0 @@\n-pier_{n} = 1\n+pier_{n} = 2\n" for n in range(1, MANY))
    files = "".join(diff_of(f"quays/quay_{n}.py", "a = 1", "a = 2") for n in range(300))
    answer = pasted(browser, f"--- a/piers.py\n+++ b/piers.py\n{hunks}{files}")
    page = html_of(answer)
    assert len(answer.body) < 4_000_000
    assert "301 files" in page
    assert "not on this page" in page
    assert "2,899 more hunks of this file are left out" in page
    assert "changed lines are left out" in html_of(pasted(browser, long_file(MANY)))
    assert (
        '<button type="submit" class="quiet" form="diff-form" name="file" value="quays/quay_299.py">' in page
    )
    alone = html_of(pasted(browser, diff_of("a.py", "a", "b") + diff_of("b.py", "c", "d"), file="b.py"))
    assert lines(alone, "added") == ["d"]


def test_hostile_diff_is_text(browser: Browser) -> None:
    paths = (HOSTILE_PATH, 'a"><script>alert(1)</script>.py', "javascript:alert(1).md", "{{ 7 * 7 }}.py")
    for path in paths:
        diff = diff_of(path, f"</code></textarea><script>alert(1)</script>{HOSTILE}", f"'{HOSTILE}'")
        page = html_of(pasted(browser, diff))
        assert_nothing_foreign(page)
        assert f"'{HOSTILE}'" in lines(page, "added")
        assert unescape(page).count(path) > 1


def test_hostile_repository_is_text(browser: Browser, changed: str) -> None:
    assert_nothing_foreign(changed)
    assert f"    return '{HOSTILE}'" in lines(changed, "added")
    for name in ("base", "file", "repository", "staged"):
        answer = browser.ask(f"{CHANGE}?{urlencode({name: HOSTILE})}")
        assert answer.status in (200, 400)
        assert_nothing_foreign(html_of(answer))


def test_other_origins_may_not_send_a_diff(browser: Browser) -> None:
    body = urlencode({"diff": diff_of("a.py", "a", "b")})
    answer = browser.ask(CHANGE, method="POST", body=body, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403


def test_too_large_diff_is_refused(browser: Browser) -> None:
    answer = browser.ask(CHANGE, method="POST", body="diff=" + "a" * 17_000_000)
    assert answer.status == 413
    assert "16,000,000 bytes" in html_of(answer)
