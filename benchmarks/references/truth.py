#!/usr/bin/env python3
"""Ask a language server for the callers of functions sampled evenly from a repository, and write them as a
set.

    python benchmarks/references/truth.py CHECKOUT LANGUAGE OUTPUT_FOLDER [--functions 200] [--below FOLDER]
        [--uses]

With `--uses`, the set has functions and types with every use instead of the calls alone: as many as asked for
that are used, and half as many that are not. They are not in tests, nor inside of functions. Comments,
strings and other definitions of the same name, which some servers list, are no uses.

The checkout is copied first, since servers need files of their own in it. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from attrs import evolve

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import Daemon, RequestError
from engine.place import git

from cairn.workspace.collections import FileKind, file_kind
from references.model import CallerSet, Sampled, Site, write_set
from references.servers import SERVERS, NoServerError, Server

_FUNCTIONS = {6: "method", 9: "constructor", 12: "function"}
"""LSP's kinds of symbols that are called."""
_TYPES = {5: "class", 10: "enum", 11: "interface", 23: "struct"}
"""LSP's kinds of symbols that are types."""
_MOST_USES = 300
"""The largest number of uses of a definition in a set of uses; longer lists are cut in every answer."""
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
_COMMENT = re.compile(r"\s*(?://|/\*|\*(?:\s|/|$))")
"""A line of a comment in the languages whose servers list uses in comments."""
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
    parser.add_argument("--uses", action="store_true", help="all uses of functions and types")
    options = parser.parse_args()
    try:
        checkout = options.checkout.resolve()
        found = truth(checkout, options.language, options.functions, options.below, options.uses)
    except NoServerError as problem:
        sys.exit(str(problem))
    called = sum(bool(each.callers) for each in found.functions)
    sites = sum(len(each.callers) for each in found.functions)
    print(
        f"{write_set(found, options.output)}: {len(found.functions)} functions, {called} called, {sites} "
        "calls"
    )


def truth(checkout: Path, language: str, most: int, below: str = "", uses: bool = False) -> CallerSet:
    """Return the set of one repository, with all uses or the calls alone. Raises NoServerError if the server
    is not installed."""
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
            kinds = _FUNCTIONS | _TYPES if uses else _FUNCTIONS
            inside = [path for path in paths if path.startswith(below)]
            if uses:
                client.read_declarations(paths)
                inside = [path for path in inside if file_kind(path) == FileKind.SOURCE]
            every = [each for path in inside for each in client.definitions(path, kinds, local=not uses)]
            # Many definitions have no use, so more are asked for.
            asked = most * 3 if uses else most
            chosen = _evenly(every, asked)
            began = time.perf_counter()
            if uses:
                known = [each for each in map(client.with_uses, chosen) if each is not None]
                used = _evenly([each for each in known if each.callers], most)
                functions = used + _evenly([each for each in known if not each.callers], most // 2)
            else:
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


def is_code(line: str, name: str) -> bool:
    """Return whether a line that a server lists as a use of a name has more than a comment, or the name in
    quotes, as in `__all__`."""
    rest = re.sub(rf"[\"']{re.escape(name)}[\"']", "", line)
    return _COMMENT.match(line) is None and (rest == line or name in rest)


def _evenly(every: Sequence[Sampled], most: int) -> list[Sampled]:
    step = max(1.0, len(every) / most)
    return [every[int(n * step)] for n in range(min(most, len(every)))]


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
        self._declared: set[tuple[str, int, int]] = set()
        """The paths, lines and characters of the names of definitions."""

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

    def definitions(self, path: str, kinds: Mapping[int, str], *, local: bool = True) -> list[Sampled]:
        """Return the definitions of these kinds in a file, by their lines; those in functions only with
        `local`."""
        lines = self._lines(path)
        found = {}
        for symbol, is_local in _flat(self._symbols(path)):
            start, name = symbol["selectionRange"]["start"], _name(symbol)
            text = lines[start["line"]] if start["line"] < len(lines) else ""
            at = text.find(name, max(0, start["character"] - len(name) - 1))
            if symbol["kind"] in kinds and name.isidentifier() and at >= 0 and (local or not is_local):
                found[start["line"], at] = Sampled(path, start["line"], at, name, kinds[symbol["kind"]])
        return [found[place] for place in sorted(found)]

    def read_declarations(self, paths: Iterable[str]) -> None:
        """Read where these files define names."""
        for path in paths:
            for symbol, _ in _flat(self._symbols(path)):
                start = symbol["selectionRange"]["start"]
                self._declared.add((path, start["line"], start["character"]))

    def _symbols(self, path: str) -> Sequence[dict[str, Any]]:
        params = {"textDocument": {"uri": (self._folder / path).as_uri()}}
        try:
            return self._daemon.request("textDocument/documentSymbol", params, _PATIENCE) or []
        except (RequestError, TimeoutError):
            return []

    def _lines(self, path: str) -> list[str]:
        return (self._folder / path).read_text(encoding="utf-8", errors="replace").splitlines()

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
        return evolve(function, callers=_ordered(sites))

    def with_uses(self, definition: Sampled) -> Sampled | None:
        """Return the definition with the lines that refer to it, without its own; None if the server cannot
        list them, or if they are too many."""
        place = {
            "textDocument": {"uri": (self._folder / definition.path).as_uri()},
            "position": {"line": definition.line, "character": definition.character},
            "context": {"includeDeclaration": False},
        }
        try:
            found = self._daemon.request("textDocument/references", place, _PATIENCE) or []
        except (RequestError, TimeoutError):
            return None
        starts = {
            (path, each["range"]["start"]["line"], each["range"]["start"]["character"])
            for each in found
            if (path := self._inside(each["uri"])) is not None
        }
        sites = {Site(path, line) for path, line, _ in starts - self._declared}
        own = Site(definition.path, definition.line)
        uses = _ordered(site for site in sites if site != own and self._is_use(site, definition.name))
        return evolve(definition, callers=uses) if len(uses) <= _MOST_USES else None

    def _is_use(self, site: Site, name: str) -> bool:
        lines = self._lines(site.path)
        text = lines[site.line] if site.line < len(lines) else ""
        return is_code(text, name)

    def _inside(self, uri: str) -> str | None:
        path = Path(unquote(urlsplit(uri).path))
        return path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else None


def _ordered(sites: Iterable[Site]) -> tuple[Site, ...]:
    return tuple(sorted(sites, key=lambda site: (site.path, site.line)))


def _flat(symbols: Sequence[dict[str, Any]], is_local: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the symbols and those inside of them, and whether they are inside of a function."""
    for symbol in symbols:
        if "selectionRange" in symbol:
            yield symbol, is_local
            yield from _flat(symbol.get("children") or [], is_local or symbol["kind"] in _FUNCTIONS)


def _name(symbol: dict[str, Any]) -> str:
    name = symbol["name"].rpartition(")")[2].lstrip(".") or symbol["name"]
    return str(name.partition("(")[0].rpartition("::")[2].rpartition(".")[2])


if __name__ == "__main__":
    main()
