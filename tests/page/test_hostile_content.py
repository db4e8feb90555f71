"""HTML and scripts in questions, names and content: pages show them as text, and they never run.

Each of these texts would call the canary, which is a fault in every test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.page import hostile_repository as hostile
from tests.page.browsing import CANARY, Browsing, wait_until
from tests.page.site import Site, answer_path, own_machine, search_path, site

Shown = Callable[[str], Page]

FILES = (
    hostile.CODE_FILE,
    hostile.NESTED_FILE,
    hostile.ADDRESS_FILE,
    hostile.ENCODED_FILE,
    hostile.REVERSED_FILE,
)
TEXTS = (hostile.IMAGE, hostile.SCRIPT, hostile.QUOTED, hostile.ADDRESS, hostile.TEMPLATE, hostile.FOLDER)


@pytest.fixture(scope="module")
def quay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    parent = tmp_path_factory.mktemp("hostile")
    with own_machine(parent), site(hostile.hostile_repository(parent)) as served:
        yield served


@pytest.fixture
def shown(browsing: Browsing, quay: Site) -> Shown:
    """A function that opens a path, signed in."""
    return partial(quay.open, browsing.shared_context(quay.url, quay.sign_in))


def file_path(path: str) -> str:
    return f"/ui/file/{quote(path)}"


def check(page: Page) -> None:
    """Assert that no text has become an active element, an attribute or a foreign address."""
    active = page.evaluate(
        """canary => [...document.querySelectorAll("*")].filter(each =>
            each.matches("iframe, object, embed, base, svg[onload], img[src='x'], script:not([src])")
            || [...each.attributes].some(({ name, value }) =>
                name.startsWith("on") || (/^(href|src|action|formaction|data)$/.test(name)
                    && /^\\s*(javascript|data):/i.test(value)))
        ).map(each => each.outerHTML.slice(0, 300))""",
        CANARY,
    )
    assert active == []
    foreign = page.evaluate(
        """[...document.querySelectorAll("[href], [src], [action]")].flatMap(each =>
            ["href", "src", "action"].map(name => each.getAttribute(name)).filter(value => value !== null)
        ).filter(address => {
            const url = new URL(address, location.href);
            return !url.href.startsWith(location.origin + "/ui/") && !url.href.startsWith("vscode://file/");
        })"""
    )
    assert foreign == []


# --- questions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [search_path, answer_path], ids=["search", "answer"])
def test_question_in_the_address_is_text(shown: Shown, quay: Site, address: Callable[[str], str]) -> None:
    page = shown("/ui/")
    for question in (f"moor {text}" for text in TEXTS):
        page.goto(quay.url + address(question))
        assert page.locator("#q").input_value() == question
        if address is answer_path:
            expect(page.locator("#copy-prompt, #found .verdict").first).to_be_visible()
            assert page.locator("h1").inner_text().split() == question.split()
        assert " ".join(question.split()) in " ".join(page.title().split())
        check(page)


def test_typed_question_is_text(shown: Shown) -> None:
    page = shown("/ui/")
    for question in (f"moor {text}" for text in TEXTS):
        page.locator("#q").fill("")
        page.keyboard.insert_text(question)
        wait_until(page, "text => document.title === `${text} · Cairn`", question)
        check(page)
        page.keyboard.press("Enter")
        page.reload()
        assert page.locator("#q").input_value() == question
        check(page)


@pytest.mark.parametrize("name", ["type", "path", "repository", "budget", "by"])
def test_filter_in_the_address_is_text(shown: Shown, browsing: Browsing, name: str) -> None:
    browsing.faults.allow("40[0-9]")
    text = hostile.QUOTED + hostile.IMAGE + hostile.SCRIPT
    for address in (
        search_path("moor", **{name: text}),
        answer_path("moor", **{name: text}),
        index_path(**{name: text}),
    ):
        page = shown(address)
        expect(page.get_by_role("main")).not_to_be_empty()
        check(page)


def index_path(**values: str) -> str:
    return f"/ui/index?{urlencode(values)}"


def test_name_of_a_missing_page_is_text(shown: Shown, quay: Site, browsing: Browsing) -> None:
    browsing.faults.expect("404")
    page = shown("/ui/")
    for text in (hostile.IMAGE, hostile.QUOTED, hostile.ADDRESS):
        for place in ("/ui/", "/ui/file/", "/ui/static/", "/ui/file/folder/"):
            page.goto(quay.url + place + quote(text, safe=""))
            check(page)


# --- results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("moor the ship", hostile.CODE_FILE),
        ("unmoor the ship", hostile.NESTED_FILE),
        ("harbour master", hostile.ADDRESS_FILE),
        ("encoded tide", hostile.ENCODED_FILE),
        ("reversed tide", hostile.REVERSED_FILE),
    ],
)
def test_results_are_text(shown: Shown, question: str, path: str) -> None:
    page = shown(search_path(question))
    row = page.locator(".row").filter(has=page.locator(f'.title[href^="/ui/file/{quote(path)}?"]')).first
    expect(row).to_be_visible()
    assert row.locator(".where .path").text_content().startswith(f"{path}:")
    for why in page.locator("details.why summary").all():
        why.click()
    check(page)
    row.locator(".title").click()
    expect(page.locator("#code")).to_be_visible()
    assert page.title().startswith(" ".join(path.split()))
    check(page)


def test_excerpts_and_the_prompt_of_an_answer_are_text(shown: Shown) -> None:
    page = shown(answer_path("how are ships moored and unloaded"))
    expect(page.locator("#copy-prompt")).to_be_visible()
    page.get_by_text("Show the prompt").click()
    assert hostile.IMAGE in page.locator("#prompt").text_content()
    assert hostile.SCRIPT in page.locator("#prompt").text_content()
    assert hostile.CODE_FILE in page.locator(".file h2").all_text_contents()[0]
    assert page.locator(".more-on-request li").count()
    check(page)


@pytest.mark.parametrize("path", FILES)
def test_content_of_a_file_is_text(shown: Shown, quay: Site, path: str) -> None:
    page = shown(file_path(path))
    lines = (quay.folder / path).read_text(encoding="utf-8").splitlines()
    assert page.locator("#code .line code").all_text_contents() == lines
    wait_until(page, "document.getElementById('known') !== null")
    check(page)


def test_outline_callers_and_commit_subjects_are_text(shown: Shown) -> None:
    page = shown(file_path(hostile.CODE_FILE))
    outline = page.get_by_role("navigation", name="Outline")
    outline.get_by_role("link").filter(has_text=hostile.FUNCTION).click()
    panel = page.locator("#around")
    expect(panel.get_by_role("heading", name="Called by")).to_be_visible()
    expect(panel).to_contain_text("unload_the_ship")
    expect(page.locator("#known .commits")).to_contain_text(hostile.SUBJECT)
    for details in panel.locator("details").all():
        details.evaluate("each => { each.open = true; }")
    check(page)
    heading = shown(file_path(hostile.ADDRESS_FILE))
    expect(heading.get_by_role("navigation", name="Outline")).to_contain_text("Heading")
    check(heading)


def test_names_and_rules_on_the_index_page_are_text(shown: Shown) -> None:
    page = shown(index_path(path=hostile.CODE_FILE))
    expect(page.get_by_text("It is being counted…")).to_have_count(0)
    expect(page.locator("#answer")).to_contain_text(hostile.CODE_FILE)
    expect(page.locator("[data-part=folders]")).to_contain_text(hostile.NAME)
    expect(page.locator("[data-part=left-out]")).to_contain_text(f"{hostile.IMAGE}.left-out")
    check(page)
    left_out = shown(index_path(path=f"{hostile.IMAGE}.left-out"))
    expect(left_out.locator("#answer")).to_contain_text("not indexed")
    check(left_out)


def test_place_with_a_hostile_name_is_copied_unchanged(browsing: Browsing, quay: Site) -> None:
    context = browsing.context(permissions=["clipboard-read", "clipboard-write"])
    quay.sign_in(context)
    page = quay.open(context, search_path("unmoor the ship"))
    label = page.locator(".row .title").first.get_attribute("data-label")
    assert label.startswith(hostile.NESTED_FILE)
    page.locator(".row .copy").first.click()
    wait_until(page, "text => navigator.clipboard.readText().then(found => found === text)", label)


def test_content_security_policy_stops_inserted_scripts(shown: Shown, browsing: Browsing) -> None:
    browsing.faults.expect("Content Security Policy")
    browsing.faults.allow("404")
    page = shown("/ui/")
    page.evaluate(
        """canary => {
            const main = document.getElementById("main");
            main.innerHTML = `<img src="/ui/static/none.svg" onerror="${canary}()">
                <iframe srcdoc="<script>parent.${canary}()</` + `script>"></iframe>
                <a id="runs" href="javascript:${canary}()">press</a>`;
            const script = document.createElement("script");
            script.textContent = `${canary}()`;
            main.append(script);
        }""",
        CANARY,
    )
    page.locator("#runs").click()
    page.evaluate("fetch('/ui/static/base.js')")
    expect(page.locator("#runs")).to_be_visible()
