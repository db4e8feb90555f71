"""A request of a signed-in person, and the queries that its view sends to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen
from starlette.requests import Request

from cairn.engine.methods import WEB, Tell
from cairn.engine.request import Request as EngineRequest
from cairn.engine.runner import Runner
from cairn.http.events import unless_disconnected
from cairn.http.guard import is_loopback_host
from cairn.settings.tree import ServeSettings
from cairn.web.highlighting import Highlighting

T = TypeVar("T")
Cancelled = Callable[[], bool]
"""Returns whether the browser has disconnected."""


@frozen
class Served:
    """The parts of the server that the views need."""

    runner: Runner
    settings: ServeSettings
    has_several: Callable[[], bool]
    """Returns whether several folders or repositories are open, so that addresses must name one."""


@frozen
class PageRequest:
    """A request whose queries are cancelled when the browser disconnects."""

    http: Request
    served: Served

    @property
    def repository(self) -> str:
        """The folder or repository that the address names; "" for all."""
        return self.http.query_params.get("repository", "")

    @property
    def is_local(self) -> bool:
        """Whether the browser runs on this machine: it has opened a loopback address."""
        return is_loopback_host(self.http.headers.get("host", ""))

    def named(self, folder: str) -> str:
        """Return the folder's URI if addresses must name it, else ""."""
        return folder if self.served.has_several() else ""

    async def answer(self, name: str, params: object) -> Any:
        """Call the method `name` and return its answer as an object of its class. Raises CairnError."""
        return await unless_disconnected(self.http, self.streamed_answer(name, params))

    async def streamed_answer(self, name: str, params: object, tell: Tell | None = None) -> Any:
        """Call a method as `answer` does, for a response that itself detects a disconnect."""
        return await self.served.runner.answer(
            name,
            params,
            front=WEB,
            workspace=self.repository,
            seconds=self.served.settings.request_seconds,
            tell=tell,
            as_json=False,
        )

    async def work(self, work: Callable[[EngineRequest], T]) -> T:
        """Run `work(request)` on a query thread, for the signed-in person. Raises CairnError."""
        seconds = self.served.settings.request_seconds
        running = self.served.runner.work(work, workspace=self.repository, seconds=seconds)
        found: T = await unless_disconnected(self.http, running)
        return found

    async def highlight(self, work: Callable[[], T], colours: Highlighting | None = None) -> T:
        """Run work that highlights texts on a thread, until the browser disconnects."""
        found: T = await unless_disconnected(self.http, _highlighted(work, colours or Highlighting()))
        return found


async def _highlighted(work: Callable[[], T], colours: Highlighting) -> T:
    with colours.stopped_when_cancelled():
        return await asyncio.to_thread(colours.run, work)
