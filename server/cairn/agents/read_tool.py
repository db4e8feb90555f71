"""The tool `read`: the current lines of files, found by paths, names or a question."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.index_state import freshness
from cairn.agents.read_places import INDEXED, MOST_PLACES, NOW, Found, PlaceFinder, places_of
from cairn.agents.read_text import Section, lines_to_read, outline, section
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, Budget, ToolCall, fitted, joined, require_words
from cairn.discovery.layout import MARK
from cairn.errors import InvalidRequestError
from cairn.schema.bounds import at_most, within
from cairn.text.counts import counted

TOKENS = 7_000
"""The number of tokens of an answer. Who names lines or definitions wants them all: with 3,000, agents asked
again for what was cut. Many agents' shells cut what is longer than 30,000 characters."""
_TOKENS_OF_FILE = 3_000
"""The number of tokens from which a file alone, without lines, is outlined."""
_LEAST_TOKENS_OF_PLACE = 50
"""The number of tokens that each place needs, or else the last ones are left out."""
VERSIONS = (NOW, INDEXED)


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
            found = PlaceFinder(call, INDEXED, arguments.folder).find(given)[0]
        except InvalidRequestError:
            raise refused from None
    else:
        found = PlaceFinder(call, NOW, arguments.folder).find(given)[0]
    first, last, lines = lines_to_read(found)
    return evolve(
        found.page,
        text="\n".join(lines[first - 1 : last]),
        chunks=_within(found.page.chunks, first, last),
    )


def read(call: ToolCall, arguments: ReadArguments) -> str:
    """Return the answer. Raise InvalidRequestError if nothing of these paths, names or meaning is indexed."""
    places: list[Found | InvalidRequestError] = []
    finder = PlaceFinder(call, arguments.version, arguments.folder)
    for given in places_of(call, (arguments.cursor,) if arguments.cursor else arguments.path):
        try:
            found = finder.find(given)
            _require_line(call, found[0])
            places += found
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


def _require_line(call: ToolCall, found: Found) -> None:
    first, _, lines = lines_to_read(found)
    if first > max(1, len(lines)):
        path = call.paths.shown(found.page.folder, found.page.path)
        raise InvalidRequestError(
            "path", f"{path} has {counted(len(lines), 'line')}; there is no line {first:,}"
        )


def _within(chunks: Sequence[protocol.PageChunk], first: int, last: int) -> tuple[protocol.PageChunk, ...]:
    return tuple(each for each in chunks if each.range.start.line < last and each.range.end.line >= first)
