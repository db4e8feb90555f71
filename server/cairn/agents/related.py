"""The tool `related`: what belongs to given lines, such as tests, callers, documents and siblings."""

from __future__ import annotations

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.budget import LEAST_TOKENS, MOST_TOKENS, joined
from cairn.agents.call import ToolCall
from cairn.agents.cursor import require_none, steps_of
from cairn.agents.passages import result_text
from cairn.agents.places import place_named
from cairn.agents.search import results_text
from cairn.agents.state import lacking
from cairn.engine.scope import files_named
from cairn.errors import InvalidRequestError
from cairn.protocol import whole_lines
from cairn.schema.bounds import NOT_BLANK, at_most, within

TOKENS = 1_500
LIMIT = 5
MOST = 200


@frozen
class RelatedArguments:
    """The arguments of `related`. The last three are the protocol's own and are not listed."""

    path: str = field(default="", metadata=at_most(chars=4_096, pattern=NOT_BLANK))
    limit: int | None = field(default=None, metadata=within(1, MOST))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
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
        protocol.TextDocument(uri), lines, limit=min(MOST, before + limit + 1), context=0
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
    return results_text(results, head, foot, budget)


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
