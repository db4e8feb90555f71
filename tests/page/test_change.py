"""A change in the browser: its diff, what belongs to a hunk, commands and the prompt to copy, and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.page import hostile_repository as hostile
from tests.page.browsing import SCHEMES, Browsing, grave_violations, overhang, wait_until
from tests.page.conftest import Opened
from tests.page.site import AFTER, BEFORE, CHANGED, Site, harbour_site

CALLER = "server/cairn/web/views/search_page.py"
HUNKS = 2_000


@pytest.fixture(scope="module")
def quay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A small project without git."""
    with harbour_site(tmp_path_factory.mktemp("quay")) as served:
        yield served


def paste(page: Page, diff: str) -> None:
    """Send a diff with the page's form."""
    form = page.locator("details.ask-change")
    if form.get_attribute("open") is None:
        form.locator("summary").click()
    # A browser pastes a long text at once, but Playwright takes minutes to type it.
    page.get_by_label("Unified diff").evaluate("(each, text) => { each.value = text; }", diff)
    page.get_by_role("button", name="Show the diff").click()


def diff_of(path: str, before: str, after: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n"


def test_change_is_reached_from_every_page_and_from_a_file(opened: Opened) -> None:
    page = opened()
    page.get_by_role("link", name="Change").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What changed since the last commit")
    expect(page.locator("nav [aria-current=page]")).to_have_text("Change")
    page.goto(page.url.replace("/ui/change", f"/ui/file/{CHANGED}"))
    page.get_by_role("link", name="Changes").click()
    expect(page.locator(".file h2")).to_contain_text(CHANGED)


def test_colours_of_a_diff_differ_in_both_themes(opened: Opened) -> None:
    page = opened("/ui/change")
    removed, added = page.locator(".line.removed"), page.locator(".line.added")
    expect(removed.locator("code")).to_contain_text(BEFORE)
    expect(added.locator("code")).to_contain_text(AFTER)
    expect(added.locator("mark").first).to_have_text("chips_of")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        colours = page.evaluate(
            """() => [".line.removed", ".line.added", ".line:not(.added, .removed)"].map(
                each => getComputedStyle(document.querySelector(`.diff ${each}`)).backgroundColor)"""
        )
        assert len(set(colours)) == 3
    page.emulate_media(color_scheme="light")


def test_stale_use_leads_to_its_line(opened: Opened, project: Site) -> None:
    page = opened("/ui/change")
    beside = page.locator(".hunk .beside")
    expect(beside.locator("h5").first).to_contain_text("Still uses the old one")
    use = beside.get_by_role("link", name=f"{CALLER}:").first
    path, _, line = use.inner_text().rpartition(":")
    assert "chosen" in (project.folder / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert page.locator(".stale-uses li").count() >= 2
    use.click()
    expect(page.locator("#code .line.marked")).to_contain_text("chosen")


def test_prompt_and_commands_are_copied(opened: Opened, project: Site) -> None:
    page = opened("/ui/change", permissions=["clipboard-read", "clipboard-write"])
    answer = project.served.call("change", {"limit": 30})
    page.get_by_role("button", name="Copy review prompt").click()
    expect(page.locator("#copy-prompt")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == answer["prompt"]
    for number, each in enumerate(answer["commands"], 1):
        page.get_by_role("button", name=f"Copy the command {number}").click()
        wait_until(
            page, "text => navigator.clipboard.readText().then(found => found === text)", each["command"]
        )


def test_keys_move_from_hunk_to_hunk_and_unfold_files(browsing: Browsing, quay: Site) -> None:
    context = browsing.context()
    quay.sign_in(context)
    page = quay.open(context, "/ui/change")
    paste(page, "".join(diff_of(f"{name}.py", "a = 1", "a = 2") for name in "abc"))
    expect(page.locator(".hunk")).to_have_count(3)
    page.locator(".file details").nth(1).evaluate("each => { each.open = false; }")
    seen = []
    for key in ("j", "j", "j", "j", "k"):
        page.keyboard.press(key)
        seen.append(page.evaluate("document.activeElement.closest('.hunk').id"))
    assert seen == ["f1-1", "f2-1", "f3-1", "f3-1", "f2-1"]
    expect(page.locator("#f2-1")).to_be_in_viewport()
    page.locator("#diff").evaluate("each => { each.closest('details').open = true; each.focus(); }")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "diff"


def test_large_diff_stays_usable(browsing: Browsing, quay: Site) -> None:
    context = browsing.context()
    quay.sign_in(context)
    page = quay.open(context, "/ui/change")
    hunks = "".join(f"@@ -{n}0 +{n}0 @@\n-pier_{n} = 1\n+pier_{n} = 2\n" for n in range(1, HUNKS))
    files = "".join(diff_of(f"quays/quay_{n}.py", "a = 1", "a = 2") for n in range(300))
    paste(page, f"--- a/piers.py\n+++ b/piers.py\n{hunks}{files}")
    expect(page.locator(".remark").filter(has_text="not on this page")).to_be_visible()
    assert page.locator(".diff .line").count() < 5_000
    assert overhang(page) == 0
    page.locator("details.every > summary", has_text="Files").click()
    page.get_by_role("button", name="quays/quay_299.py").click()
    expect(page.locator(".file h2")).to_contain_text("quays/quay_299.py")
    expect(page.locator(".line.added code")).to_have_text("a = 2")


def test_hostile_diff_is_text(browsing: Browsing, quay: Site) -> None:
    context = browsing.context()
    quay.sign_in(context)
    page = quay.open(context, "/ui/change")
    for path in (hostile.CODE_FILE, hostile.ADDRESS_FILE, hostile.QUOTED):
        paste(page, diff_of(path, hostile.SCRIPT, hostile.IMAGE + "</textarea>" + hostile.TEMPLATE))
        expect(page.locator(".file h2")).to_contain_text(path.partition("/")[0])
        expect(page.locator(".line.added code")).to_have_text(
            hostile.IMAGE + "</textarea>" + hostile.TEMPLATE
        )
        assert page.locator("main img, main script, main iframe, main [onfocus]").count() == 0


def test_unknown_base_is_explained_accessibly(opened: Opened, browsing: Browsing) -> None:
    browsing.faults.expect("400")
    page = opened("/ui/change?base=no-such-branch")
    expect(page.get_by_role("alert")).to_contain_text("no-such-branch")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == []
    page.emulate_media(color_scheme="light")
    page.get_by_label("Commit, branch or tag").fill("HEAD")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".hunk")).not_to_have_count(0)
