"""Hover: the documents that explain the name at a position, with what they say. The language's own server
shows the rest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from cairn.engine.runner import read
from cairn.lsp.capabilities import Feature, Options
from cairn.lsp.editor_connection import Connection

if TYPE_CHECKING:
    from cairn.engine.engine import Engine


def _options(engine: Engine) -> Options | None:
    return {"documentSelector": [{"scheme": "file"}]} if engine.settings().lsp.hover else None


async def _hover(server: Connection, params: types.HoverParams) -> types.Hover | None:
    if not (await server.runner.made()).settings().lsp.hover:
        return None
    from cairn.engine.explained import explained  # Imported after the engine is loaded.

    uri, at = params.text_document.uri, params.position
    await server.notifications_applied()
    work = partial(explained, uri=uri, line=at.line, character=at.character)
    found = await server.runner.work(partial(read, work=work))
    if not found:
        return None
    parts = [f"Explained in [{each.name}]({each.uri}#L{each.line + 1})\n\n{each.sentence}" for each in found]
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts)))


HOVER = Feature("hover", {types.TEXT_DOCUMENT_HOVER: _hover}, _options)
