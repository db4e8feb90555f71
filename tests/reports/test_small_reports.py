"""Small folders, each of one kind that a public report or a user met, are answered as their users would wish.

`cases/*.json` describes the folders, and what the compact answers must contain: `names` are places
(`path:line`), `says` are texts in any case, and `not_says` texts that must be absent.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.tools import tool_named
from cairn.discovery.layout import MARK
from cairn.engine.engine import Engine
from cairn.operations.why import why
from tests.engine.engines import PATIENT, indexed

_CASES = [
    case
    for file in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
]
_GIT = {
    **os.environ,
    **{
        f"GIT_{who}_{what}": "tests@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "GIT_CONFIG_GLOBAL": os.devnull,
}


@pytest.mark.parametrize("case", _CASES, ids=[case["shows"] for case in _CASES])
def test_a_small_report_is_answered_as_wished(case: dict[str, Any], tmp_path: Path) -> None:
    make(case, tmp_path)
    with indexed(tmp_path, **PATIENT) as engine:
        problems = {
            expected["ask"]: wrong
            for expected in case["expect"]
            if (wrong := list(problems_of(answer(engine, tmp_path, expected["ask"]), expected)))
        }
    assert not problems


def make(case: dict[str, Any], folder: Path) -> None:
    files = {path: text.encode() for path, text in case.get("files", {}).items()}
    files |= {path: base64.b64decode(data) for path, data in case.get("files_base64", {}).items()}
    files |= {
        path: (line * times + end).encode() for path, (line, times, end) in case.get("repeat", {}).items()
    }
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if setup := case.get("setup"):
        subprocess.run(["sh", "-c", setup], cwd=folder, env=_GIT, check=True, capture_output=True)


def answer(engine: Engine, folder: Path, asked: str) -> str:
    """Return the compact answer to `callers: NAME`, `search: WORDS -p PATH` and so on."""
    if asked.startswith("doctor --why "):
        return str(why(folder / asked.removeprefix("doctor --why "), folder))
    kind, _, words = asked.partition(": ")
    words, _, path = words.partition(" -p ")
    arguments: dict[str, Any] = {"query": words, **({"path": [path]} if path else {})}
    if kind in ("callers", "uses"):
        kind, arguments = "references", {"symbol": words, "direction": kind}
    elif kind == "page":
        kind, arguments = "read", {"path": [words]}
    return "\n".join(tool_named(kind).answer(engine.request(), arguments, front="cli").texts)


def problems_of(text: str, expected: dict[str, Any]) -> Iterator[str]:
    places = set(places_in(text))
    for place in expected.get("names", ()):
        if place not in places:
            yield f"{place} is missing in {text!r}"
    for place in expected.get("not_names", ()):
        if place in places:
            yield f"{place} is wrong in {text!r}"
    for words in expected.get("says", ()):
        if words.lower() not in text.lower():
            yield f"{words!r} is not in {text!r}"
    for words in expected.get("not_says", ()):
        if words.lower() in text.lower():
            yield f"{words!r} is in {text!r}"


def places_in(text: str) -> Iterator[str]:
    """Yield each `path:line` that a compact answer shows or names."""
    path = ""
    number = 0
    for line in text.split("\n"):
        for found, first, last in re.findall(r"([\w./+-]*\.\w+):(\d+)(?:-(\d+))?", line):
            path = found
            yield from (f"{found}:{each}" for each in range(int(first), int(last or first) + 1))
        if also := re.search(r"also at (.*)", line):
            yield from (f"{path}:{each}" for each in re.findall(r"\b(\d+)\b", also[1]))
        if heading := re.fullmatch(rf"(?:{re.escape(MARK)}|#+ )?([\w./+-]*\.\w+)", line):
            path = heading[1]
        if numbered := re.match(r" *(\d+) ", line):
            number = int(numbered[1])
            yield f"{path}:{number}"
        elif not line or line.startswith(" "):
            number += 1
            yield f"{path}:{number}"
