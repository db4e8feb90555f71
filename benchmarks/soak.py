#!/usr/bin/env python3
"""Run eight clients at once on one `cairn serve` (LSP, REST and MCP) while files are saved, and check errors
and memory.

    python benchmarks/soak.py FOLDER [--minutes 10] [--clients 8] [--output FILE]

It works on a copy of FOLDER. Connections come and go. Every tenth save is searched for until it is found.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.figures import Figures, milliseconds, run_conditions
from engine.place import Place, place_for
from engine.wording import questions
from serving.clients import Asker, Lsp, Mcp, Rest
from serving.server import Server, serving

_REQUESTS_A_CONNECTION = 100
_SAVE_SECONDS = 1.0
_SAMPLE_SECONDS = 5.0
_MINUTE = 60.0
_FLAT = 0.10
"""The allowed difference of a later minute's mean from that of the second minute. Single samples depend more
on garbage collection."""
_KINDS = ("lsp", "rest", "mcp")
_METHODS = {"search": 60, "discover": 10, "related": 10, "fetchPage": 10, "status": 5, "expandQueries": 5}
"""The number of requests of each method per hundred."""


class Soak:
    """One run."""

    language, suffixes = "python", frozenset({".py"})
    """The language and suffixes of the files that are saved and typed into."""
    pause_seconds = 0.2
    """The longest pause between two requests of a client."""
    found_seconds = 10.0
    """The limit after which a save that is not found is an error."""

    def __init__(self, server: Server, place: Place, queries: list[str], seed: int) -> None:
        self._server, self._place, self._queries, self._seed = server, place, queries, seed
        self._stop = threading.Event()
        self._began = time.monotonic()
        self._noting = threading.Lock()
        self.took: defaultdict[str, list[float]] = defaultdict(list)
        """The seconds by kind of client and method."""
        self.errors: list[str] = []
        self.saves = self.found = 0
        self.samples: list[Figures] = []
        self._files = self._chosen(
            sorted(path for path in place.tree.rglob("*") if path.suffix in self.suffixes and _is_small(path))
        )

    def run(self, clients: int, minutes: float) -> None:
        """Run all clients and the background work on threads."""
        work = self._work()
        work += [self._client(_KINDS[number % len(_KINDS)], number) for number in range(clients)]
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        self._stop.wait(60 * minutes)
        self._stop.set()
        for thread in threads:
            thread.join()

    def _chosen(self, files: list[Path]) -> list[Path]:
        """Return the files that may be saved and typed into."""
        return files

    def _work(self) -> list[Callable[[], None]]:
        """Return the work that runs beside the clients, each on its own thread, until `_stop` is set."""
        return [self._save, self._sample]

    def _client(self, kind: str, number: int) -> Callable[[], None]:
        drawn = random.Random(self._seed + number)

        def live() -> None:
            while not self._stop.is_set():
                try:
                    asker = self._connect(kind)
                    for _ in range(_REQUESTS_A_CONNECTION):
                        if not self._stop.is_set():
                            self._ask(asker, kind, drawn)
                            self._stop.wait(drawn.uniform(0, self.pause_seconds))
                    asker.close()
                except Exception as problem:  # noqa: BLE001 - whatever it is, it is what this is for
                    self._note(f"{kind} {number}: {type(problem).__name__}: {problem}")
                    self._stop.wait(1)

        return live

    def _connect(self, kind: str) -> Asker:
        if kind == "lsp":
            return Lsp(self._server, self._place.tree)
        return Rest(self._server) if kind == "rest" else Mcp(self._server)

    def _ask(self, asker: Asker, kind: str, drawn: random.Random) -> None:
        (method,) = drawn.choices([*_METHODS], [*_METHODS.values()])
        began = time.perf_counter()
        answer = asker.ask(method, self._params(method, drawn))
        took = time.perf_counter() - began
        with self._noting:
            self.took[f"{kind} {method}"].append(took)
        if method == "search":
            self._check(kind, answer)
        if isinstance(asker, Lsp) and method == "fetchPage":
            self._type(asker, drawn)

    def _check(self, kind: str, answer: dict[str, Any]) -> None:
        """Record faults in the answer to a search."""
        if not answer["index"]["generation"]:
            self._note(f"{kind}: an answer of no index: {answer['retrieval']}")

    def _params(self, method: str, drawn: random.Random) -> dict[str, Any]:
        file = drawn.choice(self._files)
        if method == "related":
            line = {"line": 0, "character": 0}
            return {"textDocument": {"uri": file.as_uri()}, "range": {"start": line, "end": line}}
        if method == "fetchPage":
            return {"path": file.relative_to(self._place.tree).as_posix()}
        return {} if method == "status" else {"query": drawn.choice(self._queries)}

    def _type(self, editor: Lsp, drawn: random.Random) -> None:
        """Open a document, type and close it without saving, as a user does."""
        file = drawn.choice(self._files)
        text = file.read_text(encoding="utf-8", errors="replace")
        document = {"uri": file.as_uri(), "version": 1}
        editor.notify(
            "textDocument/didOpen", {"textDocument": {**document, "languageId": self.language, "text": text}}
        )
        changed = {"contentChanges": [{"text": text + "\n# typed\n"}]}
        editor.notify("textDocument/didChange", {"textDocument": {**document, "version": 2}, **changed})
        editor.ask("search", {"query": drawn.choice(self._queries)})
        editor.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})

    def _save(self) -> None:
        drawn, rest = random.Random(self._seed), Rest(self._server)
        saved: tuple[Path, bytes] | None = None
        while not self._stop.wait(_SAVE_SECONDS):
            if saved is not None:  # The sleep keeps the change long enough for the daemon to notice it.
                self._place.write(*saved)
            file, word = drawn.choice(self._files), f"soakword{self.saves}x"
            before = file.read_bytes()
            self._place.write(file, before + f"\n{word} = {self.saves}\n".encode())
            self.saves += 1
            if self.saves % 10 == 0:
                self._look_for(rest, word, file.relative_to(self._place.tree).as_posix())
            saved = file, before

    def _look_for(self, rest: Rest, word: str, path: str) -> None:
        deadline = time.monotonic() + self.found_seconds
        while time.monotonic() < deadline:
            results = rest.ask("search", {"query": word})["results"]
            if any(result["path"] == path for result in results):
                self.found += 1
                return
            time.sleep(0.1)
        self._note(f"{word} in {path} was not found within {self.found_seconds:g} s of its save")

    def _sample(self) -> None:
        began = time.monotonic()
        while True:
            process = self._server.process
            self.samples.append(
                {
                    "seconds": round(time.monotonic() - began, 1),
                    "rss_mb": round(process.memory_info().rss / 1e6, 1),
                    "threads": process.num_threads(),
                    "files": process.num_fds() if hasattr(process, "num_fds") else None,
                }
            )
            if self._stop.wait(_SAMPLE_SECONDS):
                return

    def _note(self, problem: str) -> None:
        with self._noting:
            self.errors.append(f"after {time.monotonic() - self._began:.0f} s: {problem}")


def _is_small(path: Path) -> bool:
    return path.is_file() and 0 < path.stat().st_size < 50_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    before = run_conditions()
    with place_for(options.folder.resolve(), None) as place, serving(place.tree, place.data) as server:
        wait_until_ready(server)
        queries = questions(place.tree, 200, random.Random(options.seed))
        soak = Soak(server, place, queries, options.seed)
        soak.run(options.clients, options.minutes)
        status = Rest(server).ask("status", {})
    entry = figures(soak, status, options)
    shown = json.dumps({"conditions": before, **entry}, indent=2)
    print(shown)
    if options.output:
        options.output.write_text(shown + "\n", encoding="utf-8")
    sys.exit(0 if entry["met"] else 1)


def wait_until_ready(server: Server, patience: float = math.inf) -> None:
    """Wait until nothing is left to do. Raises TimeoutError after `patience` seconds."""
    rest, deadline = Rest(server), time.monotonic() + patience
    while (status := rest.ask("status", {}))["state"] != "ready":
        if time.monotonic() > deadline:
            raise TimeoutError(f"not ready after {patience:g} s: {status}")
        time.sleep(0.5)


def figures(soak: Soak, status: Figures, options: argparse.Namespace) -> Figures:
    later = [s for s in soak.samples if s["seconds"] >= _MINUTE] or soak.samples
    rss = [sample["rss_mb"] for sample in later]
    means = _means_by_minute(later)
    away = max(abs(mean - means[0]) / means[0] for mean in means)
    return {
        "folder": options.folder.name,
        "clients": options.clients,
        "minutes": options.minutes,
        "files": status["files"]["indexed"],
        "chunks": status["chunks"],
        "phase": status["phase"],
        "requests": sum(map(len, soak.took.values())),
        "errors": len(soak.errors),
        "first_errors": soak.errors[:10],
        "saves": soak.saves,
        "saves_looked_for_and_found": soak.found,
        "rss_mb_by_minute_from_the_second": means,
        "rss_mb_least_and_most_of_them": [min(rss), max(rss)],
        "rss_away_from_the_second_minute": round(away, 3),
        "threads_least_and_most": [min(s["threads"] for s in later), max(s["threads"] for s in later)],
        "ms": {name: milliseconds(took) for name, took in sorted(soak.took.items())},
        "samples": soak.samples[:: max(1, len(soak.samples) // 60)],
        "met": not soak.errors and away <= _FLAT,
    }


def _means_by_minute(samples: list[Figures]) -> list[float]:
    """Return the mean memory in MB of each minute that has samples."""
    minutes: defaultdict[int, list[float]] = defaultdict(list)
    for sample in samples:
        minutes[int(sample["seconds"] / _MINUTE)].append(sample["rss_mb"])
    return [round(sum(rss) / len(rss), 1) for _, rss in sorted(minutes.items())]


if __name__ == "__main__":
    main()
