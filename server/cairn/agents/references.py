"""The tool `references`: who calls a definition, what it calls, what uses, implements or tests it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from attrs import field, frozen

from cairn import protocol
from cairn.agents.budget import LEAST_TOKENS, MOST_TOKENS, fit, joined
from cairn.agents.call import ToolCall
from cairn.agents.cursor import cursor_of, require_none, steps_of
from cairn.agents.places import Paths, lines_text, place_named
from cairn.agents.state import lacking
from cairn.errors import InvalidRequestError
from cairn.protocol import ReferenceDirection
from cairn.schema.bounds import NOT_BLANK, at_most, within

TOKENS = 1_500
LIMIT = 20
MOST = 1_000
"""The maximum number of references of a definition in all answers together."""
_SURE = 0.8
"""References with at least this confidence are shown without their confidence."""
_SHOWN_OF_A_FILE = 3
"""The maximum number of references of a file that are shown with code. A test file may call a function in
forty similar lines."""
_MOST_DEFINITIONS = 5
_LONGEST_CODE = 160
"""The maximum length of a shown line of code in characters. Only the place of a longer line is shown."""


@frozen
class ReferencesArguments:
    """The arguments of `references`. The last two are the protocol's own and are not listed."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    depth: int = field(default=1, metadata=within(1, 5))
    limit: int | None = field(default=None, metadata=within(0, MOST))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    text_document: protocol.TextDocument | None = None
    position: protocol.Position | None = None

    def __attrs_post_init__(self) -> None:
        if self.symbol is None and self.text_document is None:
            raise InvalidRequestError("symbol", "is required: a name, Owner.name or path:line")

    def params(self, symbol: str | None, limit: int) -> protocol.ReferencesParams:
        return protocol.ReferencesParams(
            symbol=symbol,
            text_document=self.text_document,
            position=self.position,
            direction=self.direction,
            depth=self.depth,
            limit=limit,
        )


def references_data(call: ToolCall, arguments: ReferencesArguments) -> protocol.ReferencesAnswer:
    require_none(arguments.cursor)
    usual = protocol.ReferencesParams("x").limit
    limit = usual if arguments.limit is None else arguments.limit
    answer: protocol.ReferencesAnswer = call.request(
        "references", arguments.params(_meant(call, arguments)[0], limit)
    )
    return answer


def references(call: ToolCall, arguments: ReferencesArguments) -> str:
    """Return the answer. Raise InvalidRequestError for an unknown place, and for a wrong cursor."""
    symbol, note = _meant(call, arguments)
    at = arguments.text_document, arguments.position
    question = (arguments.symbol, str(at), arguments.direction, arguments.depth)
    steps = steps_of(arguments.cursor, *question)
    before = steps[-1][0] if steps else 0
    limit = LIMIT if arguments.limit is None else arguments.limit
    params = arguments.params(symbol, min(MOST, before + limit))
    answer: protocol.ReferencesAnswer = call.request("references", params)
    paths, is_down = call.paths, arguments.direction is ReferenceDirection.CALLEES
    references = answer.references[before:]
    numbers = [
        number
        for number in _lines_once(answer.references, is_down=is_down)
        if number >= before and not (is_down and answer.references[number].target is None)
    ]
    groups = _grouped(answer.references, numbers)
    reasons: set[str] = set()
    found = [
        _item(answer.references, group, before, paths, reasons, is_down=is_down)
        if len(group) == 1
        else _others([answer.references[number] for number in group])
        for group in groups
    ]
    budget = call.budget(arguments.max_tokens, TOKENS)
    head = note if steps else joined(note, _head(answer, paths))
    if answer.definitions and not references and limit:
        head = joined(head, _nothing(arguments.direction, is_first=not steps))
    elsewhere = _elsewhere(references) if is_down else ""
    below = lacking(call.engine, None, answer.index)

    def foot(count: int) -> str:
        is_all = count == len(found)
        after = len(answer.references) if is_all else groups[count][0]
        is_way = after > before and after < MOST and not (is_all and answer.complete)
        more = f"more: cursor={cursor_of(((after, 0),), *question)}" if is_way else ""
        return joined(elsewhere if is_all else "", more, below)

    return fit(head, found, foot, budget)


def _meant(call: ToolCall, arguments: ReferencesArguments) -> tuple[str | None, str]:
    """Return the symbol to look up, and a note if it was found by a question."""
    symbol = arguments.symbol
    if symbol is None:
        return None, ""
    place = place_named(symbol, "symbol")
    if place.first:
        return f"{place.path}:{place.first}", ""
    if len(symbol.split()) < 2:
        return symbol.strip().removesuffix("()"), ""
    params = protocol.SearchParams(query=symbol, limit=5, context=0, passages=1)
    answer: protocol.SearchAnswer = call.request("search", params)
    best = next((each for each in answer.results if each.symbol), None)
    if best is None or answer.verdict.action == "noMatch":
        raise InvalidRequestError(
            "symbol", f"no definition is like {symbol[:100]!r}; search first, and give a name"
        )
    folder = call.paths.shown(best.folder, best.path)
    return f"{folder}:{best.selection_range.start.line + 1}", "Taken as a question; its best answer is:"


def _head(answer: protocol.ReferencesAnswer, paths: Paths) -> str:
    """Return the text of the definitions, or why there are none."""
    shown = [
        f"{_definition(each, paths)}  {_code(each.line)}".rstrip()
        for each in answer.definitions[:_MOST_DEFINITIONS]
    ]
    left = len(answer.definitions) - len(shown)
    return joined(answer.message, *shown, f"and {left} more of that name" if left > 0 else "")


def _nothing(direction: ReferenceDirection, *, is_first: bool) -> str:
    if not is_first:
        return "There are no more."
    text = "" if direction is ReferenceDirection.USES else ' Try direction "uses", or search for the name.'
    return f"No {direction} were found.{text}"


def _definition(place: protocol.SymbolPlace, paths: Paths) -> str:
    """Return `src/harbour/berths.py:12-16  Berth.moor_ship (method)`."""
    return f"{paths.shown(place.folder, place.path)}:{lines_text(place.range)}  {place.symbol} ({place.kind})"


def _elsewhere(references: Sequence[protocol.FoundReference]) -> str:
    """Return one line with the called names that the workspace does not define."""
    names = dict.fromkeys(each.symbol for each in references if each.target is None)
    return f"also calls, not defined here: {', '.join(names)}" if names else ""


def _lines_once(references: Sequence[protocol.FoundReference], *, is_down: bool) -> list[int]:
    """Return the indexes of the references, only one for each line."""
    first: dict[tuple[object, ...], int] = {}
    for number, each in enumerate(references):
        what = each.symbol if is_down else ""
        first.setdefault((each.folder, each.path, each.range.start.line, each.depth, what), number)
    return list(first.values())


def _grouped(references: Sequence[protocol.FoundReference], numbers: Sequence[int]) -> list[list[int]]:
    """Group the indexes of references: one per group, except that a file's later ones share a group."""
    groups: list[list[int]] = []
    for _, run in groupby(numbers, lambda n: (references[n].folder, references[n].path, references[n].depth)):
        of_file = list(run)
        groups += [[number] for number in of_file[:_SHOWN_OF_A_FILE]]
        if rest := of_file[_SHOWN_OF_A_FILE:]:
            groups.append(rest)
    return groups


def _others(references: Sequence[protocol.FoundReference]) -> str:
    """Return one line for further references in the same file."""
    places = [
        f"{each.range.start.line + 1}{f' in {each.enclosing.symbol}' if each.enclosing else ''}"
        for each in references
    ]
    return f"  also at {', '.join(places)}"


def _item(
    references: Sequence[protocol.FoundReference],
    group: Sequence[int],
    before: int,
    paths: Paths,
    reasons: set[str],
    *,
    is_down: bool,
) -> str:
    """Return the only reference of a group. If it is more calls away than the last one, a line says so first.

    `reasons` are the reasons that uncertain references above have shown. This adds new ones and repeats none.
    """
    number = group[0]
    reference = references[number]
    above = references[number - 1].depth if number > before else 1 if not before else 0
    level = f"{reference.depth} levels away:\n" if reference.depth > max(1, above) else ""
    return f"{level}- {_reference(reference, paths, reasons, is_down=is_down)}"


def _code(line: str) -> str:
    """Return the line as it is shown; "" if it is too long."""
    code = line.strip()
    return code if len(code) <= _LONGEST_CODE else ""


def _reference(reference: protocol.FoundReference, paths: Paths, reasons: set[str], *, is_down: bool) -> str:
    """Return a reference's place, its function or its target, its code, and its confidence if that is low."""
    place = f"{paths.shown(reference.folder, reference.path)}:{reference.range.start.line + 1}"
    about = f" in {reference.enclosing.symbol}" if reference.enclosing is not None else ""
    if is_down and reference.target is not None:
        about = f" → {_definition(reference.target, paths)}"
    code = _code(reference.line)
    shown = f": {code}" if code else ""
    kind = "" if is_down or reference.kind == "call" else reference.kind
    sure = ""
    if reference.confidence < _SURE:
        why = "" if reference.via in reasons else f": {reference.via}"
        sure = f"{reference.confidence:.0%} sure{why}"
        reasons.add(reference.via)
    remark = ", ".join(filter(None, (kind, sure)))
    return f"{place}{about}{shown}{f'  ({remark})' if remark else ''}"
