#!/usr/bin/env python3
"""Measure the latency of `cairn serve`'s page in a real browser: to the first paint, and from a keystroke to
its rows.

    python benchmarks/page_latency.py --workspace FOLDER DATA [--output FILE]

It uses a headless Chromium and a real `cairn serve`. DATA has the folder's index, which is completed first.
Each load has a browser context of its own, so the browser's cache is empty.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from attrs import frozen
from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.place import make_data_folder
from engine.ready import NotReadyError, indexed
from playwright.sync_api import Browser, BrowserContext, Page
from serving.server import Server, serving

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import system_packages  # noqa: E402
from page_browser import is_indexed, launched, sign_in, wait_until  # noqa: E402

LONGEST = 25
"""The number of characters of a query that are typed."""
_SPACINGS_MS = (250, 120, 60)
"""A slow typist, each of whose keystrokes shows its rows before the next one; an average and a fast typist,
whose last keystroke counts."""
_WARMING_UP = 3
"""The number of loads of each view, and of queries, to read the index from disk before the measurement."""
_SETTLE_MS = 1_000
"""The time after the last letter of a query within which its rows appear."""

_ANSWERED = (
    "document.getElementById('copy-prompt') !== null || document.querySelector('#found .verdict') !== null"
)
_PAINT = """() => {
    const [loaded] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return paint && { first_byte: loaded.responseStart, whole: loaded.responseEnd, paint: paint.startTime };
}"""
_SCRIPTS = """performance.getEntriesByType("resource")
    .filter(each => /[.]js$/.test(new URL(each.name).pathname))
    .map(each => [
        new URL(each.name).pathname.split("/").at(-1), each.encodedBodySize, each.decodedBodySize])"""
_WATCH = """() => {
    const waiting = [], measured = [], box = document.getElementById("q");
    let asked = "";
    window.measured = measured;
    performance.setResourceTimingBufferSize(100_000);
    performance.clearResourceTimings();
    addEventListener("input", event => {
        if (box.value.trim() !== asked) waiting.push(event.timeStamp);  // A space asks nothing else.
        asked = box.value.trim();
    }, true);
    new MutationObserver(() => {
        const now = performance.now(), fetched = performance.getEntriesByType("resource").findLast(
            each => each.initiatorType === "fetch");
        // The rows are those of the last keystroke: the ones before were overtaken.
        const typed = waiting.pop();
        const overtaken = waiting.splice(0).length;
        if (typed === undefined) return;
        const entry = { rows: now - typed, overtaken, frame: 0,
            request: fetched.requestStart - typed, server: fetched.responseStart - fetched.requestStart,
            transfer: fetched.responseEnd - fetched.responseStart, put: now - fetched.responseEnd };
        measured.push(entry);
        requestAnimationFrame(() => setTimeout(() => { entry.frame = performance.now() - typed; }));
    }).observe(document.getElementById("results"), { childList: true });
}"""


@frozen
class _View:
    """A page, and a function that makes its address from fresh queries."""

    address: Callable[[str], str]
    is_whole: str
    """A JavaScript condition for a complete page, with all streamed parts."""


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    browser = system_packages.browser()
    if not browser:
        sys.exit("neither Chromium nor Chrome is installed")
    if not data.exists():  # A new index has the code model that comes with Cairn, as most users have it.
        make_data_folder(data)
    try:
        with indexed(workspace, data) as (_, index):
            pass
    except NotReadyError as problem:
        sys.exit(str(problem))
    questions = iter(_questions(workspace, data, options))
    before = run_conditions()
    # On a busy machine, the kill switch must not change the answers.
    steady = {"CAIRN_RETRIEVAL__KILL_SWITCH__AUTOMATIC": "false"}
    with serving(workspace, data, steady) as server, launched(browser) as chromium:
        wait_until(lambda: is_indexed(_status(server)))
        record = {
            "conditions": {
                **before,
                "load_after": None,
                "seed": options.seed,
                "browser": chromium.version,
                "processes_nice": os.nice(0),
            },
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "model": index["model"],
            **_loads(chromium, server, options.file, questions, options.loads),
            **_keystrokes(chromium, server, list(questions)),
        }
    record["conditions"]["load_after"] = [round(value, 2) for value in os.getloadavg()]
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _loads(chromium: Browser, server: Server, file: str, questions: Iterator[str], count: int) -> Figures:
    """Measure cold loads of each view, and the scripts that they load."""
    views = {
        # This is the browser's own time for a line of text.
        "nothing": _View(lambda _: "/healthz", "true"),
        "first": _View(lambda _: "/ui/", "true"),
        "search": _View(lambda question: f"/ui/?{urlencode({'q': question})}", "true"),
        "answer": _View(lambda question: f"/ui/answer?{urlencode({'q': question})}", _ANSWERED),
        "file": _View(
            lambda _: f"/ui/file/{quote(file)}?lines=40-44", "document.getElementById('known') !== null"
        ),
        "index": _View(lambda _: "/ui/index", "true"),
    }
    loads: dict[str, list[dict[str, float]]] = {name: [] for name in views}
    scripts: dict[str, tuple[int, int]] = {}
    for number in range(_WARMING_UP + count):
        for name, view in views.items():  # Views take turns, since other work on the machine comes and goes.
            context = _context(chromium, server)
            page = context.new_page()
            page.goto(server.url + view.address(next(questions)))
            load = wait_until(lambda page=page: page.evaluate(_PAINT))
            wait_until(lambda page=page, view=view: page.evaluate(view.is_whole))
            scripts |= {script: (sent, size) for script, sent, size in page.evaluate(_SCRIPTS)}
            if number >= _WARMING_UP:
                loads[name].append(load)
            context.close()
    paints = {
        name: {
            f"{figure}_ms": milliseconds([load[figure] / 1_000 for load in taken])
            for figure in ("first_byte", "whole", "paint")
        }
        for name, taken in loads.items()
    }
    sent, size = (sum(each) for each in zip(*scripts.values(), strict=True))
    return {
        "cold_loads": paints,
        "scripts": {"files": scripts, "sent_bytes": sent, "bytes": size},
    }


def _keystrokes(chromium: Browser, server: Server, questions: Sequence[str]) -> Figures:
    page = _context(chromium, server).new_page()
    page.goto(f"{server.url}/ui/")
    for question in questions[:_WARMING_UP]:
        _type(page, question, 100)
    page.evaluate(_WATCH)
    figures = {}
    # No query is typed twice, since a cached answer takes almost no time.
    for at, spacing in enumerate(_SPACINGS_MS):
        typed = questions[_WARMING_UP + at :: len(_SPACINGS_MS)]
        for question in typed:
            _type(page, question, spacing)
        measured: list[dict[str, float]] = page.evaluate("window.measured.splice(0)")
        figures[f"typed_every_{spacing}_ms"] = {
            "questions": len(typed),
            "keystrokes": sum(map(len, typed)),
            "measured": len(measured),
            "overtaken": int(sum(each["overtaken"] for each in measured)),
            "keystroke_to_rows_ms": _milliseconds(measured, "rows"),
            "keystroke_to_frame_ms": _milliseconds([each for each in measured if each["frame"]], "frame"),
            "of_it_ms": {
                part: _milliseconds(measured, part) for part in ("request", "server", "transfer", "put")
            },
        }
    return figures


def _type(page: Page, question: str, spacing: int) -> None:
    # Clearing the box is not measured, since an empty box sends no request.
    page.evaluate("document.getElementById('q').value = ''")
    page.locator("#q").press_sequentially(question, delay=spacing)
    page.wait_for_timeout(_SETTLE_MS)


def _milliseconds(measured: Sequence[dict[str, float]], name: str) -> Figures:
    return milliseconds([each[name] / 1_000 for each in measured])


def _context(chromium: Browser, server: Server) -> BrowserContext:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    sign_in(context, server.url, server.token)
    return context


def _status(server: Server) -> Any:
    with urllib.request.urlopen(
        urllib.request.Request(f"{server.api}status", headers=server.authorization)
    ) as answer:
        return json.load(answer)


def _questions(workspace: Path, data: Path, options: argparse.Namespace) -> list[str]:
    with opened(data) as index:
        drawn = drawn_questions(workspace, index, options.count, random.Random(options.seed))
    plain = (" ".join(line.split())[:LONGEST].rstrip() for line in drawn)
    return list(dict.fromkeys(plain))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--file", required=True, help="the file that the file page shows")
    parser.add_argument("--loads", type=int, default=30, help="cold loads of each view")
    parser.add_argument("--count", type=int, default=260, help="questions to draw")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
