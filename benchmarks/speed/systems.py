"""Runs the systems: indexes a checkout, answers queries, and counts what both take."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field, frozen
from engine.daemon import PATIENCE_SECONDS, Daemon
from engine.figures import Figures
from engine.index_file import opened
from engine.ready import indexed
from retrieval.baselines import Ripgrep

from speed.queries import Kind

SEMBLE, RIPGREP = "semble", "ripgrep, in a loop"
_CHUNKS = Path(__file__).resolve().parents[1] / "answers" / "semble_chunks.py"
_MINUTES = 60
_LIMIT = 10


@frozen
class Spent:
    seconds: float
    cpu: float
    """The processor time in seconds, of all processes."""


@define(eq=False)
class Cairn:
    """A version of Cairn, with the data folder of its index."""

    name: str
    checkout: Path | None
    """A checkout of the project that has this version; None for the one that is measured from."""
    data: Path
    _daemon: Daemon | None = field(default=None, init=False)

    @property
    def _own(self) -> Mapping[str, str]:
        path = {"PYTHONPATH": str(self.checkout / "server")} if self.checkout else {}
        # With this variable, each process of a fresh checkout would compile all modules again.
        path["PYTHONDONTWRITEBYTECODE"] = ""
        return {"CAIRN_DATA_DIR": str(self.data), "CAIRN_CONFIG_DIR": str(self.data / "settings"), **path}

    def index(self, checkout: Path, workers: int) -> Spent:
        """Index the checkout anew in a process of its own."""
        shutil.rmtree(self.data / "workspaces", ignore_errors=True)  # The unpacked grammars stay.
        own = {**self._own, "CAIRN_INDEX__WORKERS": str(workers)}
        return _run([sys.executable, "-m", "cairn", "index", "--quiet", str(checkout)], own)

    def size_of(self, checkout: Path) -> Figures:
        with indexed(checkout, self.data) as (_, figures):
            return {"files": figures["files"], "chunks": figures["chunks"]}

    @contextmanager
    def opened(self, checkout: Path) -> Iterator[float]:
        """Run the daemon, and yield its memory in MB."""
        os.environ.update(self._own)
        try:
            with indexed(checkout, self.data) as (daemon, _):
                self._daemon = daemon
                yield round(daemon.process.memory_info().rss / 1e6, 1)
        finally:
            self._daemon = None
            for name in self._own:
                os.environ.pop(name, None)

    def ask(self, kind: Kind, queries: Sequence[str]) -> list[Spent]:
        """Ask each query once, of a new process, since answers are cached. The processor time is the mean,
        since the system counts in hundredths of a second."""
        daemon = self._daemon
        assert daemon is not None
        seconds, before = [], daemon.cpu()
        for query in queries:
            began = time.perf_counter()
            if kind is Kind.DISCOVER:
                daemon.request("cairn/discover", {"query": query}, PATIENCE_SECONDS)
            else:
                daemon.search(query, limit=_LIMIT)
            seconds.append(time.perf_counter() - began)
        mean = (daemon.cpu() - before) / len(queries)
        return [Spent(each, mean) for each in seconds]


def index_semble(checkout: Path, python: Path, folder: Path) -> Spent:
    return _run(*_semble(checkout, python, folder, []))


def ask_semble(checkout: Path, python: Path, folder: Path, queries: Sequence[str]) -> list[Spent]:
    command, own, request = _semble(checkout, python, folder, queries)
    done = subprocess.run(
        command, env={**os.environ, **own}, input=request.encode(), capture_output=True, check=True,
        timeout=60 * _MINUTES,
    )  # fmt: skip
    answers = json.loads(done.stdout)["questions"]
    return [Spent(each["ms"] / 1000, each["cpu_ms"] / 1000) for each in answers]


def ask_ripgrep(checkout: Path, data: Path, queries: Sequence[str]) -> list[Spent]:
    """Search for each word of a query in the files that Cairn indexed, as an agent would with grep."""
    spent = []
    with opened(data) as index:
        ripgrep = Ripgrep(index, checkout)
        for query in queries:
            before, own, began = _children(), time.process_time(), time.perf_counter()
            ripgrep.ranked(query)
            cpu = _children() - before + time.process_time() - own
            spent.append(Spent(time.perf_counter() - began, cpu))
    return spent


def _semble(
    checkout: Path, python: Path, folder: Path, queries: Sequence[str]
) -> tuple[list[str], Mapping[str, str], str]:
    request = {
        "tree": str(checkout),
        "questions": list(queries),
        "limit": _LIMIT,
        "content": ["code", "docs", "config"],
    }
    own = {"XDG_CACHE_HOME": str(folder / "semble"), "PYTHONPATH": ""}
    return [str(python), str(_CHUNKS)], own, json.dumps(request)


def _run(command: Sequence[str], own: Mapping[str, str], standard_input: str = "") -> Spent:
    before, began = _children(), time.perf_counter()
    subprocess.run(
        command,
        env={**os.environ, **own},
        input=standard_input.encode(),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60 * _MINUTES,
    )
    return Spent(time.perf_counter() - began, _children() - before)


def _children() -> float:
    """Return the processor time in seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
