"""The tool `read`: the current lines of files, found by paths, names or a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH, freshness
from cairn.agents.place_text import Place, lines_text, numbered, numbers_text, place_named
from cairn.agents.shown_lines import ShownLines
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, Budget, ToolCall, fitted, joined, require_words
from cairn.discovery.layout import MARK
from cairn.engine.file_outline import OutlineEntry, innermost, opening, with_lead
from cairn.engine.file_page import outline_of_page
from cairn.engine.folding import folds
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
INDEXED, NOW = "indexed", "now"
VERSIONS = (NOW, INDEXED)
_THERE = ("left out of the index", "is a directory", "is empty, or was not read yet")
"""Texts in the engine's errors about paths that exist but are not in the index."""
_MOST_NAMESAKES = 8
_LONGEST_LINE = 2_000
"""The maximum length of a shown line in characters. A longer line is replaced by its length."""
_LONGEST_HEAD = 110
"""The length in characters to which the line of an entry of an outline is cut."""
_LEAST_FOLDED = 60
"""The number of lines from which imports, long comments and tests are folded."""
_LEAST_ENTRIES = 3
"""The number of entries from which an outline says more than the beginning of the text."""
_TESTS = ("tests.", "test.")
"""What the names in a module of tests begin with. In Rust it is in the tested file, and outlined as one."""
_MATCHING = 3
"""The number of results of the last question that are shown below the outline of a file."""
_OPENING = 12
"""The maximum number of lines above the outline of a file or a type, such as those of its comment."""
_PART = 200
"""The number of lines of the example of a part to read."""
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")
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


@frozen
class _Found:
    page: protocol.PageAnswer
    place: Place
    name: str = ""
    """The name and kind of the definition that was asked for, with the places of others of that name."""
    note: str = ""
    """A note that says how a question was understood."""

    @property
    def has_range(self) -> bool:
        """Whether certain lines were asked for, rather than a file or a definition."""
        return bool(self.place.first) and not self.name


@frozen
class _Item:
    """A line of the answer, for some lines of the file."""

    text: str
    first: int
    """The 1-based number of the first of these lines."""
    lines: Sequence[str] = ()
    """Those of them that the item shows."""


@frozen
class _Section:
    """What is shown of one place: all of its lines, or an outline."""

    head: str
    items: Sequence[_Item]
    rest: Callable[[int], str]
    """Returns the line that says how to read what is left out after so many items."""

    @property
    def text(self) -> str:
        return joined(self.head, *(each.text for each in self.items))


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
    first, last, lines = _lines_of(found)
    return evolve(
        found.page,
        text="\n".join(lines[first - 1 : last]),
        chunks=_within(found.page.chunks, first, last),
    )


def read(call: ToolCall, arguments: ReadArguments) -> str:
    """Return the answer. Raise InvalidRequestError if nothing of these paths, names or meaning is indexed."""
    places: list[_Found | InvalidRequestError] = []
    for given in _each_place(call, arguments):
        try:
            found = _found(call, arguments, given)
            _require_line(call, found)
            places.append(found)
        except InvalidRequestError as problem:
            places.append(problem)
    known = [each for each in places if isinstance(each, _Found)]
    if not known:
        raise places[0]  # type: ignore[misc]
    budget = call.budget(arguments.max_tokens, TOKENS)
    below = freshness(call.asked) if any(each.name or each.note for each in known) else ""
    texts = _texts(call, arguments, places, evolve(budget, tokens=budget.tokens - budget.count(below)))
    return joined(*texts, below)


def _texts(
    call: ToolCall, arguments: ReadArguments, places: Sequence[_Found | InvalidRequestError], budget: Budget
) -> list[str]:
    """Return the text of each place. Those that fit into an equal share of the budget are whole; the others
    share what is left."""
    before = call.shown_before(again=arguments.again)
    wanted = [budget.count(_section(call, arguments, each, before).text) for each in places]
    texts = []
    for share, place in zip(_shares(wanted, budget.tokens), places, strict=True):
        section = _section(call, arguments, place, before)
        if isinstance(place, _Found):
            least = share if place.place.first else min(share, _TOKENS_OF_FILE)
            if budget.count(section.text) > least:
                section = _outline(call, place, least, budget) or section
        items = [each.text for each in section.items]
        text, count = fitted(
            section.head,
            items,
            lambda shown, each=section: each.rest(shown) if shown < len(each.items) else "",  # type: ignore[misc]
            evolve(budget, tokens=share),
        )
        texts.append(text)
        for item in section.items[:count]:
            if isinstance(place, _Found) and item.lines:
                call.note_shown(place.page.folder, place.page.path, item.first, item.lines)
    return texts


def _shares(wanted: Sequence[int], total: int) -> list[int]:
    """Return the tokens of each place: as many as wanted if it needs no more than an equal share, else an
    equal share of what the others leave."""
    shares, left = [0] * len(wanted), total
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, number in enumerate(order):
        equal = left // (len(order) - place)
        shares[number] = max(LEAST_TOKENS // 2, min(wanted[number], equal)) if len(order) > 1 else left
        left = max(0, left - shares[number])
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


# --- the text of one place -----------------------------------------------------------------------------


def _section(
    call: ToolCall, arguments: ReadArguments, place: _Found | InvalidRequestError, before: ShownLines
) -> _Section:
    """Return the lines of a place, without those that were shown `before`, or why it cannot be read."""
    if isinstance(place, InvalidRequestError):
        return _Section(f"{MARK}{str(place).removeprefix('path: ')}", (), lambda _: "")
    page = place.page
    first, last, lines = _lines_of(place)
    path = call.paths.shown(page.folder, page.path)
    items: list[_Item] = []
    hint = f" ({call.again})"
    for run in before.runs(page.folder, page.path, first, lines[first - 1 : last]):
        if run.is_known:
            items.append(_Item(f"{run.mark}{hint}", run.first))
            hint = ""
            continue
        items += _folded(call, place, _items(run.first, run.lines))

    def rest(count: int) -> str:
        return call.more_lines(path, items[count].first, last)

    return _Section(_head(call, arguments, place), items, rest)


def _folded(call: ToolCall, place: _Found, items: Sequence[_Item]) -> list[_Item]:
    """Return many lines with one item for imports, the rest of a long comment, or tests. Who wants these asks
    for them alone."""
    if len(items) < _LEAST_FOLDED:
        return list(items)
    left = list(items)
    for fold in reversed(folds(lines_of(place.page.text), outline_of_page(call.asked, place.page))):
        first, last = (max(0, min(len(left), line - (items[0].first - 1))) for line in (fold.start, fold.end))
        if last - first > 1:
            numbers = numbers_text(left[first].first, left[last - 1].first)
            left[first:last] = [_Item(f"{numbers} {fold.what}", left[first].first)]
    return left


def _outline(call: ToolCall, place: _Found, tokens: int, budget: Budget) -> _Section | None:
    """Return the first lines and the outline of a file or definition that does not fit into `tokens` tokens;
    None if certain lines were asked for, or if there is hardly any outline."""
    first, last, lines = _lines_of(place)
    entries = [
        each
        for each in outline_of_page(call.asked, place.page)
        if first - 1 <= each.start_line
        and each.end_line <= last
        and each.end_line - each.start_line < last - first
        and not each.qualified.startswith(_TESTS)
    ]
    if place.has_range or len(entries) < _LEAST_ENTRIES:
        return None
    part = f":{first}-{min(last, first + _PART - 1)}"
    head = f"{_title(call, place)}; its outline, as it is long; {part} reads lines"
    begin = opening(lines[first - 1 : max(first - 1, entries[0].start_line)], _OPENING)
    above = _items(first, lines[first - 1 : first - 1 + begin])
    least = min(each.depth for each in entries)
    for depth in range(max(each.depth for each in entries), least - 1, -1):
        kept = [each for each in entries if each.depth <= depth]
        items = [_Item(_entry(each, lines, each.depth - least), each.start_line + 1) for each in kept]
        left = tokens - budget.count(joined(head, *(each.text for each in above + items)))
        if depth == least or left >= 0:
            break
    matching = _matching(call, place, entries, lines, left, budget)
    every = [*above, *items, *matching]
    return _Section(head, every, lambda count: f"… and {len(every) - count} lines more")


def _matching(
    call: ToolCall,
    place: _Found,
    entries: Sequence[OutlineEntry],
    lines: Sequence[str],
    tokens: int,
    budget: Budget,
) -> list[_Item]:
    """Return the definitions of a file that fit the session's last question best, as far as they fit into
    `tokens` tokens."""
    question = call.session.question if call.session is not None else ""
    if not question or tokens <= 0:
        return []
    wanted = protocol.SearchFilter(path=(place.page.path,))
    answer: protocol.SearchAnswer = call.request(
        "search", protocol.SearchParams(question, limit=_MATCHING, context=0, filter=wanted)
    )
    passages = [(each.folder, each.range) for each in answer.results]
    passages += [(row.folder, each.range) for row in answer.results for each in row.passages]
    found: dict[int, list[_Item]] = {}
    for folder, passage in passages:
        around = innermost(entries, passage.start.line)
        if folder != place.page.folder or around is None or around.start_line in found:
            continue
        items = _items(around.start_line + 1, lines[around.start_line : around.end_line])
        tokens -= budget.count(joined(*(each.text for each in items)))
        if tokens < 0:
            break
        found[around.start_line] = items
    head = [_Item(f"Of these, for {question[:_LONGEST_HEAD]!r}:", place.place.first)] if found else []
    return [*head, *(item for start in sorted(found) for item in found[start])]


def _items(first: int, lines: Sequence[str]) -> list[_Item]:
    """Return an item for each line; `first` is the 1-based number of the first."""
    texts = numbered(first, [_whole(line) for line in lines])
    return [_Item(text, first + at, (lines[at],)) for at, text in enumerate(texts)]


def _entry(entry: OutlineEntry, lines: Sequence[str], depth: int) -> str:
    line = lines[entry.line].strip() if entry.line < len(lines) else entry.name
    cut = line if len(line) <= _LONGEST_HEAD else f"{line[:_LONGEST_HEAD]}…"
    return f"{'  ' * depth}{numbers_text(entry.start_line + 1, entry.end_line)} {cut}"


def _head(call: ToolCall, arguments: ReadArguments, place: _Found) -> str:
    title = _title(call, place)
    if place.has_range:
        around = innermost(outline_of_page(call.asked, place.page), place.place.first - 1)
        if around is not None and around.start_line < place.place.first - 1:
            lines = numbers_text(around.start_line + 1, around.end_line)
            title += f", in {around.qualified} ({around.kind}, {lines})"
    return joined(place.note, _version(place.page, arguments.version), title)


def _title(call: ToolCall, place: _Found) -> str:
    """Return the path, with the lines and the name that are shown."""
    first, last, lines = _lines_of(place)
    path = call.paths.shown(place.page.folder, place.page.path)
    if not lines:
        return f"{MARK}{path} is empty."
    if not place.place.first:
        return f"{MARK}{path}, {counted(len(lines), 'line')}"
    shown = f"{MARK}{path}:{numbers_text(first, last)} of {counted(len(lines), 'line')}"
    return f"{shown}, {place.name}" if place.name else shown


def _require_line(call: ToolCall, found: _Found) -> None:
    first, _, lines = _lines_of(found)
    if first > max(1, len(lines)):
        path = call.paths.shown(found.page.folder, found.page.path)
        raise InvalidRequestError(
            "path", f"{path} has {counted(len(lines), 'line')}; there is no line {first:,}"
        )


def _lines_of(found: _Found) -> tuple[int, int, list[str]]:
    """Return the 1-based first and last line to read, and all lines of the file."""
    lines = lines_of(found.page.text)
    if not lines[-1]:
        lines.pop()
    return found.place.first or 1, min(found.place.last or len(lines), len(lines)), lines


def _whole(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f" (a line of {len(line):,} characters)"


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


# --- finding a place -----------------------------------------------------------------------------------


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
    return _Found(page, Place(first.path, begin + 1, first.range.end.line), name)


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
    return _Found(page, place, note=f"Taken as a question; the best passage{name}:")
