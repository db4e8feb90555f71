"""The lines of a place that `read` shows, with their numbers, or the outline of a long file or definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from cairn import protocol
from cairn.agents.place_text import numbered, numbers_text
from cairn.agents.read_places import INDEXED, Found
from cairn.agents.tool_call import Budget, ToolCall, joined
from cairn.discovery.layout import MARK
from cairn.engine.file_outline import OutlineEntry, innermost, opening
from cairn.engine.file_page import outline_of_page
from cairn.engine.folding import COMMENT, folds
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import TEST_MODULES

_LONGEST_LINE = 2_000
"""The maximum length of a shown line in characters. A longer line is replaced by its length."""
_LONGEST_HEAD = 110
"""The length in characters to which the line of an entry of an outline is cut."""
_LEAST_FOLDED = 25
"""The number of lines from which imports, long comments and tests are folded."""
_LEAST_ENTRIES = 3
"""The number of entries from which an outline says more than the beginning of the text."""
_MATCHING = 3
"""The number of results of the last question that are shown below the outline of a file."""
_OPENING = 12
"""The maximum number of lines above the outline of a file or a type, such as those of its comment."""
_PART = 200
"""The number of lines of the example of a part to read."""


@frozen
class Item:
    """A line of the answer, for some lines of the file."""

    text: str
    first: int
    """The 1-based number of the first of these lines."""
    lines: Sequence[str] = ()
    """Those of them that the item shows."""


@frozen
class Section:
    """What is shown of one place: all of its lines, or an outline."""

    head: str
    items: Sequence[Item]
    rest: Callable[[int], str]
    """Returns the line that says how to read what is left out after fewer than all items."""

    def below(self, count: int) -> str:
        return self.rest(count) if count < len(self.items) else ""

    @property
    def text(self) -> str:
        return joined(self.head, *(each.text for each in self.items))


def section(call: ToolCall, found: Found, version: str | None, *, again: bool) -> Section:
    """Return the lines of a place, those that were shown before only if they are wanted `again`."""
    page = found.page
    first, last, lines = lines_to_read(found)
    path = call.paths.shown(page.folder, page.path)
    items: list[Item] = []
    hint = f" ({call.again})"
    before = call.shown_before(again=again)
    for run in before.runs(page.folder, page.path, first, lines[first - 1 : last]):
        if run.is_known:
            items.append(Item(f"{run.mark}{hint}", run.first))
            hint = ""
            continue
        items += _folded(call, found, _items(run.first, run.lines))

    def rest(count: int) -> str:
        return call.more_lines(path, items[count].first, last)

    return Section(_head(call, found, version), items, rest)


def _folded(call: ToolCall, found: Found, items: Sequence[Item]) -> list[Item]:
    """Return many lines with one item for imports, the rest of a long comment, or tests. What the lines begin
    in, and a comment that is most of them, was asked for, so it is shown."""
    if len(items) < _LEAST_FOLDED:
        return list(items)
    left, begin = list(items), items[0].first - 1
    for fold in reversed(folds(lines_of(found.page.text), outline_of_page(call.asked, found.page))):
        first, last = (max(0, min(len(left), line - begin)) for line in (fold.start, fold.end))
        is_asked = fold.start <= begin or (fold.what == COMMENT and last - first > len(items) / 2)
        if last - first > 1 and not is_asked:
            numbers = numbers_text(left[first].first, left[last - 1].first)
            left[first:last] = [Item(f"{numbers} {fold.what}", left[first].first)]
    return left


def outline(call: ToolCall, found: Found, tokens: int, budget: Budget) -> Section | None:
    """Return the first lines and the outline of a file or definition that does not fit into `tokens` tokens;
    None if certain lines were asked for, or if there is hardly any outline."""
    first, last, lines = lines_to_read(found)
    entries = [
        each
        for each in outline_of_page(call.asked, found.page)
        if first - 1 <= each.start_line
        and each.end_line <= last
        and each.end_line - each.start_line < last - first
        and not (each.depth and each.qualified.partition(".")[0] in TEST_MODULES)
    ]
    if found.has_range or len(entries) < _LEAST_ENTRIES:
        return None
    part = f":{first}-{min(last, first + _PART - 1)}"
    head = f"{_title(call, found)}; its outline, as it is long; {part} reads lines"
    begin = opening(lines[first - 1 : max(first - 1, entries[0].start_line)], _OPENING)
    above = _items(first, lines[first - 1 : first - 1 + begin])
    least = min(each.depth for each in entries)
    for depth in range(max(each.depth for each in entries), least - 1, -1):
        kept = [each for each in entries if each.depth <= depth]
        items = [Item(_entry(each, lines, each.depth - least), each.start_line + 1) for each in kept]
        left = tokens - budget.count(joined(head, *(each.text for each in above + items)))
        if depth == least or left >= 0:
            break
    matching = _matching(call, found, entries, lines, left, budget)
    every = [*above, *items, *matching]
    return Section(head, every, lambda count: f"… and {len(every) - count} lines more")


def _matching(
    call: ToolCall,
    found: Found,
    entries: Sequence[OutlineEntry],
    lines: Sequence[str],
    tokens: int,
    budget: Budget,
) -> list[Item]:
    """Return the definitions of a file that fit the session's last question best, as far as they fit into
    `tokens` tokens."""
    question = call.session.question if call.session is not None else ""
    if not question or tokens <= 0:
        return []
    wanted = protocol.SearchFilter(path=(found.page.path,))
    answer: protocol.SearchAnswer = call.request(
        "search", protocol.SearchParams(question, limit=_MATCHING, context=0, filter=wanted)
    )
    passages = [(each.folder, each.range) for each in answer.results]
    passages += [(row.folder, each.range) for row in answer.results for each in row.passages]
    chosen: dict[int, list[Item]] = {}
    for folder, passage in passages:
        around = innermost(entries, passage.start.line)
        if folder != found.page.folder or around is None or around.start_line in chosen:
            continue
        items = _items(around.start_line + 1, lines[around.start_line : around.end_line])
        tokens -= budget.count(joined(*(each.text for each in items)))
        if tokens < 0:
            break
        chosen[around.start_line] = items
    head = [Item(f"Of these, for {question[:_LONGEST_HEAD]!r}:", found.place.first)] if chosen else []
    return [*head, *(item for start in sorted(chosen) for item in chosen[start])]


def _items(first: int, lines: Sequence[str]) -> list[Item]:
    """Return an item for each line; `first` is the 1-based number of the first."""
    texts = numbered(first, [_whole(line) for line in lines])
    return [Item(text, first + at, (lines[at],)) for at, text in enumerate(texts)]


def _entry(entry: OutlineEntry, lines: Sequence[str], depth: int) -> str:
    line = lines[entry.line].strip() if entry.line < len(lines) else entry.name
    cut = line if len(line) <= _LONGEST_HEAD else f"{line[:_LONGEST_HEAD]}…"
    return f"{'  ' * depth}{numbers_text(entry.start_line + 1, entry.end_line)} {cut}"


def _head(call: ToolCall, found: Found, version: str | None) -> str:
    title = _title(call, found)
    if found.has_range:
        around = innermost(outline_of_page(call.asked, found.page), found.place.first - 1)
        if around is not None and around.start_line < found.place.first - 1:
            lines = numbers_text(around.start_line + 1, around.end_line)
            title += f", in {around.qualified} ({around.kind}, {lines})"
    return joined(found.note, _version(found.page, version), title)


def _title(call: ToolCall, found: Found) -> str:
    """Return the path, with the lines and the name that are shown."""
    first, last, lines = lines_to_read(found)
    path = call.paths.shown(found.page.folder, found.page.path)
    if not lines:
        return f"{MARK}{path} is empty."
    if not found.place.first:
        return f"{MARK}{path}, {counted(len(lines), 'line')}"
    shown = f"{MARK}{path}:{numbers_text(first, last)} of {counted(len(lines), 'line')}"
    return f"{shown}, {found.name}" if found.name else shown


def lines_to_read(found: Found) -> tuple[int, int, list[str]]:
    """Return the 1-based first and last line to read, and all lines of the file."""
    lines = lines_of(found.page.text)
    if not lines[-1]:
        lines.pop()
    return found.place.first or 1, min(found.place.last or len(lines), len(lines)), lines


def _whole(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f" (a line of {len(line):,} characters)"


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
