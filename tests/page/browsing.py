"""The windows of a real browser for one test, and the faults in them."""

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

from tests.serving import wait_for

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDE = (1440, 900)
PHONE = (360, 740)

PATIENCE_MS = 120_000
"""Timeout of Playwright on a busy machine."""
CANARY = "canary"
"""The function that hostile content calls; each call is a fault."""

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
_RULES = {"resultTypes": ["violations"]}
_GRAVE = ("serious", "critical")
_ABORTED = "net::ERR_ABORTED"
"""The error of requests that the page cancels, after the next letter or when it is closed."""


class Faults:
    """Faults in the windows: errors, refused content, failed requests, dialogs, and hostile scripts."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self._expected: list[re.Pattern[str]] = []

    def begin(self) -> None:
        """Forget the faults and patterns of the previous test."""
        for each in (self.seen, self._allowed, self._expected):
            each.clear()

    def allow(self, pattern: str) -> None:
        """Allow faults that match the pattern in this test."""
        self._allowed.append(re.compile(pattern))

    def expect(self, pattern: str) -> None:
        """Require a fault that matches the pattern in this test."""
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
        """Assert that all faults were allowed, and all required faults happened."""
        wrong = [fault for fault in self.seen if not any(each.search(fault) for each in self._allowed)]
        assert not wrong, "\n".join(wrong)
        for pattern in self._expected:
            assert any(map(pattern.search, self.seen)), f"nothing matched {pattern.pattern}"

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.add(f"console {message.type}", f"{message.text} at {message.location}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.add("dialog", dialog.message)
        dialog.dismiss()

    def _on_failure(self, request: Request) -> None:
        if request.failure != _ABORTED:
            self.add("request", f"{request.method} {request.url} failed: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.add("response", f"{response.status} {response.request.method} {response.url}")


class Shared:
    """Signed-in contexts for tests that do not change them, since creating one takes a third of a second."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.faults = Faults()
        self._contexts: dict[str, BrowserContext] = {}

    def context(self, make: Callable[[], BrowserContext], options: object) -> BrowserContext:
        """Return the context of these options, made at the first call."""
        key = repr(options)
        if key not in self._contexts:
            self._contexts[key] = make()
        return self._contexts[key]

    def close_windows(self) -> None:
        for context in self._contexts.values():
            for page in context.pages:
                page.close()


class Browsing:
    """The windows of one test, which fails if there are faults in them."""

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
        """Return a new context with its own cookies; faults count only in `watched` contexts."""
        context = self._new_context(scheme, size, watched, **options)
        self._contexts.append(context)
        return context

    def shared_context(
        self, name: str, sign_in: Callable[[BrowserContext], None], **options: Any
    ) -> BrowserContext:
        """Return the context that tests with this name and these options share; sign in when it is made."""

        def make() -> BrowserContext:
            context = self._new_context(**options)
            sign_in(context)
            return context

        return self._shared.context(make, (name, options))

    def _new_context(
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
        self._shared.close_windows()


def grave_violations(page: Page) -> list[str]:
    """Return the serious violations of accessibility that axe-core finds in the page."""
    page.evaluate(_AXE)
    found = page.evaluate("rules => axe.run(document, rules)", _RULES)
    return [
        f"{each['impact']} {each['id']}: {each['help']}: {node['html']} ({node['failureSummary']})"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


def type_into_box(page: Page, text: str) -> None:
    """Type letter by letter, once the search box has the focus."""
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(text)


def places(page: Page) -> list[str]:
    """Return `path:line` of each row, once the results are there."""
    expect(page.locator(".row, .empty").first).to_be_visible()
    return page.locator(".row .where .path").all_inner_texts()


def overhang(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def wait_until(page: Page, expression: str, argument: Any = None) -> None:
    """Wait until the expression is true; the page's policy forbids Playwright's `wait_for_function`."""
    wait_for(lambda: page.evaluate(expression, argument))
