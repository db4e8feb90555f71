#!/usr/bin/env python3
"""Send thousands of malformed and hostile requests through every front, and check for failures, hangs,
crashes, growth and leaks.

    python benchmarks/hostile.py FOLDER [--requests 10000] [--kinds rest lsp mcp mcp-stdio] [--output FILE]

It starts its own `cairn serve` (for `mcp-stdio`, `cairn mcp`) on a copy of FOLDER, and sends this many
requests of each kind. After each batch, a valid request must be answered. `hostile_http.py`, `hostile_lsp.py`
and `hostile_mcp.py` make the requests; the same seed makes the same ones. It exits with 1 if anything but an
answer or a refusal came back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import hostile_http
import hostile_lsp
import hostile_mcp
from engine.figures import Figures, milliseconds, run_conditions
from engine.place import Place, place_for
from engine.wording import questions
from hostile_traffic import Report, write_secret
from serving.clients import Rest
from serving.server import Server, environment_of, serving

_BATCH = 500
_Batch = Callable[[int, int, Report], Awaitable[Any]]
"""A function that sends a number of requests from a seed."""


class Siege:
    """One server under all kinds of traffic."""

    def __init__(self, server: Server, place: Place, at_once: int, seed: int) -> None:
        self._server, self._seed = server, seed
        described = _get(f"{server.url}/openapi.json", server.authorization)
        rest = hostile_http.target_of(server.url, server.token, described)
        lsp = hostile_lsp.target_of(server.lsp_host, server.lsp_port, server.token, place.tree, described)
        mcp = self._mcp = hostile_mcp.target_of(server.mcp, server.token)
        own = environment_of(place.data)
        (self._sound,) = questions(place.tree, 1, random.Random(seed))
        self.kinds: dict[str, _Batch] = {
            "rest": lambda n, seed, report: hostile_http.attack(rest, n, seed, at_once, report),
            "lsp": lambda n, seed, report: hostile_lsp.attack(lsp, n, seed, at_once, report),
            "mcp": lambda n, seed, report: hostile_mcp.attack_http(mcp, place.tree, n, seed, at_once, report),
            "mcp-stdio": lambda n, seed, report: hostile_mcp.attack_stdio(place.tree, n, seed, report, own),
        }

    def run(self, kind: str, count: int) -> Figures:
        """Send `count` requests of a kind, and return the report."""
        report, began, before = Report(), time.perf_counter(), self._memory()
        crashed = False
        for batch, sent in enumerate(range(0, count, _BATCH)):
            asyncio.run(self.kinds[kind](min(_BATCH, count - sent), self._seed + batch, report))
            crashed = self._server.process.poll() is not None
            if crashed:
                report.problems.append(f"`cairn serve` ended with {self._server.process.returncode}")
                break
            report.problems += self._invalid_answers()
        return {
            "requests": sum(report.by_kind.values()),
            "seconds": round(time.perf_counter() - began, 1),
            "kinds": dict(report.by_kind.most_common()),
            "outcomes": dict(report.outcomes.most_common()),
            "failures": report.failures,
            "hangs": report.hangs,
            "crashed": crashed,
            "ms": milliseconds(report.times),
            "slowest": report.slowest[1][:300],
            "rss_mb": [before, None if crashed else self._memory()],
            "problems": len(report.problems),
            "first_problems": report.problems[:10],
        }

    def _invalid_answers(self) -> list[str]:
        """Return the faults of the answers to valid requests."""
        try:
            rest = Rest(self._server)
            found = rest.ask("search", {"query": self._sound})
            rest.close()
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is what this is for
            return [f"{type(problem).__name__}: {problem} to a sound request"]
        wrong = asyncio.run(hostile_mcp.status_over_http(self._mcp))
        return [*([] if found["results"] else ["a sound search found nothing"]), *([wrong] if wrong else [])]

    def _memory(self) -> float:
        return round(self._server.process.memory_info().rss / 1e6, 1)


def _get(url: str, headers: dict[str, str]) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return json.load(answer)


_STEADY = {"CAIRN_RETRIEVAL__KILL_SWITCH__AUTOMATIC": "false"}
"""A kill switch that stepped down to off, since eight clients make searches slow, would end the test."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ("rest", "lsp", "mcp", "mcp-stdio")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, default=10_000, help="number of each kind")
    parser.add_argument("--kinds", nargs="+", choices=known, default=known)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    shown: Figures = {
        "conditions": {
            **run_conditions(),
            "folder": options.folder.resolve().name,
            "requests_of_each_kind": options.requests,
            "at_once": options.at_once,
            "seed": options.seed,
        }
    }
    with place_for(options.folder.resolve(), None) as place:
        write_secret(place.tree)
        with serving(place.tree, place.data, _STEADY) as server:
            rest = Rest(server)
            while (status := rest.ask("status", {}))["state"] != "ready":
                time.sleep(0.5)
            shown["conditions"]["files"] = status["files"]["indexed"]
            shown["conditions"]["chunks"] = status["chunks"]
            siege = Siege(server, place, options.at_once, options.seed)
            for kind in options.kinds:
                shown[kind] = siege.run(kind, options.requests)
                print(kind, json.dumps(shown[kind], indent=2), flush=True)
    if options.output:
        options.output.write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(shown[kind]["problems"] for kind in options.kinds))


if __name__ == "__main__":
    main()
