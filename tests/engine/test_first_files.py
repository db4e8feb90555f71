"""How long the first questions to a folder that nobody has indexed wait, and when they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from attrs import define

from cairn.engine.engine import Engine
from cairn.engine.first_files import FirstFiles
from cairn.engine.runner import Runner

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 60
FOREVER = 100 * PATIENCE_SECONDS


@define
class Indexing:
    """An engine whose files can be found after so many looks."""

    looks: int = 0
    found_after: int | None = None
    problem: str | None = None
    retrieval_enabled: bool = True
    phase: int = 2
    asked_over: str = ""

    @contextmanager
    def asked(self, _caller: str, workspace: str) -> Iterator[Indexing]:
        self.asked_over = workspace
        yield self

    def searchable(self) -> bool:
        self.looks += 1
        return self.found_after is not None and self.looks > self.found_after

    def progress(self) -> Indexing:
        return self

    def figures(self) -> Indexing:
        return self


async def waited(first: FirstFiles, engine: Indexing, workspace: str = "") -> None:
    runner = Runner(lambda: cast(Engine, engine))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await first.wait(runner, workspace)
    finally:
        runner.close()


async def test_a_question_waits_until_something_can_be_found() -> None:
    engine = Indexing(found_after=3)
    await waited(FirstFiles(FOREVER), engine, "harbour")
    assert (engine.looks, engine.asked_over) == (4, "harbour")


@pytest.mark.parametrize(
    "hopeless", [{"problem": "The index cannot be written."}, {"retrieval_enabled": False}, {"phase": 0}]
)
async def test_nobody_waits_for_files_that_cannot_come(hopeless: dict[str, Any]) -> None:
    engine = Indexing(**hopeless)
    await waited(FirstFiles(FOREVER), engine)
    assert engine.looks == 1


async def test_files_that_never_come_are_waited_for_once() -> None:
    first, engine = FirstFiles(0.001), Indexing()
    await waited(first, engine)
    looks = engine.looks
    assert looks >= 1
    await waited(first, engine)
    assert engine.looks == looks
