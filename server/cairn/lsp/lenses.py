"""Code lenses: how many call and test a definition, which documents explain it, and what changes with it.

What has lenses is known in milliseconds. While unsaved text is being read, the client gets the last lenses,
moved to their lines in the new text. Titles are counted one definition at a time. The client keeps the last
ones until the index has changed and another count was made, so that nothing flickers while the user types.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from cairn.engine.runner import read
from cairn.errors import CairnError, InvalidRequestError
from cairn.lsp.capabilities import Feature, Options
from cairn.lsp.editor_connection import Connection
from cairn.lsp.show import SHOW
from cairn.protocol import ContextSection
from cairn.settings.tree import Lenses
from cairn.text.verbatim import lines_of

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.lenses import Counted, Definition, FileLenses, Lens, Titles

_PATIENCE_SECONDS = 0.008
"""How long a request waits for unsaved text to be read, which takes 40 to 120 ms after each change."""
_CALM_SECONDS = 1.0
"""How long the worker waits after a change, since more changes often follow."""
_REST = 4.0
"""How long the worker rests after counting, as a multiple of the time that it took."""
_MOST_COUNTED = 200
"""The maximum number of definitions of a document that are counted before the client resolves them."""
_MOST_DOCUMENTS = 50
"""The maximum number of documents whose lenses are remembered."""
_NONE = {ContextSection.TESTS: "no tests"}
"""The titles of lenses that `lenses` expected, and that turned out to count nothing."""
_BESIDE = (ContextSection.TESTS, ContextSection.DOCUMENTS, ContextSection.TOGETHER)
"""The sections that a definition may have besides its callers, in the order of their lenses."""


@define
class _Document:
    """What the client was last shown of a document."""

    text: str | None
    """The text in the editor; None if the document is not open."""
    found: FileLenses
    titles: dict[Definition, Counted] = field(factory=dict)
    """The titles of each counted definition."""
    shown: dict[Definition, dict[ContextSection, str]] = field(factory=dict)
    """The titles that the client shows, "" for those that it has not resolved yet."""

    def by_definition(self) -> Iterator[tuple[Definition, list[Lens]]]:
        for definition, lenses in groupby(self.found.lenses, key=lambda each: each.definition):
            yield definition, list(lenses)

    def counted(self) -> set[Definition]:
        """Return the definitions whose lenses need a count."""
        return {each.definition for each in self.found.lenses if not each.title}

    def known(self, *, is_current: bool) -> dict[Definition, Titles]:
        """Return the known titles; with `is_current`, those that no change of the index can have changed."""
        state = self.found.state
        every = self.titles.items()
        return {name: each.titles for name, each in every if each.state == state or not is_current}


class CodeLenses:
    """The code lenses of one client."""

    def __init__(self, server: Connection) -> None:
        self._server = server
        self._documents: dict[str, _Document] = {}
        self._reading: dict[str, asyncio.Task[_Document]] = {}
        self._moved: dict[str, tuple[Lens, ...]] = {}
        """The lenses with which documents that are being read were answered last."""
        self._counting: dict[tuple[str, Definition], asyncio.Task[Titles]] = {}
        self._stale = asyncio.Event()
        self._shown: Lenses | None = None
        """The setting by which the client was last answered."""
        self.feature = Feature(
            "codeLens",
            {types.TEXT_DOCUMENT_CODE_LENS: self._lenses, types.CODE_LENS_RESOLVE: self._resolve},
            _options,
        )

    async def keep_current(self) -> None:
        """Count again when the index has changed, and let the client ask again if a title did. This runs as
        long as the connection, unless the client cannot ask again."""
        if not self._can_refresh:
            return
        self._server.on_change(self._stale.set)
        while True:
            await self._stale.wait()
            self._stale.clear()
            await asyncio.sleep(_CALM_SECONDS)
            began = asyncio.get_running_loop().time()
            opened = [uri for uri in self._documents if uri in self._server.workspace.text_documents]
            with suppress(CairnError):
                if self._shown is not Lenses.OFF and any([await self._is_changed(uri) for uri in opened]):
                    await self._refresh()
            await asyncio.sleep(_REST * (asyncio.get_running_loop().time() - began))

    async def settings_changed(self) -> None:
        """Let the client ask again if the setting has changed since its last question."""
        wanted = _wanted(await self._server.runner.made())
        if self._shown not in (None, wanted):
            await self._refresh()

    async def _refresh(self) -> None:
        """Let the client ask again, if it can."""
        if self._can_refresh:
            with suppress(JsonRpcException):
                await self._server.workspace_code_lens_refresh_async(None)

    @property
    def _can_refresh(self) -> bool:
        workspace = self._server.client_capabilities.workspace
        return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)

    # --- requests ----------------------------------------------------------------------------------------

    async def _lenses(self, server: Connection, params: types.CodeLensParams) -> list[types.CodeLens]:
        self._shown = _wanted(await server.runner.made())
        if self._shown is Lenses.OFF:
            return []
        uri = params.text_document.uri
        if (reading := self._reading.get(uri)) is None:
            reading = self._reading[uri] = asyncio.create_task(self._read(uri))
            reading.add_done_callback(lambda _: self._reading.pop(uri, None))
        before = self._documents.get(uri)
        if before is not None and before.found.lenses:
            await asyncio.wait([reading], timeout=_PATIENCE_SECONDS)
            if not reading.done():
                moved = tuple(moved_lenses(before.found.lenses, before.text or "", self._text(uri) or ""))
                if uri not in self._moved:
                    server.in_background(self._refresh_if_other(uri, reading))
                self._moved[uri] = moved
                return self._code_lenses(uri, evolve(before, found=evolve(before.found, lenses=moved)))
        document = await asyncio.shield(reading)
        if not document.counted() <= document.known(is_current=True).keys():
            self._stale.set()
        return self._code_lenses(uri, document)

    async def _resolve(self, server: Connection, lens: types.CodeLens) -> types.CodeLens:
        uri, definition, below, character, section = _data(lens)
        await server.notifications_applied()
        titles = await self._titles(uri, definition)
        title = titles.get(section) or _NONE.get(section, section.value)
        if (document := self._documents.get(uri)) is not None:
            document.shown.setdefault(definition, {})[section] = title
        lens.command = _command(uri, lens.range.start.line + below, character, section, title)
        return lens

    async def _refresh_if_other(self, uri: str, reading: asyncio.Task[_Document]) -> None:
        """Let the client ask again once a document was read, if its lenses are not the shown ones."""
        try:
            document = await asyncio.shield(reading)
        finally:
            shown = self._moved.pop(uri)
        if document.found.lenses != shown:
            await self._refresh()

    # --- what is known -----------------------------------------------------------------------------------

    def _text(self, uri: str) -> str | None:
        document = self._server.workspace.text_documents.get(uri)
        return None if document is None else document.source

    async def _read(self, uri: str) -> _Document:
        """Read the lenses of a document, and again if its text changed meanwhile."""
        from cairn.engine.lenses import lenses  # Imported after the engine is loaded.

        read: tuple[str | None, bool] | None = None
        while read != (now := (self._text(uri), self._shown is Lenses.ALL)):
            read = now
            await self._server.notifications_applied()
            found = await self._work(partial(lenses, uri=uri, headings=now[1]))
        before = self._documents.pop(uri, None)
        here = {each.definition for each in found.lenses}
        titles = {name: known for name, known in before.titles.items() if name in here} if before else {}
        self._documents[uri] = _Document(now[0], found, titles, before.shown if before else {})
        for other in list(self._documents)[:-_MOST_DOCUMENTS]:
            del self._documents[other]
        return self._documents[uri]

    async def _titles(self, uri: str, definition: Definition) -> Titles:
        """Return the titles of a definition. Its lenses are resolved at the same time, and it is counted
        once."""
        key = uri, definition
        if (counting := self._counting.get(key)) is None:
            counting = self._counting[key] = asyncio.create_task(self._count(uri, definition))
            counting.add_done_callback(lambda _: self._counting.pop(key, None))
        return await asyncio.shield(counting)

    async def _count(self, uri: str, definition: Definition) -> Titles:
        from cairn.engine.lenses import Counted, count

        document = self._documents.get(uri)
        known = document.titles.get(definition) if document is not None else None
        work = partial(count, uri=uri, definition=definition, known=known or Counted())
        found: Counted = await self._work(work)
        if found.titles and (document := self._documents.get(uri)) is not None:
            document.titles[definition] = found
        return found.titles or (known.titles if known else {})

    async def _is_changed(self, uri: str) -> bool:
        """Count what the index's changes may have changed. Return whether the client should ask again."""
        if (before := self._documents.get(uri)) is None:
            return False
        shown, known = before.shown, before.titles.keys() | set()
        document = await self._read(uri)
        is_changed = False
        for number, (definition, lenses) in enumerate(document.by_definition()):
            first, titles, seen = lenses[0], None, shown.get(definition, {})
            if definition in known or (number < _MOST_COUNTED and not (first.is_common or first.title)):
                titles = await self._titles(uri, definition)
            now = {each.section: each.title for each in _titled(lenses, titles)}
            is_changed |= now.keys() != seen.keys() or any(seen[each] not in ("", now[each]) for each in now)
        return is_changed

    async def _work(self, work: Any) -> Any:
        return await self._server.runner.work(partial(read, work=work))

    # --- in LSP's terms ----------------------------------------------------------------------------------

    def _code_lenses(self, uri: str, document: _Document) -> list[types.CodeLens]:
        # A client that cannot be asked to refresh would keep an old title for ever.
        known = document.known(is_current=not self._can_refresh)
        every = [
            each
            for definition, lenses in document.by_definition()
            for each in _titled(lenses, known.get(definition))
        ]
        document.shown.clear()
        for each in every:
            document.shown.setdefault(each.definition, {})[each.section] = each.title
        return [_code_lens(uri, each) for each in every]


def _wanted(engine: Engine) -> Lenses:
    return engine.settings().lsp.lenses


def _options(engine: Engine) -> Options | None:
    if _wanted(engine) is Lenses.OFF:
        return None
    return {"documentSelector": [{"scheme": "file"}], "resolveProvider": True}


def _titled(lenses: list[Lens], titles: Titles | None) -> Iterator[Lens]:
    """Yield the lenses of one definition with their titles, and those that only counting found."""
    if not titles:
        yield from lenses
        return
    first, *_ = lenses
    expected = {each.section for each in lenses}
    yield evolve(first, title=titles.get(first.section, ""))
    for section in _BESIDE:
        if title := titles.get(section) or (_NONE.get(section, "") if section in expected else ""):
            yield evolve(first, section=section, title=title)


def _code_lens(uri: str, lens: Lens) -> types.CodeLens:
    start = types.Position(lens.line, 0)
    if lens.title:
        command = _command(uri, lens.line + lens.below, lens.character, lens.section, lens.title)
        return types.CodeLens(types.Range(start, start), command)
    data = [uri, *lens.definition, lens.below, lens.character, lens.section.value]
    return types.CodeLens(types.Range(start, start), data=data)


def _command(uri: str, line: int, character: int, section: ContextSection, title: str) -> types.Command:
    position = {"line": line, "character": character}
    return types.Command(
        title, SHOW, arguments=[{"uri": uri, "position": position, "section": section.value}]
    )


def _data(lens: types.CodeLens) -> tuple[str, Definition, int, int, ContextSection]:
    """Return what `_code_lens` wrote. Raise InvalidRequestError for another lens."""
    match lens.data:
        case [str(uri), str(name), int(number), int(below), int(character), str(section)]:
            with suppress(ValueError):
                return uri, (name, number), below, character, ContextSection(section)
    raise InvalidRequestError("data", "is not that of a lens of Cairn")


def moved_lenses(lenses: Sequence[Lens], before: str, after: str) -> Iterator[Lens]:
    """Yield the lenses of the text `before` at their lines in the text `after`.

    Only the lines between the first and the last changed one are searched, for the line of the definition.
    """
    old, new = lines_of(before), lines_of(after)
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    same = next((n for n in range(shorter - start) if old[-1 - n] != new[-1 - n]), shorter - start)
    end = len(new) - same
    moved: dict[int, int] = {}
    following = start
    for line in dict.fromkeys(each.line for each in lenses):
        text = old[line] if line < len(old) else ""
        if line < start:
            moved[line] = line
        elif line >= len(old) - same:
            moved[line] = line + len(new) - len(old)
        elif text in new[following:end]:
            moved[line] = new.index(text, following)
            following = moved[line] + 1
        elif line < end:
            moved[line] = line  # The user is typing in the line of the definition.
    return (evolve(each, line=moved[each.line]) for each in lenses if each.line in moved)
