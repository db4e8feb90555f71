"""The tools `search` (places for a name, text or question) and `related` (what belongs to given lines)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents import occurrences_text
from cairn.agents.index_state import NO_MATCH, lacking, verdict_text
from cairn.agents.place_text import place_named
from cairn.agents.result_text import ResultText, left_out_text, result_text, search_texts
from cairn.agents.shown_lines import ShownLines
from cairn.agents.tool_call import (
    LEAST_TOKENS,
    MOST_TOKENS,
    Budget,
    ToolCall,
    fitted,
    joined,
    require_none,
    require_words,
    steps_of,
)
from cairn.engine.scope import files_named
from cairn.errors import InvalidRequestError
from cairn.protocol import whole_lines
from cairn.protocol.search_messages import MOST_LINES, PLACES
from cairn.schema.bounds import NOT_BLANK, at_most, within

TOKENS = 1_500
LIMIT = 5
_MOST = 200
"""The maximum number of results of a question or passage in all answers together."""
_LISTED = 200
"""The number of lines of an exact search in a structured answer."""
_LINES = (36, 16, 5)
"""The number of lines of the first, second and each later result. Usually one of the first two is right."""
_FURTHER_LINES = (24, 12, 0)
"""The number of lines of each further passage of the same results. With these numbers, answers of 4,000 bytes
contain 0.35 of the facts that 58 questions need. With (16, 12, 8) lines and no further passages, 2,600 bytes
contained 0.24; with (24, 16, 12), 4,000 bytes contained 0.31."""
_SHARES = (8.0, 4.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.65, 0.5, 0.35, 0.25, 0.12, 0.0)
"""The shares of these numbers of lines, tried in this order. The first with which all results fit is used."""


@frozen
class SearchArguments:
    """The arguments of `search`. Those from `filter` on are the protocol's own and are not listed."""

    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    type: tuple[protocol.ChunkType, ...] = ()
    language: tuple[str, ...] = ()
    collection: tuple[str, ...] = ()
    exact: bool = False
    regex: bool = False
    limit: int | None = field(default=None, metadata=within(1, MOST_LINES))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    again: bool = False
    filter: protocol.SearchFilter = field(factory=protocol.SearchFilter)
    alpha: float | None = None
    context: int | None = None
    explain: bool = False
    passages: int = 3
    case_sensitive: bool = False
    whole_word: bool = False
    ignore_case: bool = False

    def __attrs_post_init__(self) -> None:
        require_words("query", self.query)
        if not self.is_exact and self.limit is not None and self.limit > _MOST:
            raise InvalidRequestError("limit", f"expected 1 to {_MOST} without exact, got {self.limit}")

    @property
    def is_exact(self) -> bool:
        return self.exact or self.regex

    @property
    def wanted(self) -> protocol.SearchFilter:
        given = self.filter
        return protocol.SearchFilter(
            type=self.type or given.type,
            language=self.language or given.language,
            path=self.path or given.path,
            collection=self.collection or given.collection,
        )

    def params(self, limit: int, context: int) -> protocol.SearchParams:
        return protocol.SearchParams(
            query=self.query,
            limit=limit,
            alpha=self.alpha,
            filter=self.wanted,
            context=context if self.context is None else self.context,
            explain=self.explain,
            passages=self.passages,
            case_sensitive=self.case_sensitive,
            whole_word=self.whole_word,
            exact=self.exact,
            regex=self.regex,
            ignore_case=self.ignore_case,
        )


def search_data(call: ToolCall, arguments: SearchArguments) -> protocol.SearchAnswer:
    require_none(arguments.cursor)
    usual = protocol.SearchParams("")
    answer: protocol.SearchAnswer = call.request(
        "search",
        arguments.params(arguments.limit or (_LISTED if arguments.is_exact else usual.limit), usual.context),
    )
    return answer


def search(call: ToolCall, arguments: SearchArguments) -> str:
    """Return the answer. Raise InvalidRequestError for an unknown path or language, and for a wrong
    cursor."""
    places, left_out = call.places(arguments.wanted.path)
    arguments = evolve(arguments, path=places, filter=evolve(arguments.filter, path=()))
    if arguments.is_exact:
        return joined(left_out, _search_exactly(call, arguments))
    call.note_question(arguments.query)
    question = (arguments.query, _plain(arguments.wanted))
    steps = steps_of(arguments.cursor, *question)
    before = steps[-1][0] if steps else 0
    limit = arguments.limit or LIMIT
    # The order of results depends on how many are requested, so answers that continue request equally many.
    wanted = min(_MOST, limit * (before // limit + 1))
    params = evolve(arguments.params(wanted, 0), best_only=True)
    answer: protocol.SearchAnswer = call.request("search", params)
    is_end = len(answer.results) < wanted or wanted == _MOST
    budget = call.budget(arguments.max_tokens, TOKENS)
    results = search_texts(answer, call.paths)[before:]
    head = joined(left_out, "" if before and results else _head(answer, bool(results), before))
    below = lacking(call.asked, answer.retrieval, answer.index)
    if answer.broken_off:
        below = " ".join(
            filter(None, (f"Not everything was searched in time ({', '.join(answer.broken_off)}).", below))
        )

    below = joined(left_out_text(answer), below)

    def foot(count: int) -> str:
        if count == len(results) and is_end:
            return below
        is_way = count or not results
        more = call.more(((before + count, 0),), *question) if is_way else ""
        return joined(more, below)

    brief = answer.verdict.action == NO_MATCH
    before_it = call.shown_before(again=arguments.again)
    return _results_text(call, results, head, foot, budget, before_it, brief=brief)


def _search_exactly(call: ToolCall, arguments: SearchArguments) -> str:
    asked = (arguments.regex, arguments.ignore_case, arguments.whole_word)
    question = ("exact", arguments.query, asked, _plain(arguments.wanted))
    steps = steps_of(arguments.cursor, *question)
    before = steps[-1][0] if steps else 0
    budget = call.budget(arguments.max_tokens, occurrences_text.TOKENS)
    most = min(arguments.limit or MOST_LINES, occurrences_text.lines_for(budget))
    wanted = max(before + most, occurrences_text.MOST_SORTED)
    params = arguments.params(min(MOST_LINES, wanted), 0)
    answer: protocol.SearchAnswer = call.request("search", params)
    return occurrences_text.written(
        answer,
        before,
        most,
        call.paths,
        lambda shown: call.more(((shown, 0),), *question),
        lacking(call.asked, answer.retrieval, answer.index),
        budget,
    )


def _plain(wanted: protocol.SearchFilter) -> list[Any]:
    return [sorted(wanted.path), sorted(wanted.type), sorted(wanted.language), sorted(wanted.collection)]


def _head(answer: protocol.SearchAnswer, found: bool, before: int) -> str:
    if before:
        return "No further results."
    corrected = f"Read as: {', '.join(answer.query.corrections)}." if answer.query.corrections else ""
    said = verdict_text(answer.verdict, found)
    if not found and not said:
        said = "Nothing is found."
    return " ".join(filter(None, (corrected, said)))


def _results_text(
    call: ToolCall,
    results: Sequence[ResultText],
    head: str,
    foot: Callable[[int], str],
    budget: Budget,
    before: ShownLines,
    *,
    brief: bool = False,
) -> str:
    """Return the results with as many lines as fit, or only the first results if not all fit. Lines that were
    shown `before` are left out."""
    items: list[str] = []
    share = 0.0
    for share in (0.0,) if brief else _SHARES:
        items = [each.written(*_lines_of(place, share), before) for place, each in enumerate(results)]
        if budget.holds(head, *items, foot(len(items))):
            break
    text, count = fitted(head, items, foot, budget)
    for place, each in enumerate(results[:count]):
        for first, lines in each.shown_parts(*_lines_of(place, share)):
            call.note_shown(*each.file, first, lines)
    return text


def _lines_of(place: int, share: float) -> tuple[int, int]:
    """Return the lines of the result with that index, and those of each of its further passages."""
    rank = min(place, len(_LINES) - 1)
    return round(share * _LINES[rank]), round(share * _FURTHER_LINES[rank])


# --- related -------------------------------------------------------------------------------------------


@frozen
class RelatedArguments:
    """The arguments of `related`. The last three are the protocol's own and are not listed."""

    path: str = field(default="", metadata=at_most(chars=4_096, pattern=NOT_BLANK))
    limit: int | None = field(default=None, metadata=within(1, _MOST))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    again: bool = False
    text_document: protocol.TextDocument | None = None
    range: protocol.Range | None = None
    context: int | None = None

    def __attrs_post_init__(self) -> None:
        if not self.path.strip() and self.text_document is None:
            raise InvalidRequestError("path", "is required: path:line, path:first-last or a name")


def related_data(call: ToolCall, arguments: RelatedArguments) -> protocol.RelatedAnswer:
    require_none(arguments.cursor)
    uri, lines = _passage(call, arguments)
    params = protocol.RelatedParams(protocol.TextDocument(uri), lines)
    answer: protocol.RelatedAnswer = call.request(
        "related",
        evolve(
            params,
            limit=arguments.limit or params.limit,
            context=params.context if arguments.context is None else arguments.context,
        ),
    )
    return answer


def related(call: ToolCall, arguments: RelatedArguments) -> str:
    """Return the answer. Raise InvalidRequestError for an unknown place, and for a wrong cursor."""
    uri, lines = _passage(call, arguments)
    question = (uri, str(lines))
    steps = steps_of(arguments.cursor, *question)
    before, limit = steps[-1][0] if steps else 0, arguments.limit or LIMIT
    params = protocol.RelatedParams(
        protocol.TextDocument(uri), lines, limit=min(_MOST, before + limit + 1), context=0
    )
    answer: protocol.RelatedAnswer = call.request("related", params)
    page = answer.results[before : before + limit]
    is_end = len(answer.results) <= before + limit
    results = [result_text(each, call.paths, related=True) for each in page]
    below = lacking(call.asked, answer.retrieval, answer.index)
    nothing = "Nothing further is related to it." if before else "Nothing is related to that passage."
    head = "" if results else nothing

    def foot(count: int) -> str:
        if count == len(results) and is_end:
            return below
        more = call.more(((before + count, 0),), *question) if count else ""
        return joined(more, below)

    budget = call.budget(arguments.max_tokens, TOKENS)
    return _results_text(call, results, head, foot, budget, call.shown_before(again=arguments.again))


def _passage(call: ToolCall, arguments: RelatedArguments) -> tuple[str, protocol.Range]:
    """Return the file's URI and the lines of a place or a name."""
    if arguments.text_document is not None:
        start = protocol.Position(0, 0)
        return arguments.text_document.uri, arguments.range or protocol.Range(start, start)
    place = place_named(arguments.path)
    found = files_named(place.path, call.asked.folders)
    if found:
        folder, path = found[0]
        return folder.uri_of(path), whole_lines(max(0, place.first - 1), place.last or 1)
    symbol = arguments.path.strip()
    answer: protocol.ReferencesAnswer = call.request(
        "references", protocol.ReferencesParams(symbol=symbol, limit=0)
    )
    if not answer.definitions:
        raise InvalidRequestError(
            "path",
            (
                f"{symbol[:100]!r} is neither a file nor a name that is indexed; give path:line as search "
                "prints it"
            ),
        )
    return answer.definitions[0].uri, answer.definitions[0].range
