"""Opens a browser that is signed in to a running `cairn serve`, for tests, measurements and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""The browser may connect only to the servers of the test."""
_PATIENCE_SECONDS = 120


@contextmanager
def launched(program: str, *arguments: str) -> Iterator[Browser]:
    """Launch the browser at this path, headless."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS, *arguments])
        yield browser
        browser.close()


def sign_in(context: BrowserContext, url: str, token: str) -> None:
    """Give the context a session by a one-time link, which the token requests as `cairn open` does."""
    made = context.request.post(f"{url}/ui/link", headers={"Authorization": f"Bearer {token}"})
    assert made.ok, made.text()
    context.request.get(url + made.text(), max_redirects=0)


def is_indexed(status: Any) -> bool:
    """Return whether everything on the page is indexed, by the answer of `cairn/status`."""
    files = status["files"]
    return bool(
        status["activity"] == "idle"
        and status["state"] in ("ready", "degraded")
        and 0 < files["indexed"] == files["total"]
    )


def wait_until(holds: Callable[[], Any]) -> Any:
    """Poll until `holds` returns a true value, and return that. Raises TimeoutError."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError("the condition did not become true")
        time.sleep(0.02)
    return found
