"""The tool `read`: the current lines of a file, found by a path, a name or a question."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH, freshness
from cairn.agents.place_text import Place, lines_text, numbered, place_named
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, ToolCall, fit, joined, require_words
from cairn.errors import InvalidRequestError
from cairn.schema.bounds import NOT_BLANK, at_most, within
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of

TOKENS = 3_000
INDEXED, NOW = "indexed", "now"
VERSIONS = (NOW, INDEXED)
_THERE = ("left out of the index", "is a directory", "is empty, or was not read yet")
"""Texts in the engine's errors about paths that exist but are not in the index."""
_MOST_NAMESAKES = 8
_LONGEST_LINE = 2_000
"""The maximum length of a shown line in characters. A longer line is replaced by its length."""


@frozen
class ReadArguments:
    """The arguments of `read`. The last two are not listed."""

    path: str = field(metadata=at_most(chars=4_096, pattern=NOT_BLANK))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    version: str | None = None
    cursor: str = ""
    folder: str = ""

    def __attrs_post_init__(self) -> None:
        require_words("path", self.path)
        if self.version not in (None, *VERSIONS):
            got = f"got {str(self.version)[:60]!r}"
            raise InvalidRequestError("version", f"expected one of {', '.join(VERSIONS)}; {got}")


@frozen
class _Found:
    page: protocol.PageAnswer
    place: Place
    note: str = ""
    """A note that says how a name or a question was understood."""


def read_data(call: ToolCall, arguments: ReadArguments) -> protocol.PageAnswer:
    """Return the protocol's answer, by default with the whole file as it was indexed.

    Lines, names and questions are accepted as well. Raise InvalidRequestError if no indexed file is found.
    """
    if arguments.version != NOW:
        params = protocol.FetchPageParams(arguments.path, arguments.folder)
        try:
            page: protocol.PageAnswer = call.request("fetchPage", params)
        except InvalidRequestError as problem:
            refused = problem
        else:
            return page
        try:
            found = _found(call, evolve(arguments, version=INDEXED), arguments.cursor or arguments.path)
        except InvalidRequestError:
            raise refused from None
    else:
        found = _found(call, arguments, arguments.cursor or arguments.path)
    first, last, lines = _lines_of(found)
    return evolve(
        found.page,
        text="\n".join(lines[first - 1 : last]),
        chunks=_within(found.page.chunks, first, last),
    )


def read(call: ToolCall, arguments: ReadArguments) -> str:
    """Return the answer. Raise InvalidRequestError if nothing with that path, name or meaning is indexed."""
    found = _found(call, arguments, arguments.cursor or arguments.path)
    page = found.page
    first, last, lines = _lines_of(found)
    path = call.paths.shown(page.folder, page.path)
    if first > max(1, len(lines)):
        raise InvalidRequestError(
            "path", f"{path} has {counted(len(lines), 'line')}; there is no line {first:,}"
        )
    budget = call.budget(arguments.max_tokens, TOKENS)
    items = numbered(first, [_whole(line, budget.tokens) for line in lines[first - 1 : last]])
    about = f"{path}, {counted(len(lines), 'line')}" if lines else f"{path} is empty."
    head = joined(found.note, _version(page, arguments.version), about)
    below = freshness(call.asked) if found.note else ""

    def foot(count: int) -> str:
        if count == len(items):
            return below
        return joined(call.more_lines(path, first + count, last), below)

    return fit(head, items, foot, budget)


def _lines_of(found: _Found) -> tuple[int, int, list[str]]:
    """Return the 1-based first and last line to read, and all lines of the file."""
    lines = lines_of(found.page.text)
    if not lines[-1]:
        lines.pop()
    return found.place.first or 1, min(found.place.last or len(lines), len(lines)), lines


def _whole(line: str, tokens: int) -> str:
    return line if len(line) <= min(_LONGEST_LINE, tokens) else f" (a line of {len(line):,} characters)"


def _within(chunks: Sequence[protocol.PageChunk], first: int, last: int) -> tuple[protocol.PageChunk, ...]:
    return tuple(each for each in chunks if each.range.start.line < last and each.range.end.line >= first)


def _version(page: protocol.PageAnswer, wanted: str | None) -> str:
    """Return a note if the text is not the indexed one, or not the current one."""
    if not page.changed:
        return ""
    if wanted == INDEXED:
        return "This is the text as it was indexed; the file has changed since."
    if page.version == INDEXED:
        return "The file cannot be read now; this is its text as it was indexed."
    return (
        "The file has changed since it was indexed: this is its text now, where places of earlier answers "
        "may have moved."
    )


def _page(call: ToolCall, arguments: ReadArguments, path: str) -> protocol.PageAnswer:
    page: protocol.PageAnswer = call.request(
        "fetchPage", protocol.FetchPageParams(path, arguments.folder, now=True)
    )
    if arguments.version != INDEXED:
        return page
    indexed: protocol.PageAnswer = call.request("fetchPage", protocol.FetchPageParams(page.path, page.folder))
    return evolve(indexed, changed=page.changed)


def _found(call: ToolCall, arguments: ReadArguments, given: str) -> _Found:
    """Find a path, else a name, else a passage by a question. Raise InvalidRequestError if all fail."""
    place = place_named(given)
    refused = None
    # The name of a file may end like line numbers.
    for each in dict.fromkeys((place, Place(given.strip()))):
        try:
            return _Found(_page(call, arguments, each.path), each)
        except InvalidRequestError as problem:
            refused = refused or problem
    if place.first or any(said in str(refused) for said in _THERE):
        raise refused or InvalidRequestError("path", "names nothing")
    if len(given.split()) > 1:
        return _by_meaning(call, arguments, given)
    params = protocol.ReferencesParams(symbol=given.strip().removesuffix("()")[:1_000], limit=0)
    answer: protocol.ReferencesAnswer = call.request("references", params)
    if answer.definitions:
        return _defined(call, arguments, answer.definitions)
    if "/" in given or not answer.message.endswith("?"):
        raise refused or InvalidRequestError("path", answer.message)
    raise InvalidRequestError("path", f"there is no such file. {answer.message}")


def _defined(call: ToolCall, arguments: ReadArguments, definitions: Sequence[protocol.SymbolPlace]) -> _Found:
    """Return the first of a name's definitions, with a note that lists the others."""
    first, *others = definitions
    paths = call.paths
    named = [
        f"{paths.shown(each.folder, each.path)}:{lines_text(each.range)}" for each in others[:_MOST_NAMESAKES]
    ]
    left = len(others) - len(named)
    more = f" and {left} more" if left > 0 else ""
    note = f"{first.symbol} ({first.kind})" + (f"; also defined at {', '.join(named)}{more}" if named else "")
    place = Place(first.path, first.range.start.line + 1, first.range.end.line)
    return _Found(_page(call, evolve(arguments, folder=first.folder), first.path), place, note)


def _by_meaning(call: ToolCall, arguments: ReadArguments, given: str) -> _Found:
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
    return _Found(page, place, f"Taken as a question; the best passage{name}:")
