"""The tool `read`: the current lines of files, found by paths, names or a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH, freshness
from cairn.agents.place_text import Place, lines_text, numbers_text, place_named
from cairn.agents.read_text import INDEXED, NOW, Found, Section, lines_to_read, outline, section
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, Budget, ToolCall, fitted, joined, require_words
from cairn.discovery.layout import MARK
from cairn.engine.file_outline import with_lead
from cairn.engine.file_page import outline_of_page
from cairn.engine.scope import files_named
from cairn.errors import InvalidRequestError
from cairn.schema.bounds import at_most, within
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind

TOKENS = 8_000
"""The number of tokens of an answer. Who names lines or definitions wants them all: with 3,000, agents asked
again for what was cut."""
_TOKENS_OF_FILE = 3_000
"""The number of tokens from which a file alone, without lines, is outlined."""
MOST_PLACES = 50
_LEAST_TOKENS_OF_PLACE = 50
"""The number of tokens that each place needs, or else the last ones are left out."""
VERSIONS = (NOW, INDEXED)
_THERE = ("left out of the index", "is a directory", "is empty, or was not read yet")
"""Texts in the engine's errors about paths that exist but are not in the index."""
_MOST_NAMESAKES = 8
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")
_NAME_IN_FILE = re.compile(r"(?P<path>(?:[A-Za-z]:[\\/])?[^:]+):(?P<name>[^:].*)")
_MORE_LINES = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?")


@frozen
class ReadArguments:
    """The arguments of `read`. The last two are not listed."""

    path: tuple[str, ...] = field(metadata=at_most(items=MOST_PLACES, chars=4_096))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    version: str | None = None
    again: bool = False
    cursor: str = ""
    folder: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.path:
            raise InvalidRequestError("path", "is empty; give paths, path:first-last or names")
        for each in self.path:
            require_words("path", each)
        if self.version not in (None, *VERSIONS):
            got = f"got {str(self.version)[:60]!r}"
            raise InvalidRequestError("version", f"expected one of {', '.join(VERSIONS)}; {got}")


def read_data(call: ToolCall, arguments: ReadArguments) -> protocol.PageAnswer:
    """Return the protocol's answer, by default with the whole file as it was indexed.

    Lines, names and questions are accepted as well. Raise InvalidRequestError if no indexed file is found,
    and for several places.
    """
    if len(arguments.path) > 1:
        raise InvalidRequestError("path", "data is of one place; ask for each, or for text")
    given = arguments.cursor or arguments.path[0]
    if arguments.version != NOW:
        params = protocol.FetchPageParams(arguments.path[0], arguments.folder)
        try:
            page: protocol.PageAnswer = call.request("fetchPage", params)
        except InvalidRequestError as problem:
            refused = problem
        else:
            return page
        try:
            found = _found(call, evolve(arguments, version=INDEXED), given)
        except InvalidRequestError:
            raise refused from None
    else:
        found = _found(call, arguments, given)
    first, last, lines = lines_to_read(found)
    return evolve(
        found.page,
        text="\n".join(lines[first - 1 : last]),
        chunks=_within(found.page.chunks, first, last),
    )


def read(call: ToolCall, arguments: ReadArguments) -> str:
    """Return the answer. Raise InvalidRequestError if nothing of these paths, names or meaning is indexed."""
    places: list[Found | InvalidRequestError] = []
    for given in _each_place(call, arguments):
        try:
            found = _found(call, arguments, given)
            _require_line(call, found)
            places.append(found)
        except InvalidRequestError as problem:
            places.append(problem)
    known = [each for each in places if isinstance(each, Found)]
    if not known:
        raise places[0]  # type: ignore[misc]
    budget = call.budget(arguments.max_tokens, TOKENS)
    most = max(1, budget.tokens // _LEAST_TOKENS_OF_PLACE)
    missing = f"{counted(len(places) - most, 'more place')} did not fit." if len(places) > most else ""
    below = freshness(call.asked) if any(each.name or each.note for each in known) else ""
    below = joined(missing, below)
    room = evolve(budget, tokens=budget.tokens - budget.count(below))
    return joined(*_texts(call, arguments, places[:most], room), below)


def _texts(
    call: ToolCall, arguments: ReadArguments, places: Sequence[Found | InvalidRequestError], budget: Budget
) -> list[str]:
    """Return the text of each place. Those that fit into an equal share of the budget are whole; the others
    share what is left."""
    wanted = [budget.count(_section(call, arguments, each).text) for each in places]
    texts = []
    for share, place in zip(_shares(wanted, budget.tokens), places, strict=True):
        shown = _section(call, arguments, place)  # Those above it may have shown some of its lines.
        if isinstance(place, Found):
            least = share if place.place.first else min(share, _TOKENS_OF_FILE)
            if budget.count(shown.text) > least:
                shown = outline(call, place, least, budget) or shown
        text, count = fitted(
            shown.head, [each.text for each in shown.items], shown.below, evolve(budget, tokens=share)
        )
        texts.append(text)
        for item in shown.items[:count]:
            if isinstance(place, Found) and item.lines:
                call.note_shown(place.page.folder, place.page.path, item.first, item.lines)
    return texts


def _section(call: ToolCall, arguments: ReadArguments, place: Found | InvalidRequestError) -> Section:
    """Return the lines of a place, or why it cannot be read."""
    if isinstance(place, InvalidRequestError):
        return Section(f"{MARK}{str(place).removeprefix('path: ')}", (), lambda _: "")
    return section(call, place, arguments.version, again=arguments.again)


def _shares(wanted: Sequence[int], total: int) -> list[int]:
    """Return the tokens of each place: as many as wanted if it needs no more than an equal share, else an
    equal share of what the others leave."""
    shares, left = [0] * len(wanted), total
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, number in enumerate(order):
        equal = left // (len(order) - place)
        shares[number] = min(wanted[number], equal) if len(order) > 1 else left
        left -= shares[number]
    return shares


def _each_place(call: ToolCall, arguments: ReadArguments) -> list[str]:
    """Return the places, of which one text may name several: `a.py:1-4, b.py`, or `a.py:1-4,9-12`."""
    found: list[str] = []
    for given in (arguments.cursor,) if arguments.cursor else arguments.path:
        pieces = _SEPARATOR.split(given.strip())
        words = given.split()
        if len(words) > 1 and all(place_named(word).first for word in words):
            pieces = [piece for word in words for piece in _SEPARATOR.split(word.rstrip(",;"))]
        if (
            len(pieces) == 1
            or any(len(piece.split()) != 1 or "(" in piece for piece in pieces)
            or files_named(given, call.asked.folders)
        ):
            pieces = [given]
        for piece in pieces:
            above = place_named(found[-1]).path if found else ""
            found.append(f"{above}:{piece}" if above and _MORE_LINES.fullmatch(piece) else piece)
    return list(dict.fromkeys(found))[:MOST_PLACES]


def _require_line(call: ToolCall, found: Found) -> None:
    first, _, lines = lines_to_read(found)
    if first > max(1, len(lines)):
        path = call.paths.shown(found.page.folder, found.page.path)
        raise InvalidRequestError(
            "path", f"{path} has {counted(len(lines), 'line')}; there is no line {first:,}"
        )


def _within(chunks: Sequence[protocol.PageChunk], first: int, last: int) -> tuple[protocol.PageChunk, ...]:
    return tuple(each for each in chunks if each.range.start.line < last and each.range.end.line >= first)


# --- finding a place -----------------------------------------------------------------------------------


def _page(call: ToolCall, arguments: ReadArguments, path: str) -> protocol.PageAnswer:
    page: protocol.PageAnswer = call.request(
        "fetchPage", protocol.FetchPageParams(path, arguments.folder, now=True)
    )
    if arguments.version != INDEXED:
        return page
    indexed: protocol.PageAnswer = call.request("fetchPage", protocol.FetchPageParams(page.path, page.folder))
    return evolve(indexed, changed=page.changed)


def _found(call: ToolCall, arguments: ReadArguments, given: str) -> Found:
    """Find a path, else a name, else a passage by a question. Raise InvalidRequestError if all fail."""
    place = place_named(given)
    refused = None
    # The name of a file may end like line numbers.
    for each in dict.fromkeys((place, Place(given.strip()))):
        try:
            return Found(_page(call, arguments, each.path), each)
        except InvalidRequestError as problem:
            refused = refused or problem
    if place.first or any(said in str(refused) for said in _THERE):
        raise refused or InvalidRequestError("path", "names nothing")
    if len(given.split()) > 1:
        return _by_meaning(call, arguments, given)
    name = given.strip().removesuffix("()")
    within = _NAME_IN_FILE.fullmatch(name)
    if within and len(files_named(within["path"], call.asked.folders)) == 1:
        return _in_file(_page(call, arguments, within["path"]), call, within["name"])
    params = protocol.ReferencesParams(symbol=name[:1_000], limit=0)
    answer: protocol.ReferencesAnswer = call.request("references", params)
    if answer.definitions:
        return _defined(call, arguments, answer.definitions)
    is_path = "/" in given or ("." in given and not answer.message.endswith("?"))
    if is_path or not answer.message:
        raise refused or InvalidRequestError("path", answer.message)
    raise InvalidRequestError("path", f"there is no such file. {answer.message}")


def _in_file(page: protocol.PageAnswer, call: ToolCall, name: str) -> Found:
    """Return the longest definition of a name in a file. Raise InvalidRequestError if there is none."""
    wanted = name.replace("::", ".")
    found = [
        each
        for each in outline_of_page(call.asked, page)
        if wanted in (each.name, each.qualified.replace("::", "."))
    ]
    if not found:
        raise InvalidRequestError("path", f"{page.path} defines no {name!r}")
    longest = max(found, key=lambda each: each.end_line - each.start_line)
    others = [numbers_text(each.start_line + 1, each.end_line) for each in found if each is not longest]
    also = f"; also defined at {', '.join(others[:_MOST_NAMESAKES])}" if others else ""
    begin = with_lead(lines_of(page.text), longest.start_line)
    place = Place(page.path, begin + 1, longest.end_line)
    return Found(page, place, f"{longest.qualified} ({longest.kind}){also}")


def _defined(call: ToolCall, arguments: ReadArguments, definitions: Sequence[protocol.SymbolPlace]) -> Found:
    """Return the first of a name's definitions, with its decorators and comment, and name the others."""
    session = call.shown_before(again=False)
    # A name in tests, in a file that was not shown, or of few lines that only call another, is seldom meant.
    first, *others = sorted(
        definitions,
        key=lambda each: (
            file_kind(each.path) in (FileKind.TESTS, FileKind.EXAMPLES),
            not session.has(each.folder, each.path),
            each.range.start.line - each.range.end.line,
        ),
    )
    paths = call.paths
    named = [
        f"{paths.shown(each.folder, each.path)}:{lines_text(each.range)}" for each in others[:_MOST_NAMESAKES]
    ]
    left = len(others) - len(named)
    more = f" and {left} more" if left > 0 else ""
    name = f"{first.symbol} ({first.kind})" + (f"; also defined at {', '.join(named)}{more}" if named else "")
    page = _page(call, evolve(arguments, folder=first.folder), first.path)
    begin = with_lead(lines_of(page.text), first.range.start.line)
    return Found(page, Place(first.path, begin + 1, first.range.end.line), name)


def _by_meaning(call: ToolCall, arguments: ReadArguments, given: str) -> Found:
    """Return the best passage for a question. Raise InvalidRequestError if there is none."""
    params = protocol.SearchParams(query=given, limit=1, context=0, passages=1)
    answer: protocol.SearchAnswer = call.request("search", params)
    if not answer.results or answer.verdict.action == NO_MATCH:
        problem = (
            f"{given[:100]!r} is not a path, a name or a question about something indexed; "
            "give a path as search prints it"
        )
        raise InvalidRequestError("path", problem)
    best = answer.results[0]
    name = f", {best.symbol}" if best.symbol else ""
    place = Place(best.path, best.range.start.line + 1, best.range.end.line)
    page = _page(call, evolve(arguments, folder=best.folder), best.path)
    return Found(page, place, note=f"Taken as a question; the best passage{name}:")
