"""Offers the client those language features that the settings enable.

The answer to `initialize` announces permanently what the client does not let the server register later. All
else is registered whenever the settings change.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import frozen
from lsprotocol import types

from cairn.lsp.early import announced
from cairn.lsp.editor_connection import Connection, error_responses
from cairn.schema.convert import snake_case

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

Handler = Callable[[Connection, Any], Coroutine[Any, Any, Any]]
Options = Mapping[str, Any]


@frozen
class Feature:
    """One capability of LSP."""

    name: str
    """LSP's name of the capability, such as `codeLens`."""
    handlers: Mapping[str, Handler]
    """The handlers by LSP method. The first method is registered with the client."""
    options: Callable[[Engine], Options | None]
    """Returns the options to register the capability with; None while the settings disable it."""

    @property
    def method(self) -> str:
        return next(iter(self.handlers))


class Capabilities:
    """The features that the server offers to its client."""

    def __init__(self, server: Connection, features: Iterable[Feature]) -> None:
        self._server = server
        self._features = tuple(features)
        self._later: Sequence[Feature] = ()
        self._registered: dict[str, Options] = {}
        """The options of each registered capability, by its name."""

    def announce(self, options: Any) -> None:
        """During `initialize`, make pygls announce the capabilities for these `initializationOptions`."""
        now = announced(options, partial(_is_dynamic, self._server.client_capabilities))
        self._later = [each for each in self._features if each.name not in now]
        self._add_handlers(each for each in self._features if each.name in now)

    async def offer(self) -> None:
        """Add all handlers and register the remaining capabilities. Call this once, after `initialized`."""
        self._add_handlers(self._later)
        await self.renew()

    async def renew(self) -> None:
        """Register the dynamic capabilities for exactly what the settings enable."""
        engine, server = await self._server.runner.made(), self._server
        dynamic = [each for each in self._later if _is_dynamic(server.client_capabilities, each.name)]
        every = [(each, each.options(engine), self._registered.get(each.name)) for each in dynamic]
        changed = [each for each in every if each[1] != each[2]]
        self._registered |= {each.name: options for each, options, _ in changed if options is not None}
        gone = [each for each, _, before in changed if before is not None]
        for each, options, _ in changed:
            if options is None:
                self._registered.pop(each.name, None)
        if gone:
            ended = [types.Unregistration(f"cairn-{each.name}", each.method) for each in gone]
            await server.client_unregister_capability_async(types.UnregistrationParams(ended))
        if begun := [
            types.Registration(f"cairn-{each.name}", each.method, options)
            for each, options, _ in changed
            if options is not None
        ]:
            await server.client_register_capability_async(types.RegistrationParams(begun))

    def _add_handlers(self, features: Iterable[Feature]) -> None:
        for feature in features:
            for method, handler in feature.handlers.items():
                _register(self._server, method, handler)


def _register(server: Connection, method: str, handler: Handler) -> None:
    @server.feature(method)
    async def handle(params: Any) -> Any:
        with error_responses():
            return await handler(server, params)


def _is_dynamic(capabilities: types.ClientCapabilities, name: str) -> bool:
    capability = getattr(capabilities.text_document, snake_case(name), None)
    return getattr(capability, "dynamic_registration", None) is True
