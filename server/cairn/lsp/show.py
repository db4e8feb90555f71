"""The command `cairn.show`, for editors that do not execute it themselves: it shows what one section of
a panel would contain. A single place is opened; several places are listed in a message."""

from __future__ import annotations

from functools import partial
from typing import Any

from lsprotocol import types

from cairn.engine.methods import LSP
from cairn.engine.runner import read
from cairn.errors import InvalidRequestError
from cairn.lsp.editor_connection import Connection, error_responses
from cairn.lsp.own_requests import lsp_range
from cairn.protocol import ContextParams, ContextSection, Position, ReferencesParams
from cairn.schema.convert import structure

SHOW = "cairn.show"
_REFERENCES = (ContextSection.CALLERS, ContextSection.TESTS)
"""The sections that `cairn/references` fills, with the places that a lens counts."""
_MOST_LISTED = 10
_Place = tuple[str, types.Location]
"""A path, and where it is."""


def register_show(server: Connection) -> None:
    @server.command(SHOW)
    async def show(*arguments: Any) -> None:
        with error_responses():
            if len(arguments) != 1 or not isinstance(arguments[0], dict):
                raise InvalidRequestError("arguments", f"{SHOW} takes one object: uri, position and section")
            section = _section(arguments[0].get("section"))
            at = {"textDocument": {"uri": arguments[0].get("uri")}, "position": arguments[0].get("position")}
            await server.notifications_applied()
            places, message = await _places(server, section, at)
            if len(places) == 1 and await _is_opened(server, places[0][1]):
                return
            lines = [f"{path}:{place.range.start.line + 1}" for path, place in places[:_MOST_LISTED]]
            more = len(places) - len(lines)
            lines += [f"and {more:,} more"] if more > 0 else []
            text = "\n".join(lines) or message or f"Nothing is known for {section.value} of this place."
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def _section(given: Any) -> ContextSection:
    try:
        return ContextSection(given)
    except ValueError:
        known = ", ".join(ContextSection)
        raise InvalidRequestError("section", f"expected one of {known}, got {str(given)[:60]!r}") from None


async def _places(
    server: Connection, section: ContextSection, at: dict[str, Any]
) -> tuple[list[_Place], str]:
    """Return the places of a section, the best first, and what was looked for if there are none."""
    if section in _REFERENCES:
        params = structure({**at, "direction": section.value}, ReferencesParams)
        answer = await server.runner.answer("references", params, front=LSP, as_json=False)
        found = answer.references
        return [
            (each.path, types.Location(each.uri, lsp_range(each.range))) for each in found
        ], answer.message
    asked = structure({**at, "section": section.value}, ContextParams)
    if section in (ContextSection.DOCUMENTS, ContextSection.TOGETHER):
        uri, position = asked.text_document.uri, asked.position or Position(0, 0)
        if known := await _explained(server, section, uri, position):
            return known, ""
    answer = await server.runner.answer("context", asked, front=LSP, as_json=False)
    results = [each.result for each in answer.passages if each.section is section]
    return [(each.path, types.Location(each.uri, lsp_range(each.range))) for each in results], answer.message


async def _explained(server: Connection, section: ContextSection, uri: str, at: Position) -> list[_Place]:
    """Return the documents or the files that a lens names."""
    from cairn.engine.explained import changing_with, explained  # Imported after the engine is loaded.

    is_document = section is ContextSection.DOCUMENTS
    of_name = partial(explained, uri=uri, line=at.line, character=at.character)
    work = of_name if is_document else partial(changing_with, uri=uri)
    starts = [
        (each, types.Position(each.line, 0)) for each in await server.runner.work(partial(read, work=work))
    ]
    return [(each.path, types.Location(each.uri, types.Range(start, start))) for each, start in starts]


async def _is_opened(server: Connection, place: types.Location) -> bool:
    """Open a place in the editor. Return False if the editor cannot."""
    window = server.client_capabilities.window
    if window is None or window.show_document is None or not window.show_document.support:
        return False
    params = types.ShowDocumentParams(place.uri, take_focus=True, selection=place.range)
    return (await server.window_show_document_async(params)).success
