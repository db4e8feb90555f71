"""The first requests to a folder wait until it is indexed, but not for what never comes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import define

from cairn.engine.engine import Engine
from cairn.engine.runner import Runner
from cairn.engine.startup_wait import Missing, StartupWait

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 60
FOREVER = dict.fromkeys(Missing, 100.0 * PATIENCE_SECONDS)
BRIEFLY = dict.fromkeys(Missing, 0.001)


@define
class Indexing:
    """An engine whose folder is scanned after `scanned_after` looks at its progress."""

    scanned_after: float = float("inf")
    texts_queued: int = 0
    looks: int = 0
    problem: str | None = None
    is_paused: bool = False
    retrieval_enabled: bool = True
    phase: int = 2
    workspace: str = ""

    @contextmanager
    def asked(self, _caller: str, workspace: str) -> Iterator[Asked]:
        self.workspace = workspace
        yield Asked(self)

    def progress(self) -> Indexing:
        self.looks += 1
        return self

    @property
    def scanned(self) -> bool:
        return self.looks > self.scanned_after


@define
class Asked:
    """A request to `folders`."""

    folders: Indexing
    cancelled: object = None

    @property
    def settings(self) -> SimpleNamespace:
        return SimpleNamespace(retrieval=SimpleNamespace(enabled=self.folders.retrieval_enabled))

    @property
    def caller(self) -> SimpleNamespace:
        return SimpleNamespace(phases=lambda _: (self.folders.phase, 3))

    def catch_up(self) -> None:
        pass


@pytest.fixture(autouse=True)
def staged_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.engine.status.progress_of", lambda folders: folders.progress())


async def wait(first: StartupWait, engine: Indexing, workspace: str = "") -> None:
    runner = Runner(lambda: cast(Engine, engine))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await first.wait(runner, workspace)
    finally:
        runner.close()


async def test_a_request_waits_until_its_folder_is_scanned() -> None:
    engine = Indexing(scanned_after=3)
    await wait(StartupWait(FOREVER), engine, "harbour")
    assert (engine.looks, engine.workspace) == (4, "harbour")


async def test_requests_wait_again_after_a_later_checkout() -> None:
    first, engine = StartupWait(FOREVER), Indexing(scanned_after=3)
    await wait(first, engine)
    engine.scanned_after = engine.looks + 3
    await wait(first, engine)
    assert engine.scanned


async def test_a_later_checkout_has_a_deadline_of_its_own() -> None:
    first, engine = StartupWait(BRIEFLY), Indexing()
    await wait(first, engine)  # The deadline passes.
    engine.scanned_after = 0
    await wait(first, engine)
    looks, engine.scanned_after = engine.looks, float("inf")
    await wait(first, engine)
    assert engine.looks > looks + 1


HOPELESS = [{"problem": "read-only"}, {"is_paused": True}, {"retrieval_enabled": False}, {"phase": 0}]


@pytest.mark.parametrize("state", HOPELESS, ids=str)
async def test_a_request_does_not_wait_for_files_that_cannot_come(state: dict[str, Any]) -> None:
    engine = Indexing(**state)
    await wait(StartupWait(FOREVER), engine)
    assert engine.looks == 1


@pytest.mark.parametrize("missing", [{}, {"scanned_after": 0, "texts_queued": 9}], ids=str)
async def test_what_never_comes_delays_only_the_first_request(missing: dict[str, Any]) -> None:
    first, engine = StartupWait(BRIEFLY), Indexing(**missing)
    await wait(first, engine)
    looks = engine.looks
    assert looks > 1
    await wait(first, engine)
    assert engine.looks == looks + 1
