"""Asks Cairn, and ripgrep for comparison, for the calls of the functions of a set."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.daemon import Daemon, RequestError
from engine.index_file import UnavailableError

from references.model import CallerSet, Sampled, Site
from references.scoring import Found

CAIRN, RIPGREP = "cairn", "rg -w"
_MOST = 1_000
_INVALID_PARAMS = -32602


def ask_cairn(truth: CallerSet, daemon: Daemon) -> list[Found]:
    """Return the answers of `cairn/references` for the place of each function's name."""
    return [_ask(daemon, function) for function in truth.functions]


def _ask(daemon: Daemon, function: Sampled) -> Found:
    params = {
        "textDocument": {"uri": (daemon.folder / function.path).as_uri()},
        "position": {"line": function.line, "character": function.character},
        "direction": "callers",
        "limit": _MOST,
    }
    began = time.perf_counter()
    try:
        answer = daemon.request("cairn/references", params)
    except RequestError as error:
        if error.code != _INVALID_PARAMS:
            raise
        # Generated files are not indexed, so their calls are missed.
        answer = {"references": [], "definitions": []}
    took = time.perf_counter() - began
    sites: dict[Site, float] = {}
    for each in answer["references"]:
        if each["kind"] == "request":
            continue  # Language servers do not know the requests to a route.
        site = Site(each["path"], each["range"]["start"]["line"])
        sites[site] = max(each["confidence"], sites.get(site, 0.0))
    known = {each["kind"] for each in answer.get("notes", ())} - {"public", "unused"}
    return Found(sites, 1_000 * took, bool(answer["definitions"]) and not sites and not known)


def ask_ripgrep(truth: CallerSet, tree: Path) -> list[Found]:
    """Return every line that has a function's name as a word, without that of its definition.

    Raises UnavailableError if there is no `rg` on the path.
    """
    binary = shutil.which("rg")
    if binary is None:
        raise UnavailableError("there is no rg on the path")
    return [_searched(binary, truth.covered, function, tree) for function in truth.functions]


def _searched(binary: str, covered: Sequence[str], function: Sampled, tree: Path) -> Found:
    command = [
        binary,
        "--no-config",
        "-w",
        "-F",
        "--null",
        "--line-number",
        "--no-heading",
        "--text",
        "--no-ignore",
    ]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "-e", function.name, "--", *covered],
        cwd=tree,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    took = time.perf_counter() - began
    own = Site(function.path, function.line)
    return Found(dict.fromkeys((site for site in _sites(done.stdout) if site != own), 1.0), 1_000 * took)


def _sites(output: bytes) -> Iterator[Site]:
    for line in output.decode(errors="replace").splitlines():
        path, zero, rest = line.partition("\0")
        if zero:
            yield Site(path, int(rest.partition(":")[0]) - 1)
