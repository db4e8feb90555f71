#!/usr/bin/env python3
"""Take pictures of each view of the page over a folder: light and dark, wide and on a phone.

    .venv/bin/python scripts/page_screenshots.py FOLDER PICTURES [--search TEXT] [--question TEXT]
      [--ask TEXT ...]

PICTURES gets a PNG of each, such as `search-dark-phone.png`. The folder's index is in `CAIRN_DATA_DIR`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlencode

import environment
import system_packages
from page_browser import is_indexed, launched, sign_in, wait_until
from playwright.sync_api import BrowserContext, Page

sys.path.append(str(environment.ROOT))

from tests.serving import Served, serving

SIZES = {"wide": (1280, 720), "phone": (360, 740)}
SCHEMES = ("light", "dark")
_WHOLE = {
    "search": "document.querySelector('.row, .empty') !== null",
    "answer": "document.querySelector('#copy-prompt, #found .verdict, #found .problem') !== null",
    "file": "document.getElementById('known') !== null",
    "index": "!document.getElementById('index').textContent.includes('being counted')",
}
"""The condition for a complete view."""


def main() -> int:
    options = _arguments()
    browser = system_packages.browser()
    if not browser:
        print("Neither Chromium nor Chrome is installed.", file=sys.stderr)
        return 1
    options.pictures.mkdir(parents=True, exist_ok=True)
    with serving(str(options.folder.resolve()), "--no-lsp") as served, launched(browser) as chromium:
        wait_until(lambda: is_indexed(served.call("status", {})))
        for question in options.ask:  # The page about the index shows these as points.
            served.call("search", {"query": question})
        for size, (width, height) in SIZES.items():
            context = chromium.new_context(
                viewport={"width": width, "height": height}, is_mobile=size == "phone"
            )
            sign_in(context, served.addresses["url"], served.token)
            for name, page in _views(context, served, options):
                for scheme in SCHEMES:
                    page.emulate_media(color_scheme=scheme)
                    picture = options.pictures / f"{name}-{scheme}-{size}.png"
                    page.screenshot(path=picture)
                    print(f"{picture}  {picture.stat().st_size:,} bytes", flush=True)
            context.close()
    return 0


def _views(context: BrowserContext, served: Served, options: argparse.Namespace) -> list[tuple[str, Page]]:
    """Open a window for each view, by its name."""
    url = served.addresses["url"]
    (first, *_) = served.call("search", {"query": options.search, "limit": 1})["results"]
    lines = first["bestLines"] or first["selectionRange"]
    begin, end = lines["start"]["line"] + 1, max(lines["start"]["line"] + 1, lines["end"]["line"])
    addresses = {
        "first": "/ui/",
        "search": f"/ui/?{urlencode({'q': options.search})}",
        "answer": f"/ui/answer?{urlencode({'q': options.question})}",
        "file": f"/ui/file/{first['path']}?lines={begin}-{end}",
        "index": "/ui/index",
    }
    views = []
    for name, address in addresses.items():
        page = context.new_page()
        page.goto(url + address)
        wait_until(lambda page=page, name=name: page.evaluate(_WHOLE.get(name, "true")))
        views.append((name, page))
    return views


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--search", default="error handling")
    parser.add_argument("--question", default="how are errors handled")
    parser.add_argument("--ask", nargs="*", default=[], help="questions for the plot of latency")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
