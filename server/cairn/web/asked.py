"""One request of a person who is signed in, and how its view asks the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen
from starlette.requests import Request

from cairn.engine.engine import Engine
from cairn.engine.methods import WEB
from cairn.engine.request import Tell
from cairn.engine.runner import Runner
from cairn.http.guard import is_loopback_host
from cairn.http.leaving import unless_left
from cairn.settings.tree import ServeSettings

T = TypeVar("T")
Cancelled = Callable[[], bool]
"""Whether the browser does not want the answer any more."""


@frozen
class Served:
    """What the views are given by the server."""

    runner: Runner
    settings: ServeSettings
    has_several: Callable[[], bool]
    """Whether a path may need the name of its folder or repository."""


@frozen
class Asked:
    """A request. Work for it is cancelled when the browser leaves."""

    request: Request
    served: Served

    @property
    def repository(self) -> str:
        """The folder or repository that the address names; "" for all."""
        return self.request.query_params.get("repository", "")

    @property
    def is_local(self) -> bool:
        """Whether the browser runs on this machine, as far as the address tells."""
        return is_loopback_host(self.request.headers.get("host", ""))

    def named(self, folder: str) -> str:
        """The folder's URI for an address, where that needs one; else ""."""
        return folder if self.served.has_several() else ""

    async def answer(self, name: str, params: object, tell: Tell | None = None) -> Any:
        """What the method `name` answers: an object of its class, to params of its class. Raises CairnError."""
        return await unless_left(self.request, self.asking(name, params, tell))

    async def asking(self, name: str, params: object, tell: Tell | None = None) -> Any:
        """As `answer`, for a response that notices by itself that the browser has left."""
        return await self.served.runner.answer(
            name,
            params,
            front=WEB,
            workspace=self.repository,
            seconds=self.served.settings.request_seconds,
            tell=tell,
            as_json=False,
        )

    async def work(self, work: Callable[[Engine, Cancelled], T]) -> T:
        """`work(engine, cancelled)` on a query thread, over what this person may see. Raises CairnError."""
        asked = self.served.runner.work(
            work, workspace=self.repository, seconds=self.served.settings.request_seconds
        )
        found: T = await unless_left(self.request, asked)
        return found
