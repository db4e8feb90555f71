"""Opens a one-time link in the browser, without showing the link to other users.

All users of a machine can read command lines, and the first one who uses the link is signed in. So the
browser's command line names a private file that leads to the link, which is deleted when the link was used.
"""

from __future__ import annotations

import atexit
import html
import os
import re
import secrets
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cairn.paths import data_dir, write_private
from cairn.serve.open_page import is_unused

USE_SECONDS = 20.0
"""How long to wait until the browser uses the link. A browser takes up to ten seconds to start."""
_POLL_SECONDS = 0.2
_OLD_SECONDS = 600.0
_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Cairn</title>
<meta http-equiv="refresh" content="0; url={link}">
<p><a href="{link}">Continue to Cairn</a></p>
"""
_SNAP = re.compile(r"([a-z0-9-]+)_[\w.-]+\.desktop")
"""The name of a desktop file of a snap."""


def show(link: str) -> bool:
    """Open the link in the browser. Return False if there is no browser, or it does not use the link."""
    if not _has_desktop():
        return False
    try:
        with _page(link) as page:
            return _is_used(link, page.as_uri())
    except OSError:  # The file cannot be written.
        return False


def _is_used(link: str, address: str) -> bool:
    """Open the address in the browser, and wait until the link is used. Return False if it is not."""
    opened: list[bool] = []
    # A browser in the terminal returns when it ends.
    browser = threading.Thread(target=lambda: opened.append(_open(address)), name="cairn-browser")
    browser.daemon = True
    browser.start()
    deadline = time.monotonic() + USE_SECONDS
    while (unused := is_unused(link)) is not False:
        if opened == [False]:
            return False
        if time.monotonic() > deadline:
            return unused is None  # The server does not say.
        time.sleep(_POLL_SECONDS)
    browser.join()
    return True


def show_soon(link: str) -> None:
    """Open the link in the browser, on a thread, since this process has to serve the page."""
    threading.Thread(target=show, args=(link,), daemon=True, name="cairn-show").start()


def _open(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def _has_desktop() -> bool:
    # A browser inside the terminal would hide the server's output.
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _page(link: str) -> Iterator[Path]:
    """Write a private page that leads to the link, and delete it afterwards. Raises OSError."""
    folder = _folder_of_snap() or data_dir() / "links"
    for old in folder.glob("*.html"):  # A killed process leaves its file behind.
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - _OLD_SECONDS:
                old.unlink()
    file = folder / f"{secrets.token_hex(8)}.html"

    def delete() -> None:
        with suppress(OSError):  # On Windows, the browser may be reading it.
            file.unlink()

    atexit.register(delete)  # A thread may still wait at the end of the process.
    try:
        write_private(file, _PAGE.format(link=html.escape(link)))
        yield file.absolute()
    finally:
        delete()
        atexit.unregister(delete)


def _folder_of_snap() -> Path | None:
    """Return a folder that the default browser can read if it is a snap; these read no hidden folders."""
    if sys.platform != "linux" or os.environ.get("BROWSER"):
        return None
    try:
        command = ["xdg-settings", "get", "default-web-browser"]
        named = subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    snap = _SNAP.fullmatch(named)
    folder = Path.home() / "snap" / snap[1] / "common" if snap else None
    return folder / "cairn" if folder is not None and folder.is_dir() else None
