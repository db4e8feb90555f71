"""The tool `related`: what belongs to lines of a file: tests, callers, documents, siblings."""

from __future__ import annotations

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.asked import Asked
from cairn.agents.budget import LEAST_TOKENS, MOST_TOKENS
from cairn.agents.cursor import cursor_of, require_none, steps_of
from cairn.agents.passages import shown
from cairn.agents.places import place_named
from cairn.agents.search import written
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
    """What `related` takes. The last three, the protocol's own, are not listed."""

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


def related_data(asked: Asked, arguments: RelatedArguments) -> protocol.RelatedAnswer:
    """The protocol's answer, as every other front has it."""
    require_none(arguments.cursor)
    uri, lines = _passage(asked, arguments)
    params = protocol.RelatedParams(protocol.TextDocument(uri), lines)
    answer: protocol.RelatedAnswer = asked.ask(
        "related",
        evolve(
            params,
            limit=arguments.limit or params.limit,
            context=params.context if arguments.context is None else arguments.context,
        ),
    )
    return answer


def related(asked: Asked, arguments: RelatedArguments) -> str:
    """The answer. Raises InvalidRequestError for a place that is not indexed, and for a wrong cursor."""
    uri, lines = _passage(asked, arguments)
    question = (uri, str(lines))
    steps = steps_of(arguments.cursor, *question)
    before, limit = steps[-1][0] if steps else 0, arguments.limit or LIMIT
    params = protocol.RelatedParams(
        protocol.TextDocument(uri), lines, limit=min(MOST, before + limit + 1), context=0
    )
    answer: protocol.RelatedAnswer = asked.ask("related", params)
    page = answer.results[before : before + limit]
    is_end = len(answer.results) <= before + limit
    results = [shown(each, asked.paths, related=True) for each in page]
    below = lacking(asked.engine, answer.retrieval, answer.index)
    head = (
        ""
        if results
        else "Nothing further is related to it."
        if before
        else "Nothing is related to that passage."
    )

    def foot(count: int) -> str:
        if count == len(results) and is_end:
            return below
        more = f"more: cursor={cursor_of(((before + count, 0),), *question)}" if count else ""
        return "\n".join(filter(None, (more, below)))

    budget = asked.budget(arguments.max_tokens, TOKENS)
    return written(results, head, foot, budget)


def _passage(asked: Asked, arguments: RelatedArguments) -> tuple[str, protocol.Range]:
    """The file's URI and the lines that are meant."""
    if arguments.text_document is not None:
        start = protocol.Position(0, 0)
        return arguments.text_document.uri, arguments.range or protocol.Range(start, start)
    place = place_named(arguments.path)
    found = files_named(place.path, asked.engine.folders)
    if found:
        folder, path = found[0]
        return folder.uri_of(path), whole_lines(max(0, place.first - 1), place.last or 1)
    symbol = arguments.path.strip()
    answer: protocol.ReferencesAnswer = asked.ask(
        "references", protocol.ReferencesParams(symbol=symbol, limit=0)
    )
    if not answer.definitions:
        raise InvalidRequestError(
            "path",
            f"{symbol[:100]!r} is neither a file nor a name that is indexed; give path:line as search prints it",
        )
    return answer.definitions[0].uri, answer.definitions[0].range
