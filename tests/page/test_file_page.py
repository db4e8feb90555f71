"""A file in the browser: its lines, its outline, and the panel about a line."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.page.browsing import PHONE, wait_until
from tests.page.conftest import Opened
from tests.page.site import Site, answer_path, citations, search_path

PATH = "server/cairn/web/sessions.py"
CALLED = "server/cairn/web/addresses.py"
FUNCTION, CALLER = "sign_in_address", "server/cairn/web/authentication.py"


def file_path(path: str, lines: str = "") -> str:
    return f"/ui/file/{path}" + (f"?lines={lines}" if lines else "")


def lines_of(site: Site, path: str) -> list[str]:
    return (site.folder / path).read_text(encoding="utf-8").splitlines()


def line_with(site: Site, path: str, text: str) -> int:
    """Return the 1-based number of the first line with the text."""
    return next(n for n, line in enumerate(lines_of(site, path), 1) if text in line)


def marked(page: Page) -> list[int]:
    return [int(text) for text in page.locator("#code .line.marked .number").all_inner_texts()]


# --- the file ----------------------------------------------------------------------------------------


def test_lines_of_a_citation_are_marked_and_in_sight(opened: Opened) -> None:
    page = opened(file_path(PATH, "80-84"))
    assert marked(page) == [80, 81, 82, 83, 84]
    expect(page.locator("#L80")).to_be_in_viewport()


def test_citation_of_an_answer_opens_the_file_at_its_lines(opened: Opened) -> None:
    page = opened(answer_path("how does a one-time link begin a session of a browser"))
    expect(page.locator("#copy-prompt")).to_be_visible()
    citation = page.locator(".excerpt .citation").first
    path, first, last = re.fullmatch(r"(.+)#L(\d+)-L(\d+)", citations(page)[0]).groups()
    excerpt = page.locator(".excerpt").first.locator(".line code").all_text_contents()
    citation.click()
    expect(page.locator("#code")).to_be_visible()
    assert page.title().startswith(path)
    assert marked(page) == list(range(int(first), int(last) + 1))
    assert page.locator("#code .line.marked code").all_text_contents() == excerpt
    expect(page.locator(f"#L{first}")).to_be_in_viewport()


def test_result_of_a_search_opens_the_file_at_its_lines(opened: Opened) -> None:
    page = opened(search_path("SignedSessions begin"))
    page.locator(".row .title").first.click()
    expect(page.locator("#code")).to_be_visible()
    assert page.title().startswith(PATH)
    expect(page.locator("#code .line.marked").first).to_be_in_viewport()


def test_mouse_marks_lines_and_changes_the_address(opened: Opened) -> None:
    page = opened(file_path(PATH))
    page.locator("#L10").click()
    page.locator("#L13").click(modifiers=["Shift"])
    assert marked(page) == [10, 11, 12, 13]
    assert page.url.endswith("?lines=10-13")
    page.reload()
    assert marked(page) == [10, 11, 12, 13]


def test_keys_select_mark_and_copy_lines(opened: Opened) -> None:
    page = opened(file_path(PATH, "20"), permissions=["clipboard-read", "clipboard-write"])
    page.locator("#code").focus()
    for key in ("ArrowDown", "j", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert marked(page)[-1] == 23
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    assert marked(page) == [22]
    page.keyboard.press("c")
    wait_until(page, "text => navigator.clipboard.readText().then(found => found === text)", f"{PATH}:22")


def test_line_numbers_can_be_entered(opened: Opened) -> None:
    page = opened(file_path(PATH))
    page.get_by_label("Line", exact=True).fill("90-92")
    page.keyboard.press("Enter")
    assert marked(page) == [90, 91, 92]
    expect(page.locator("#L90")).to_be_in_viewport()


def test_file_opens_in_vs_code_at_the_line(opened: Opened, project: Site) -> None:
    page = opened(file_path(PATH, "80-84"))
    link = page.get_by_role("link", name="Open in VS Code")
    place = f"vscode://file{(project.folder / PATH).as_uri().removeprefix('file://')}"
    assert re.fullmatch(re.escape(place) + r":8\d", link.get_attribute("href"))
    page.locator("#L90").click()
    assert link.get_attribute("href") == f"{place}:90"


def test_folders_of_the_path_lead_to_a_search_in_them(opened: Opened) -> None:
    page = opened(file_path(PATH))
    page.get_by_role("heading", level=1).get_by_role("link", name="web").click()
    assert "path=server%2Fcairn%2Fweb" in page.url


# --- outline and panel -------------------------------------------------------------------------------


def test_outline_leads_to_each_definition(opened: Opened, project: Site) -> None:
    page = opened(file_path(PATH))
    outline = page.get_by_role("navigation", name="Outline")
    names = outline.get_by_role("link").all_inner_texts()
    assert any("SignedSessions" in name for name in names)
    outline.get_by_role("link").filter(has_text="MemorySessions").click()
    line = line_with(project, PATH, "class MemorySessions")
    assert marked(page) == [line]
    expect(page.locator(f"#L{line}")).to_be_in_viewport()
    expect(outline.locator("[aria-current]")).to_contain_text("MemorySessions")


def test_panel_shows_callers_and_callees_of_the_function(opened: Opened, project: Site) -> None:
    page = opened(file_path(CALLED))
    page.locator(f"#L{line_with(project, CALLED, f'def {FUNCTION}')}").click()
    panel = page.locator("#around")
    expect(panel.get_by_role("heading", name=re.compile("Called by"))).to_be_visible()
    expect(panel).to_contain_text(FUNCTION)
    caller = panel.locator(".at").filter(has_text=CALLER).first
    expect(caller).to_be_visible()
    expect(panel.get_by_role("heading", name=re.compile("^Calls"))).to_be_visible()
    # The function calls `address` of the same file.
    expect(panel.locator(".at").filter(has_text=CALLED).first).to_be_visible()
    caller.click()
    expect(page.locator("#code .line.marked").first).to_be_in_viewport()
    assert page.title().startswith(CALLER)
    assert FUNCTION in page.locator("#code .line.marked").first.inner_text()


def test_panel_follows_the_cursor(opened: Opened, project: Site) -> None:
    page = opened(file_path(PATH))
    heading = page.locator("#around h2")
    for name in ("class SignedSessions", "class MemorySessions"):
        page.locator(f"#L{line_with(project, PATH, name)}").click()
        expect(heading).to_contain_text(name.removeprefix("class "))


def test_file_page_is_usable_on_a_phone(opened: Opened, project: Site) -> None:
    page = opened(file_path(CALLED, str(line_with(project, CALLED, f"def {FUNCTION}"))), size=PHONE)
    expect(page.locator("#code .line.marked")).to_be_in_viewport()
    page.locator("#outline summary").tap()
    page.get_by_role("navigation", name="Outline").get_by_role("link").first.tap()
    expect(page.locator("#code .line.marked")).to_be_in_viewport()
    expect(page.locator("#around h2")).to_be_visible()
