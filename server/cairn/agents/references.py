"""The tool `references`: who calls a definition, what it calls, what uses, implements or tests it."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.asked import Asked, Written
from cairn.agents.budget import LEAST_TOKENS, MOST_TOKENS, fitted
from cairn.agents.cursor import cursor_of, steps_of
from cairn.agents.places import Paths, lines_text, place_named
from cairn.agents.state import lacking
from cairn.errors import InvalidRequestError
from cairn.protocol import ReferenceDirection
from cairn.schema.bounds import NOT_BLANK, at_most, within

TOKENS = 1_500
LIMIT = 20
MOST = 200
_MOST_ASKED = 1_000
_SURE = 0.8
"""Of references that are likelier than this nothing is said of how likely they are."""
_MOST_DEFINITIONS = 5
_LONGEST_CODE = 160
"""Characters of a line of code; of a longer one only the place is told."""


@frozen
class ReferencesArguments:
    """What `references` takes. The last two, the protocol's own, are not listed."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    depth: int = field(default=1, metadata=within(1, 5))
    limit: int = field(default=LIMIT, metadata=within(0, MOST))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    text_document: protocol.TextDocument | None = None
    position: protocol.Position | None = None

    def __attrs_post_init__(self) -> None:
        if self.symbol is None and self.text_document is None:
            raise InvalidRequestError("symbol", "is required: a name, Owner.name or path:line")


def references(asked: Asked, arguments: ReferencesArguments) -> Written:
    """The answer. Raises InvalidRequestError for a place that is not indexed, and for a wrong cursor."""
    symbol, note = _meant(asked, arguments)
    at = arguments.text_document, arguments.position
    question = (arguments.symbol, str(at), arguments.direction, arguments.depth)
    steps = steps_of(arguments.cursor, *question)
    before = steps[-1][0] if steps else 0
    params = protocol.ReferencesParams(
        symbol=symbol,
        text_document=arguments.text_document,
        position=arguments.position,
        direction=arguments.direction,
        depth=arguments.depth,
        limit=min(_MOST_ASKED, before + arguments.limit),
    )
    answer: protocol.ReferencesAnswer = asked.ask("references", params)
    paths = asked.paths
    every = list(_lines(answer, paths, arguments.direction))
    found = every[before:]
    budget = asked.budget(arguments.max_tokens, TOKENS)
    head = note if before else "\n".join(filter(None, (note, _head(answer, paths))))
    if answer.definitions and not found and arguments.limit:
        head = "\n".join(filter(None, (head, _nothing(answer, arguments.direction, before))))
    below = lacking(asked.engine, None, answer.index)

    def foot(count: int) -> str:
        if count == len(found) and (answer.complete or not arguments.limit):
            return below
        left = f" ({len(found) - count} more found)" if count < len(found) else ""
        is_way = count and before + count < _MOST_ASKED
        more = f"more: cursor={cursor_of(((before + count, 0),), *question)}{left}" if is_way else ""
        return "\n".join(filter(None, (more, below)))

    text, _ = fitted(head, found, foot, budget)
    return Written(text, evolve(answer, references=answer.references[before:]) if before else answer)


def _meant(asked: Asked, arguments: ReferencesArguments) -> tuple[str | None, str]:
    """What the protocol is asked for, and what to say of it where a question was taken for what answers it best."""
    symbol = arguments.symbol
    if symbol is None:
        return None, ""
    place = place_named(symbol, "symbol")
    if place.first:
        return f"{place.path}:{place.first}", ""
    if len(symbol.split()) < 2:
        return symbol.strip().removesuffix("()"), ""
    params = protocol.SearchParams(query=symbol, limit=5, context=0, passages=1)
    answer: protocol.SearchAnswer = asked.ask("search", params)
    best = next((each for each in answer.results if each.symbol), None)
    if best is None or answer.verdict.action == "noMatch":
        raise InvalidRequestError(
            "symbol", f"no definition is like {symbol[:100]!r}; search first, and give a name"
        )
    folder = asked.paths.shown(best.folder, best.path)
    return f"{folder}:{best.selection_range.start.line + 1}", "Taken as a question; its best answer is:"


def _head(answer: protocol.ReferencesAnswer, paths: Paths) -> str:
    """The definitions, or why there are none."""
    shown = [
        f"{_definition(each, paths)}  {each.line.strip()[:_LONGEST_CODE]}"
        for each in answer.definitions[:_MOST_DEFINITIONS]
    ]
    left = len(answer.definitions) - len(shown)
    return "\n".join(
        filter(None, (answer.message, *shown, f"and {left} more of that name" if left > 0 else ""))
    )


def _nothing(answer: protocol.ReferencesAnswer, direction: ReferenceDirection, before: int) -> str:
    if before:
        return "There are no more."
    text = "" if direction is ReferenceDirection.USES else ' Try direction "uses", or search for the name.'
    return f"No {direction} were found.{text}"


def _definition(place: protocol.SymbolPlace, paths: Paths) -> str:
    """`src/harbour/berths.py:12-16  Berth.moor_ship (method)`."""
    return f"{paths.shown(place.folder, place.path)}:{lines_text(place.range)}  {place.symbol} ({place.kind})"


def _lines(answer: protocol.ReferencesAnswer, paths: Paths, direction: ReferenceDirection) -> Iterator[str]:
    """The references, one a line, each below the one that it was found from."""
    below: dict[int | None, list[int]] = {}
    for number, reference in enumerate(answer.references):
        below.setdefault(reference.parent, []).append(number)
    stack = below.get(None, [])[::-1]
    while stack:
        number = stack.pop()
        stack += below.get(number, [])[::-1]
        reference = answer.references[number]
        indent = "  " * (reference.depth - 1)
        is_down = direction is ReferenceDirection.CALLEES
        yield f"{indent}- {_reference(reference, paths, is_down=is_down)}"


def _reference(reference: protocol.FoundReference, paths: Paths, *, is_down: bool) -> str:
    """Where it is, what is around it or what it leads to, its code, and how sure it is where that is not certain."""
    place = f"{paths.shown(reference.folder, reference.path)}:{reference.range.start.line + 1}"
    about = f" in {reference.enclosing.symbol}" if reference.enclosing is not None else ""
    if is_down:
        target = reference.target
        about = (
            f" → {_definition(target, paths)}"
            if target is not None
            else f" → {reference.symbol}, not defined here"
        )
    code = reference.line.strip()
    shown = f": {code}" if len(code) <= _LONGEST_CODE else ""
    kind = "" if is_down or reference.kind == "call" else reference.kind
    unsure = reference.confidence < _SURE and not (is_down and reference.target is None)
    sure = f"{reference.confidence:g} sure, {reference.via}" if unsure else ""
    remark = ", ".join(filter(None, (kind, sure)))
    return f"{place}{about}{shown}{f'  ({remark})' if remark else ''}"
