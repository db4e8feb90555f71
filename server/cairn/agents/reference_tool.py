"""The tool `references`: who calls a definition, what it calls, what uses, implements or tests it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby

from attrs import field, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH, lacking
from cairn.agents.place_text import Paths, lines_text, place_named
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, ToolCall, fit, joined, require_none, steps_of
from cairn.agents.trace_text import NO_CALLS, trace_head, trace_lines
from cairn.errors import InvalidRequestError
from cairn.protocol import ReferenceDirection
from cairn.protocol.search_messages import PLACES
from cairn.schema.bounds import NOT_BLANK, at_most, within

TOKENS = 1_500
LIMIT = 20
MOST = 1_000
"""The maximum number of references of a definition in all answers together."""
_TOKENS_OF_A_CALL = 32
"""The tokens of a line of a trace: 26 to 36 in seven projects."""
_SURE = 0.8
"""References with at least this confidence are shown without their confidence."""
_SHOWN_OF_A_GROUP = 3
"""The maximum number of references of a group that are shown with code. A test file may call a function in
forty similar lines."""
_MOST_DEFINITIONS = 5
_LONGEST_CODE = 160
"""The maximum length of a shown line of code in characters. Only the place of a longer line is shown."""


@frozen
class ReferencesArguments:
    """The arguments of `references`. The last three are the protocol's own and are not listed."""

    symbol: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    direction: ReferenceDirection = ReferenceDirection.CALLERS
    to: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    depth: int | None = field(default=None, metadata=within(1, 10))
    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    limit: int | None = field(default=None, metadata=within(0, MOST))
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    tests: bool | None = None
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
            to=None if self.to is None else _name_or_place(self.to, "to"),
            depth=self.depth,
            limit=limit,
            path=self.path,
            tests=self.tests,
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
    question = (
        arguments.symbol,
        str(at),
        arguments.direction,
        arguments.to,
        arguments.depth,
        arguments.path,
        arguments.tests,
    )
    if arguments.direction is ReferenceDirection.TRACE:
        return _trace(call, arguments, symbol, note, question)
    steps = steps_of(arguments.cursor, *question)
    before = steps[-1][0] if steps else 0
    limit = LIMIT if arguments.limit is None else arguments.limit
    params = arguments.params(symbol, min(MOST, before + limit))
    answer: protocol.ReferencesAnswer = call.request("references", params)
    paths, is_down = call.paths, arguments.direction is ReferenceDirection.CALLEES
    listed = [
        number for number, each in enumerate(answer.references) if not (is_down and each.target is None)
    ]
    groups = [
        part
        for group in in_groups(answer.references, listed, within=_doubt)
        for part in _shown_alone([number for number in group if number >= before])
    ]
    reasons: set[str] = set()
    found = [
        _item(answer, group, before, paths, reasons) if len(group) == 1 else _others(answer, group)
        for group in groups
    ]
    budget = call.budget(arguments.max_tokens, TOKENS)
    head = note if steps else joined(note, _head(answer, paths))
    if not steps:
        head = joined(head, *(f"{note_text(each)}{_place_of_note(each, paths)}" for each in answer.notes))
    if answer.definitions and len(answer.references) <= before and limit:
        head = joined(head, _nothing(call, answer, arguments.direction, is_first=not steps))
    below = lacking(call.asked, None, answer.index)

    def foot(count: int) -> str:
        is_all = count == len(found)
        after = len(answer.references) if is_all else groups[count][0]
        elsewhere = _elsewhere(answer.references[before:after], paths) if is_down else ""
        more = ""
        if after >= MOST and not answer.complete:
            more = f"There are more than {MOST:,}, and only these are shown."
        elif after > before and not (is_all and answer.complete):
            more = call.more(((after, 0),), *question)
        return joined(elsewhere, more, below)

    return fit(head, found, foot, budget)


def _trace(
    call: ToolCall,
    arguments: ReferencesArguments,
    symbol: str | None,
    note: str,
    question: tuple[object, ...],
) -> str:
    """Return a trace with as many calls as the budget has room for. A cursor keeps that number."""
    budget = call.budget(arguments.max_tokens, TOKENS)
    steps = steps_of(arguments.cursor, *question)
    before, limit = steps[-1] if steps else (0, arguments.limit)
    is_free = limit is None
    limit = min(MOST, budget.tokens // _TOKENS_OF_A_CALL) if limit is None else limit
    answer, lines = _traced(call, arguments.params(symbol, limit), before)
    if is_free and not budget.holds(trace_head(answer, call.paths), *lines):
        # A shorter whole says more than the first part of a longer one.
        limit = max(1, limit * budget.tokens * 9 // (10 * budget.count(joined(*lines))))
        answer, lines = _traced(call, arguments.params(symbol, limit), before)
    if before:
        head = _calls_above(answer, before) if lines else "There are no more."
    else:
        head = joined(note, trace_head(answer, call.paths), answer.message)
        if answer.definitions and not answer.references and not answer.message and limit:
            head = joined(head, NO_CALLS)
    below = lacking(call.asked, None, answer.index)

    def foot(count: int) -> str:
        more = "" if answer.complete else f"More calls follow with a higher {budget.option}."
        if count < len(lines):
            more = call.more(((before + count, limit),), *question)
        return joined(more, below)

    return fit(head, lines, foot, budget)


def _traced(
    call: ToolCall, params: protocol.ReferencesParams, before: int
) -> tuple[protocol.ReferencesAnswer, list[str]]:
    """Return a trace, and its lines from the call with the index `before` on."""
    answer: protocol.ReferencesAnswer = call.request("references", params)
    return answer, list(trace_lines(answer, call.paths, before))


def _calls_above(answer: protocol.ReferencesAnswer, number: int) -> str:
    """Return the functions in which the call with that index stands, for a trace that continues there."""
    names: list[str] = []
    parent = answer.references[number].parent
    while parent is not None:
        names.append(answer.references[parent].symbol)
        parent = answer.references[parent].parent
    return f"in {' › '.join([answer.symbol, *reversed(names)])}:"


def _name_or_place(text: str, param: str) -> str:
    """Return the name without `()`, or `path:line`."""
    place = place_named(text, param)
    return f"{place.path}:{place.first}" if place.first else text.strip().removesuffix("()")


def _meant(call: ToolCall, arguments: ReferencesArguments) -> tuple[str | None, str]:
    """Return the symbol to look up, and a note if it was found by a question."""
    symbol = arguments.symbol
    if symbol is None:
        return None, ""
    named = _name_or_place(symbol, "symbol")
    if place_named(symbol).first or len(symbol.split()) < 2:
        return named, ""
    params = protocol.SearchParams(query=symbol, limit=5, context=0, passages=1)
    answer: protocol.SearchAnswer = call.request("search", params)
    best = next((each for each in answer.results if each.symbol), None)
    if best is None or answer.verdict.action == NO_MATCH:
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


def _nothing(
    call: ToolCall, answer: protocol.ReferencesAnswer, direction: ReferenceDirection, *, is_first: bool
) -> str:
    if not is_first:
        return "There are no more."
    said = nothing_found(answer, direction)
    is_final = direction is ReferenceDirection.USES or answer.notes
    return said if is_final else f"{said} {call.other_ways(answer.symbol)}"


def _place_of_note(note: protocol.UsageNote, paths: Paths) -> str:
    if note.path is None or note.folder is None or note.range is None:
        return ""
    return f"  {paths.shown(note.folder, note.path)}:{note.range.start.line + 1}"


def _definition(place: protocol.SymbolPlace, paths: Paths) -> str:
    """Return `src/harbour/berths.py:12-16  Berth.moor_ship (method)`."""
    return f"{paths.shown(place.folder, place.path)}:{lines_text(place.range)}  {place.symbol} ({place.kind})"


def _elsewhere(references: Sequence[protocol.FoundReference], paths: Paths) -> str:
    """Return one line with the called names that the workspace does not define, and the lines of the calls.

    A path comes before the first of some lines that are in its file.
    """
    calls: dict[str, dict[tuple[str, int], None]] = {}
    for each in references:
        if each.target is None:
            place = paths.shown(each.folder, each.path), each.range.start.line + 1
            calls.setdefault(each.symbol, {})[place] = None
    names, above = [], ""
    for name, places in calls.items():
        lines = []
        for path, line in places:
            lines.append(str(line) if path == above else f"{path}:{line}")
            above = path
        names.append(f"{name} ({', '.join(lines)})")
    return f"also calls, not defined here: {', '.join(names)}" if names else ""


def _shown_alone(group: Sequence[int]) -> list[list[int]]:
    """Divide a group: the first ones are alone, and the others share a part, which has no code."""
    alone, rest = group[:_SHOWN_OF_A_GROUP], list(group[_SHOWN_OF_A_GROUP:])
    return [[number] for number in alone] + ([rest] if rest else [])


def _others(answer: protocol.ReferencesAnswer, group: Sequence[int]) -> str:
    """Return one line for the further references of a group."""
    places = [
        f"{each.range.start.line + 1}{_around(each)}"
        for each in (answer.references[number] for number in group)
    ]
    return f"  also at {', '.join(places)}"


def _item(
    answer: protocol.ReferencesAnswer, group: Sequence[int], before: int, paths: Paths, reasons: set[str]
) -> str:
    """Return the only reference of a group. If it is more calls away than the last one, a line says so first.

    `reasons` are the reasons that uncertain references above have shown. This adds new ones and repeats none.
    """
    number = group[0]
    reference = answer.references[number]
    above = answer.references[number - 1].depth if number > before else 1 if not before else 0
    level = f"{reference.depth} levels away:\n" if reference.depth > max(1, above) else ""
    return f"{level}- {_reference(answer, reference, paths, reasons)}"


def _code(line: str) -> str:
    """Return the line as it is shown; "" if it is too long."""
    code = line.strip()
    return code if len(code) <= _LONGEST_CODE else ""


def _around(reference: protocol.FoundReference) -> str:
    """Return the function around a reference, unless the reference is one of its callees."""
    around = reference.enclosing
    return f" in {around.symbol}" if around is not None and reference.target is None else ""


def _doubt(reference: protocol.FoundReference) -> tuple[float, str] | None:
    """Return the confidence and its reason if the text shows them."""
    return (reference.confidence, reference.via) if reference.confidence < _SURE else None


def _reference(
    answer: protocol.ReferencesAnswer, reference: protocol.FoundReference, paths: Paths, reasons: set[str]
) -> str:
    """Return a reference's place, its function or its target, its code, and its confidence if that is low."""
    place = f"{paths.shown(reference.folder, reference.path)}:{reference.range.start.line + 1}"
    about = _around(reference)
    if reference.target is not None:
        about = f" → {_definition(reference.target, paths)}"
    elif name := meant(answer, reference):
        about += f" → {name}"
    code = _code(reference.line)
    shown = f": {code}" if code else ""
    sure = ""
    if _doubt(reference) is not None:
        why = "" if reference.via in reasons else f": {reference.via}"
        sure = f"{reference.confidence:.0%} sure{why}"
        reasons.add(reference.via)
    remark = ", ".join(filter(None, (use(reference), sure)))
    return f"{place}{about}{shown}{f'  ({remark})' if remark else ''}"


# --- what both the texts for agents and those of commands show --------------------------------------


def in_groups(
    references: Sequence[protocol.FoundReference],
    numbers: Iterable[int],
    within: Callable[[protocol.FoundReference], Hashable],
) -> Iterator[list[int]]:
    """Yield the indexes `numbers` in groups: neighbours of one file and meaning, and one `within(…)`.

    Of references that look alike on one line, only the first is in a group.
    """

    def of_group(number: int) -> Hashable:
        each = references[number]
        return each.folder, each.path, each.depth, each.symbol, each.target, each.kind, within(each)

    alike: dict[Hashable, int] = {}
    for number in numbers:
        each = references[number]
        alike.setdefault((each.range.start.line, each.enclosing, of_group(number)), number)
    for _, group in groupby(alike.values(), of_group):
        yield list(group)


_ENTRIES = frozenset({
    protocol.UsageKind.ROUTE, protocol.UsageKind.COMMAND, protocol.UsageKind.TEST,
    protocol.UsageKind.LISTENER, protocol.UsageKind.TASK, protocol.UsageKind.LIFECYCLE,
})  # fmt: skip


def note_text(note: protocol.UsageNote) -> str:
    """Return what a note says, without the place of its line."""
    if note.kind is protocol.UsageKind.UNRESOLVED:
        return f"{note.text or 'another'}: {_code(note.line)}"
    return f"entry point: {note.text}" if note.kind in _ENTRIES else note.text


def nothing_found(answer: protocol.ReferencesAnswer, direction: str) -> str:
    """Return what to say instead of references; "" if a note says it."""
    kinds = {each.kind for each in answer.notes}
    if kinds & {protocol.UsageKind.PUBLIC, protocol.UsageKind.UNUSED}:
        return f"There are no {direction}."
    return f"No {direction} are resolved." if kinds else f"No {direction} were found."


def meant(answer: protocol.ReferencesAnswer, reference: protocol.FoundReference) -> str:
    """Return the name of the definition that is used, or "" if it is the only one that was asked about."""
    return "" if {each.symbol for each in answer.definitions} == {reference.symbol} else reference.symbol


def use(reference: protocol.FoundReference) -> str:
    """Return how the definition is used, such as `import`; "" for a call."""
    return "" if reference.kind == "call" else reference.kind
