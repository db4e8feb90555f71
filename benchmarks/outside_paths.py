#!/usr/bin/env python3
"""Name files outside of a workspace, and secret files in it, in many spellings through every method of every
front, and check that none is opened.

    python benchmarks/outside_paths.py --folder FOLDER [--spellings 2000] [--seed 7] [--output FILE]

A real `cairn serve` has a small workspace open, with links that lead out of it. inotify, which Linux has,
reports each time that one of the files is opened. FOLDER is made and deleted.
"""

from __future__ import annotations

import argparse
import ctypes
import http.client
import itertools
import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from attrs import frozen
from engine.figures import run_conditions
from serving.clients import Lsp, Mcp, Rest
from serving.server import Server, environment_of, serving

Ask = Callable[[str, Mapping[str, Any]], Any]

CANARY = "seven-steps-north-of-the-mole"
"""The content of the files that must not be opened."""
_OUTSIDE = ("outside.txt", "harbour-two/notes.md", "home/.ssh/id_rsa")
_SECRETS = (".env", "config/.env.production", "keys/server.pem", ".aws/config.txt", "credentials.json")
_LINKS = {"link.txt": "../outside.txt", "above": "..", "docs/up.md": "../../harbour-two/notes.md"}
_WORKSPACE = {
    "README.md": "# Harbour\n\nShips moor at a berth.\n",
    "src/berths.py": "def moor_ship(ship):\n    return ship\n",
}
_IN_OPEN, _IN_ACCESS = 0x20, 0x01
_EVENT = struct.Struct("iIII")


@frozen
class Place:
    """A workspace, and the files that must not be opened."""

    root: Path
    hidden: tuple[Path, ...]


def make_place(folder: Path) -> Place:
    """Write the workspace and the files below `folder`, which must be empty or missing."""
    root = folder / "harbour"
    outside = [folder / name for name in _OUTSIDE]
    secrets = [root / name for name in _SECRETS]
    texts = {root / name: text for name, text in _WORKSPACE.items()}
    for file, text in (texts | dict.fromkeys([*outside, *secrets], CANARY)).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name, target in _LINKS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    return Place(root, (*outside, *secrets))


class OpenedFiles:
    """Reports which of the files were opened since the last question, by any process."""

    def __init__(self, files: Sequence[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._file = libc.inotify_init1(os.O_NONBLOCK)
        self._paths = {
            libc.inotify_add_watch(self._file, os.fsencode(each), _IN_OPEN | _IN_ACCESS): each
            for each in files
        }
        if self._file < 0 or -1 in self._paths:
            raise OSError(ctypes.get_errno(), "inotify cannot watch the files")

    def opened(self) -> list[Path]:
        """Return the opened files, and forget them."""
        found = set()
        with suppress(BlockingIOError):
            while data := os.read(self._file, 1 << 16):
                found |= {self._paths[watch] for watch, *_ in _EVENT.iter_unpack(data)}
        return sorted(found)

    def close(self) -> None:
        os.close(self._file)


def spellings(place: Place, count: int, rng: random.Random) -> list[str]:
    """Return `count` different ways to write the paths of the hidden files."""
    found: dict[str, None] = {}
    for number in itertools.count():
        target = place.hidden[number % len(place.hidden)]
        spelt = _spelt(target, place.root, rng)
        for _ in range(rng.randrange(3)):
            spelt = rng.choice(_CHANGES)(spelt, rng)
        found[spelt] = None
        if len(found) == count:
            return list(found)
    raise AssertionError


def _spelt(target: Path, root: Path, rng: random.Random) -> str:
    relative = os.path.relpath(target, root)
    through = os.path.relpath(target, root.parent)
    return rng.choice(
        (
            str(target), target.name, target.as_uri(), relative, f"/{relative}", f"./{relative}",
            f"{root.name}/{relative}", f"{root}/{relative}", f"{root}/./../{through}", f"src/../{relative}",
            f"above/{through}", f"above/harbour/../{through}", f"docs/../above/{through}",
            f"file:{target}", f"file://localhost{target}", f"//localhost{target}",
            f"/proc/self/root{target}", f"/proc/self/cwd/{relative}",
            f"link.txt/../{relative}", f"README.md/../{relative}", f"src/berths.py/../../{relative}",
            "link.txt", "docs/up.md", "above", f"**/{target.name}", f"/**/{target.name}",
            f"{target.parent.name}/{target.name}", f"..\\{through}".replace("/", "\\"),
            f"\\\\?\\{target}", f"~/{target.name}", f"$HOME/{target.name}",
        )
    )  # fmt: skip


_CHANGES: Sequence[Callable[[str, random.Random], str]] = (
    lambda text, rng: text.upper(),
    lambda text, rng: quote(text),
    lambda text, rng: quote(quote(text)),
    lambda text, rng: text.replace("/", "//"),
    lambda text, rng: text.replace("/", "/./"),
    lambda text, rng: text.replace("..", "%2e%2e"),
    lambda text, rng: text.replace("..", "\uff0e\uff0e"),
    lambda text, rng: text.replace("/", "%2f"),
    lambda text, rng: text.replace("/", "\uff0f"),
    lambda text, rng: text.replace("/", "\\"),
    lambda text, rng: (
        text + rng.choice((" ", ".", "/", "/.", "//", "\0", "\0.md", "%00", "\n", ":1-3", "#L1", "::$DATA"))
    ),
    lambda text, rng: rng.choice((" ", "./", "/", "\t", "!", "\ufeff", "./" * 50, "src/../" * 20)) + text,
    lambda text, rng: text.replace(".", "[.]"),
    lambda text, rng: text.replace("t", "?"),
    lambda text, rng: f"{{{text},README.md}}",
    lambda text, rng: text[: rng.randrange(1, len(text) + 1)] + "*",
    lambda text, rng: text.replace("e", "e\u0301"),
    lambda text, rng: text.replace("e", "e\u200c"),
)


def requests(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the methods that take a path or a URI, with params that name `path`."""
    uri = path if ":" in path else f"file://{path if path.startswith('/') else f'/{path}'}"
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}}
    for document in dict.fromkeys((path, uri)):
        place = {"textDocument": {"uri": document}}
        yield "related", {**place, "range": whole}
        yield "context", {**place, "range": whole}
        yield "context", {**place, "position": whole["start"], "query": "moor a ship"}
        yield "references", {**place, "position": whole["start"]}
    for now in (True, False):
        yield "fetchPage", {"path": path, "now": now}
    yield "search", {"query": "moor a ship", "filter": {"path": [path]}}
    yield "discover", {"query": "how does a ship moor", "filter": {"path": [path]}}
    yield "discover", {"query": "how does a ship moor", "config": {"render": {"tokenizer": path}}}
    yield "reindex", {"path": path}
    chunk = {
        "collection": "harbour-source",
        "docId": "1",
        "content": "A ship moors at a berth.",
        "score": 1.0,
        "metadata": {"filePath": path, "lineRange": [0, 1], "folder": uri},
    }
    yield "compressEvidence", {"query": "how does a ship moor", "chunks": [chunk]}


def ask_all(ask: Ask, path: str, outcomes: Counter[str]) -> None:
    """Ask each method about the path, and count what came back. Raise AssertionError if a text came back."""
    for method, params in requests(path):
        try:
            answer = json.dumps(ask(method, params))
        except Exception as problem:  # noqa: BLE001 - Each client has errors of its own.
            answer = str(problem)
            outcomes["refused"] += 1
        else:
            outcomes["answered"] += 1
        assert CANARY not in answer, (method, params, answer)


def main() -> int:
    options = _arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    place = make_place(options.folder.resolve() / "place")
    paths = spellings(place, options.spellings, random.Random(options.seed))
    outcomes: dict[str, Counter[str]] = {}
    opened: list[str] = []
    data = options.folder / "data"
    try:
        with serving(place.root, data) as server, closing(OpenedFiles(place.hidden)) as watch:
            fronts: dict[str, Ask] = {
                "REST": Rest(server).ask,
                "LSP": Lsp(server, place.root).ask,
                "LSP with unsaved text": _with_unsaved_text(Lsp(server, place.root), place),
                "MCP": Mcp(server).ask,
                "MCP's tools for models": _tools(Mcp(server)),
                "page": _pages(server, place.root, data),
                "commands": _commands(place.root, data),
            }
            for front, ask in fronts.items():
                counts = outcomes[front] = Counter()
                some = paths[:: options.each_command] if front == "commands" else paths
                for path in some:
                    ask_all(ask, path, counts)
                    opened += [f"{front} {path!r}: {file}" for file in watch.opened()]
                print(front, dict(counts), len(opened), file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
    result = {
        "conditions": run_conditions(), "seed": options.seed, "spellings": len(paths), "outcomes": outcomes,
        "opened": len(opened), "examples": opened[:20],
    }  # fmt: skip
    print(json.dumps(result, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if opened else 0


def _with_unsaved_text(client: Lsp, place: Place) -> Ask:
    """Open the hidden files as documents with other text, as an editor does."""
    for file in place.hidden:
        document = {"uri": file.as_uri(), "languageId": "plaintext", "version": 1, "text": "A ship moors."}
        client.notify("textDocument/didOpen", {"textDocument": document})
    return client.ask


def _tools(client: Mcp) -> Ask:
    """Ask the tool `read` in each of its ways, instead of `fetchPage`."""

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        if method != "fetchPage":
            return None
        path = params["path"] if params["now"] else f"{params['path']}:1-3"
        return client.text("read", {"path": path})

    return ask


def _pages(server: Server, root: Path, data: Path) -> Ask:
    """Ask for the page of the file, and whether it is indexed, in one session of a browser."""
    address = urlsplit(server.url).netloc
    connection = http.client.HTTPConnection(address, timeout=60)

    def get(path: str, **headers: str) -> http.client.HTTPResponse:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.text = response.read().decode("utf-8", "replace")  # type: ignore[attr-defined]
        return response

    printed = subprocess.run(
        [sys.executable, "-m", "cairn", "open", str(root), "--print"],
        env=environment_of(data), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    link = urlsplit(printed.split()[-1])
    cookie = get(f"{link.path}?{link.query}").headers["Set-Cookie"].partition(";")[0]

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        if method != "fetchPage":
            return None
        named = quote(params["path"], safe="/" if params["now"] else "", errors="surrogatepass")
        path = f"/ui/file/{named}" if params["now"] else f"/ui/index?path={named}"
        return get(path, Cookie=cookie).text  # type: ignore[attr-defined]

    return ask


def _commands(root: Path, data: Path) -> Ask:
    """Run commands instead of methods."""

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        if method != "fetchPage" or "\0" in params["path"]:
            return None
        path = params["path"]
        every = (
            [
                ["page", path],
                ["related", f"{path}:1"],
                ["callers", f"{path}:1:1"],
                ["search", "moor", "--in", path],
            ]
            if params["now"]
            else [["context", f"{path}:1"], ["doctor", "--why", path], ["reindex", path]]
        )
        done = [
            subprocess.run(
                [sys.executable, "-m", "cairn", *command],
                cwd=root,
                env=environment_of(data),
                capture_output=True,
            )
            for command in every
        ]
        return "".join((each.stdout + each.stderr).decode("utf-8", "replace") for each in done)

    return ask


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--spellings", type=int, default=2_000)
    parser.add_argument("--each-command", type=int, default=40, metavar="N", help="run commands for each Nth")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
