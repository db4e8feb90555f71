"""A real browser for one test: its windows, and all that must not happen in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    expect,
)

from tests.serving import until

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDE = (1440, 900)
PHONE = (360, 740)

PATIENCE_MS = 120_000
"""For something to appear, on a machine that is busy with other things."""
CANARY = "canary"
"""The function that hostile content calls; each call is a fault."""

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
_RULES = {"resultTypes": ["violations"]}
_GRAVE = ("serious", "critical")
_LEFT = "net::ERR_ABORTED"
"""The page itself breaks requests off: when the next letter is typed, and when it is left."""


class Faults:
    """What must not happen in a window: errors, refused content, failed requests, dialogs, and scripts of hostile content."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self._expected: list[re.Pattern[str]] = []

    def begin(self) -> None:
        """Forget those of the test before."""
        for each in (self.seen, self._allowed, self._expected):
            each.clear()

    def allow(self, pattern: str) -> None:
        """Faults that match the pattern may happen in this test."""
        self._allowed.append(re.compile(pattern))

    def expect(self, pattern: str) -> None:
        """Faults that match the pattern have to happen in this test."""
        self.allow(pattern)
        self._expected.append(re.compile(pattern))

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.add("error", str(error.error)))
        context.on("dialog", self._on_dialog)
        context.on("requestfailed", self._on_failure)
        context.on("response", self._on_response)
        context.expose_function(CANARY, lambda *_: self.add("script", "hostile content has run"))

    def add(self, kind: str, text: str) -> None:
        self.seen.append(f"{kind}: {text}")

    def check(self) -> None:
        """Fails for each fault that was not expected, and for each expected one that did not happen."""
        unexpected = [
            fault for fault in self.seen if not any(pattern.search(fault) for pattern in self._allowed)
        ]
        assert not unexpected, "\n".join(unexpected)
        for pattern in self._expected:
            assert any(map(pattern.search, self.seen)), f"nothing matched {pattern.pattern}"

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.add(f"console {message.type}", f"{message.text} at {message.location}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.add("dialog", dialog.message)
        dialog.dismiss()

    def _on_failure(self, request: Request) -> None:
        if request.failure != _LEFT:
            self.add("request", f"{request.method} {request.url} failed: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.add("response", f"{response.status} {response.request.method} {response.url}")


class Shared:
    """What the tests of one process share, since a context of its own takes a browser a third of a second: contexts that are signed
    in, for tests that change nothing in them."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.faults = Faults()
        self._contexts: dict[str, BrowserContext] = {}

    def context(self, made: Callable[[], BrowserContext], options: object) -> BrowserContext:
        """The context of these options; made, where nobody has asked for it yet."""
        key = repr(options)
        if key not in self._contexts:
            self._contexts[key] = made()
        return self._contexts[key]

    def leave(self) -> None:
        """Close all windows."""
        for context in self._contexts.values():
            for page in context.pages:
                page.close()


class Browsing:
    """The windows of one test. Faults are looked for when it ends."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._contexts: list[BrowserContext] = []
        self.faults = shared.faults
        self.faults.begin()

    def context(
        self,
        *,
        scheme: Scheme = "light",
        size: tuple[int, int] = WIDE,
        watched: bool = True,
        **options: Any,
    ) -> BrowserContext:
        """Cookies, history and permissions of their own. A context that is not `watched` may fail as it likes."""
        context = self._made(scheme, size, watched, **options)
        self._contexts.append(context)
        return context

    def shared_context(
        self, who: str, enter: Callable[[BrowserContext], None], **options: Any
    ) -> BrowserContext:
        """A context that later tests get, too, who name the same, with what `enter` did in it when it was made."""

        def made() -> BrowserContext:
            context = self._made(**options)
            enter(context)
            return context

        return self._shared.context(made, (who, options))

    def _made(
        self, scheme: Scheme = "light", size: tuple[int, int] = WIDE, watched: bool = True, **options: Any
    ) -> BrowserContext:
        width, height = size
        phone = {"is_mobile": True, "has_touch": True} if size == PHONE else {}
        context = self._shared.browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}, **(phone | options)
        )
        context.set_default_timeout(PATIENCE_MS)
        if watched:
            self.faults.watch(context)
        return context

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        self._shared.leave()


def grave_violations(page: Page) -> list[str]:
    """What axe-core finds in the page as it is shown now, of those that keep people from using it."""
    page.evaluate(_AXE)
    found = page.evaluate("rules => axe.run(document, rules)", _RULES)
    return [
        f"{each['impact']} {each['id']}: {each['help']}: {node['html']} ({node['failureSummary']})"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


def type_into_box(page: Page, text: str) -> None:
    """Type it, letter by letter, once the box has the focus, which a page gives it soon after it was loaded."""
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(text)


def places(page: Page) -> list[str]:
    """`path:line` of each row, once the results are there: a page may be shown before them."""
    expect(page.locator(".row, .empty").first).to_be_visible()
    return page.locator(".row .where .path").all_inner_texts()


def overhang(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def wait_until(page: Page, expression: str, argument: Any = None) -> None:
    """Until the expression holds in the page. Playwright's own waiting evaluates text there, which the policy of the page forbids."""
    until(lambda: page.evaluate(expression, argument))
