"""Code lenses: how many call and test a definition, which documents explain it, and what changes with it.

A request for the lenses of a file is answered in milliseconds, and while unsaved text is being read with the
last lenses, moved to their lines in the new text. The titles are counted one definition at a time, and stay
until the index has changed and another count was made, so that nothing flickers while the user types.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from cairn.engine.runner import read
from cairn.errors import InvalidRequestError
from cairn.lsp.capabilities import Feature, Options
from cairn.lsp.editor_connection import Connection
from cairn.lsp.show import SHOW
from cairn.protocol import ContextSection
from cairn.settings.tree import Lenses as Wanted

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.lenses import Lens


def _options(engine: Engine) -> Options | None:
    if engine.settings().lsp.lenses is Wanted.OFF:
        return None
    return {"documentSelector": [{"scheme": "file"}], "resolveProvider": True}


async def _lenses(server: Connection, params: types.CodeLensParams) -> list[types.CodeLens]:
    if (await server.runner.made()).settings().lsp.lenses is Wanted.OFF:
        return []
    from cairn.engine.lenses import lenses  # Imported after the engine is loaded.

    uri = params.text_document.uri
    await server.notifications_applied()
    found = await server.runner.work(partial(read, work=partial(lenses, uri=uri)))
    return [_code_lens(uri, each) for each in found]


async def _resolve(server: Connection, lens: types.CodeLens) -> types.CodeLens:
    from cairn.engine.lenses import titles

    uri, name, number, character, section = _data(lens)
    await server.notifications_applied()
    work = partial(titles, uri=uri, definition=(name, number))
    found = await server.runner.work(partial(read, work=work))
    title = found.get(section, "")
    position = {"line": lens.range.start.line, "character": character}
    argument = {"uri": uri, "position": position, "section": section.value}
    lens.command = types.Command(title, SHOW, arguments=[argument])
    return lens


def _code_lens(uri: str, lens: Lens) -> types.CodeLens:
    start = types.Position(lens.line, 0)
    data = [uri, lens.name, lens.number, lens.character, lens.section.value]
    return types.CodeLens(types.Range(start, start), data=data)


def _data(lens: types.CodeLens) -> tuple[str, str, int, int, ContextSection]:
    """Return what `_code_lens` wrote. Raise InvalidRequestError for another lens."""
    match lens.data:
        case [str(uri), str(name), int(number), int(character), str(section)]:
            with suppress(ValueError):
                return uri, name, number, character, ContextSection(section)
    raise InvalidRequestError("data", "is not that of a lens of Cairn")


LENSES = Feature(
    "codeLens", {types.TEXT_DOCUMENT_CODE_LENS: _lenses, types.CODE_LENS_RESOLVE: _resolve}, _options
)
