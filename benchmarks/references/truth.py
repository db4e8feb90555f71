#!/usr/bin/env python3
"""Ask a language server for the callers of functions sampled evenly from a repository, and write them as a
set.

    python benchmarks/references/truth.py CHECKOUT LANGUAGE OUTPUT_FOLDER [--functions 200] [--below FOLDER]

The checkout is copied first, since servers need files of their own in it. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import Daemon, RequestError
from engine.place import git

from references.model import CallerSet, Sampled, Site, write_set
from references.servers import SERVERS, NoServerError, Server

_FUNCTIONS = {6: "method", 9: "constructor", 12: "function"}
"""LSP's kinds of symbols that are called."""
_PATIENCE = 120.0
_CAPABILITIES = {
    "textDocument": {
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "callHierarchy": {"dynamicRegistration": False},
        "references": {},
    },
    "workspace": {"workspaceFolders": True, "configuration": True},
    "window": {"workDoneProgress": True},
}
_NOT_INCLUDED = "pp_file_not_found"
"""The code of clangd's diagnostic for a missing header."""
_LEFT_OUT = frozenset({"node_modules", ".git", "dist", "build", "vendor", "third_party"})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("language", choices=sorted(SERVERS))
    parser.add_argument("output", type=Path)
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--below", default="", help="sample only functions of files below this folder")
    options = parser.parse_args()
    try:
        found = truth(options.checkout.resolve(), options.language, options.functions, options.below)
    except NoServerError as problem:
        sys.exit(str(problem))
    called = sum(bool(each.callers) for each in found.functions)
    sites = sum(len(each.callers) for each in found.functions)
    print(
        f"{write_set(found, options.output)}: {len(found.functions)} functions, {called} called, {sites} "
        "calls"
    )


def truth(checkout: Path, language: str, most: int, below: str = "") -> CallerSet:
    """Return the set of one repository. Raises NoServerError if the server is not installed."""
    server = SERVERS[language]
    command = server.command()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / checkout.name
        shutil.copytree(checkout, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
        server.prepare(folder)
        os.environ.update(GOFLAGS="-mod=mod", GOPROXY="off")
        with Daemon(folder, Path(place), server.options(), command, _CAPABILITIES) as daemon:
            client = _Client(daemon, folder, server)
            daemon.notified = client.read_diagnostics
            paths = sorted(_sources(folder, server))
            for path in paths:
                client.open(path)
            time.sleep(server.warm_seconds)
            every = [each for path in paths if path.startswith(below) for each in client.functions(path)]
            step = max(1.0, len(every) / most)
            chosen = [every[int(n * step)] for n in range(min(most, len(every)))]
            began = time.perf_counter()
            functions = [each for each in map(client.with_callers, chosen) if each is not None]
            seconds = time.perf_counter() - began
    return CallerSet(
        checkout.name,
        git(checkout, "config", "--get", "remote.origin.url").strip(),
        git(checkout, "rev-parse", "HEAD").strip(),
        language,
        server.version(),
        round(seconds, 1),
        tuple(path for path in paths if path not in client.unread),
        tuple(each for each in functions if each.path not in client.unread),
    )


def _sources(folder: Path, server: Server) -> Iterator[str]:
    compiled = None
    if (folder / "compile_commands.json").is_file() and server.name == "clangd":
        import json

        entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        compiled = {each["file"] for each in entries}
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.suffix not in server.languages or not path.is_file() or _LEFT_OUT & set(inside.parts):
            continue
        if compiled is None or str(path) in compiled or path.suffix in (".h", ".hpp"):
            yield inside.as_posix()


class _Client:
    """A language server for one folder."""

    def __init__(self, daemon: Daemon, folder: Path, server: Server) -> None:
        self._daemon, self._folder, self._server = daemon, folder, server
        self.unread: set[str] = set()
        """Files that include missing headers; the server does not know the calls in them."""

    def read_diagnostics(self, method: str, params: Any) -> None:
        """Record the server's diagnostics of a file."""
        if method == "textDocument/publishDiagnostics":
            path = self._inside(params["uri"])
            if path and any(each.get("code") == _NOT_INCLUDED for each in params["diagnostics"]):
                self.unread.add(path)

    def open(self, path: str) -> None:
        """Open a document, as an editor does."""
        file = self._folder / path
        self._daemon.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": file.as_uri(),
                    "languageId": self._server.languages[file.suffix],
                    "version": 1,
                    "text": file.read_text(encoding="utf-8", errors="replace"),
                }
            },
        )

    def functions(self, path: str) -> list[Sampled]:
        """Return the functions and methods of a file, by their lines."""
        params = {"textDocument": {"uri": (self._folder / path).as_uri()}}
        lines = (self._folder / path).read_text(encoding="utf-8", errors="replace").splitlines()
        try:
            symbols = self._daemon.request("textDocument/documentSymbol", params, _PATIENCE) or []
        except (RequestError, TimeoutError):
            return []
        found = {}
        for symbol in _flat(symbols):
            start = symbol["selectionRange"]["start"]
            name = symbol["name"].rpartition(")")[2].lstrip(".") or symbol["name"]
            name = name.partition("(")[0].rpartition("::")[2].rpartition(".")[2]
            text = lines[start["line"]] if start["line"] < len(lines) else ""
            at = text.find(name, max(0, start["character"] - len(name) - 1))
            if symbol["kind"] in _FUNCTIONS and name.isidentifier() and at >= 0:
                found[start["line"], at] = Sampled(path, start["line"], at, name, _FUNCTIONS[symbol["kind"]])
        return [found[place] for place in sorted(found)]

    def with_callers(self, function: Sampled) -> Sampled | None:
        """Return the function with its calls; None if the server cannot list them."""
        place = {
            "textDocument": {"uri": (self._folder / function.path).as_uri()},
            "position": {"line": function.line, "character": function.character},
        }
        try:
            items = self._daemon.request("textDocument/prepareCallHierarchy", place, _PATIENCE)
            if not items:
                return None
            calls = self._daemon.request("callHierarchy/incomingCalls", {"item": items[0]}, _PATIENCE) or []
        except (RequestError, TimeoutError):
            return None
        sites = {
            Site(path, each["start"]["line"])
            for call in calls
            if (path := self._inside(call["from"]["uri"])) is not None
            for each in call["fromRanges"]
        }
        ordered = tuple(sorted(sites, key=lambda site: (site.path, site.line)))
        return Sampled(
            function.path, function.line, function.character, function.name, function.kind, ordered
        )

    def _inside(self, uri: str) -> str | None:
        path = Path(unquote(urlsplit(uri).path))
        return path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else None


def _flat(symbols: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for symbol in symbols:
        if "selectionRange" in symbol:
            yield symbol
            yield from _flat(symbol.get("children") or [])


if __name__ == "__main__":
    main()
