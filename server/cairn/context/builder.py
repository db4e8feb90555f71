"""Build a context from the items of several parts, as Markdown. Each part has a token budget; the items with
the lowest scores are left out first."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.embedding.shared import TokenCounter
from cairn.protocol import ContextPart, DroppedItem, citation
from cairn.settings.tree import ContextSettings
from cairn.text.verbatim import lines_with_ends


class PartName(enum.StrEnum):
    """The parts of a context, in the order in which they are shown."""

    CORE_CONCEPTS = "coreConcepts"
    PASSAGES = "passages"
    EDITOR_STATE = "editorState"
    DIAGNOSTICS = "diagnostics"
    RECENT_QUERIES = "recentQueries"


TITLES: dict[PartName, str] = {
    PartName.CORE_CONCEPTS: "Core concepts",
    PartName.PASSAGES: "Relevant passages",
    PartName.EDITOR_STATE: "Editor",
    PartName.DIAGNOSTICS: "Diagnostics",
    PartName.RECENT_QUERIES: "Recent queries",
}


@frozen
class Item:
    text: str
    """The text: lines of a file if it is `quoted`, else Markdown."""
    title: str
    score: float
    """The value of the item. The item with the lowest score is left out first."""
    path: str = ""
    lines: tuple[int, int] | None = None
    """The 0-based lines `[start, end)` of the text in the file at `path`."""
    quoted: bool = False
    """Whether the text is shown in a code block below its citation."""
    language: str = ""
    note: str = ""
    """A line that is shown between the citation and the quotation."""
    focus: int = 0
    """The most important line of the text, which is kept if the text is cut."""

    @property
    def citation(self) -> str:
        """The citation `path#L10-L14`, with 1-based inclusive lines; without lines only the path."""
        return citation(self.path, self.lines)


@frozen
class Assembled:
    text: str
    tokens: int
    parts: tuple[ContextPart, ...]
    """All parts, including those without items."""
    dropped: tuple[DroppedItem, ...]


_BACKTICKS = re.compile(r"`+")
_BLANK = "\n"
_INFO = re.compile(r"[\w+#.-]*")


def section(title: str, blocks: Sequence[str]) -> str:
    """Return a part's title and blocks as text; "" if there are no blocks."""
    if not blocks:
        return ""
    body = "".join(blocks)
    # A quotation already begins with a blank line.
    return f"## {title}\n{_BLANK * (not blocks[0].startswith(_BLANK))}{body}{_BLANK}"


def section_frame(title: str) -> tuple[str, ...]:
    """Return all lines that a section may have besides its blocks."""
    return f"## {title}\n", _BLANK, _BLANK


def block(item: Item, first: int = 0, last: int | None = None) -> tuple[str, str, str]:
    """Return the item: the lines above its text, the text, and the lines below. If only the lines
    `[first, last)` of the text are shown, a mark counts the others."""
    lines = lines_with_ends(item.text)
    kept = "".join(lines[first:last])
    left_out = _missing(first, 0 if last is None else len(lines) - last)
    mark = f"[cut: {left_out}]\n" if left_out else ""
    if not item.quoted:
        return "", _ended(kept), f"  {mark}" if mark else ""
    return _quotation(cut_item(item, first, len(lines) if last is None else last), kept, mark)


def cut_item(item: Item, first: int, last: int) -> Item:
    """Return the item with the place of only the lines `[first, last)` of its text, if the place is known."""
    if item.lines is None or item.lines[1] - item.lines[0] != len(lines_with_ends(item.text)):
        return item  # The lines of a notebook's cell may differ from those of its file.
    start = item.lines[0]
    return evolve(item, lines=(start + first, start + last))


def one_line(text: str) -> str:
    """Return the text with each run of white space as one blank."""
    return " ".join(text.split())


def as_code(text: str) -> str:
    """Return the text between more backticks than it contains."""
    shown = one_line(text)
    marks = "`" * (max(map(len, _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{pad}{shown}{pad}{marks}"


def _quotation(item: Item, text: str, mark: str) -> tuple[str, str, str]:
    fence = "`" * max(3, max(map(len, _BACKTICKS.findall(text)), default=0) + 1)
    info = item.language if _INFO.fullmatch(item.language) else ""
    title = f" {one_line(item.title)}" if item.title else ""
    note = f"{item.note}\n" if item.note else ""
    return f"{_BLANK}### {item.citation}{title}\n{note}\n{fence}{info}\n", _ended(text), f"{fence}\n{mark}"


def _ended(text: str) -> str:
    return text if text.endswith(("\n", "\r")) else f"{text}\n"


def _missing(before: int, after: int) -> str:
    counts = [(before, "before"), (after, "after")]
    return " and ".join(f"{n} {'line' if n == 1 else 'lines'} {side}" for n, side in counts if n)


_VERY_LONG = 0.5
"""The minimum share of the part's budget of an item that, if it does not fit, is cut instead of left out."""
_WORTH_CUTTING = 0.25
"""The minimum free share of the part's budget for which an item is cut instead of left out."""

_FIRST_TO_GIVE = (
    PartName.PASSAGES,
    PartName.RECENT_QUERIES,
    PartName.DIAGNOSTICS,
    PartName.EDITOR_STATE,
    PartName.CORE_CONCEPTS,
)


def part_budgets(settings: ContextSettings, total: int | None = None) -> dict[PartName, int]:
    """Return the number of tokens for each part: the settings', or a division of `total` if given.

    A smaller total reduces every part in proportion; a larger one adds to the passages. A part that needs
    less than its budget leaves the rest unused.
    """
    budgets: dict[PartName, int] = {part: getattr(settings, part.name.lower()) for part in PartName}
    if total is not None:
        whole = sum(budgets.values())
        if total < whole:
            budgets = {name: tokens * total // whole for name, tokens in budgets.items()}
        budgets[PartName.PASSAGES] += total - sum(budgets.values())
    return budgets


def assemble(
    parts: Mapping[PartName, Sequence[Item]],
    budgets: Mapping[PartName, int],
    count: TokenCounter,
) -> Assembled:
    """Return the parts as one text, of at most as many tokens (by `count`) as all budgets together.

    Within a part, the best items come first. If a part exceeds its budget, the items with the lowest scores
    are left out; a very long item is cut after a whole line instead, and gets a mark. Equal input gives equal
    bytes.
    """
    sections = [_fit(name, items, budgets[name], count) for name, items in parts.items()]
    total = sum(budgets.values())
    text = _joined(sections)
    tokens = count(text)
    while tokens > total:
        # Tokenizers that merge across lines may count more for the whole than for its blocks.
        _drop_lowest(sections, total)
        tokens = count(text := _joined(sections))
    used = {fitted.name: fitted.tokens for fitted in sections}
    return Assembled(
        text=text,
        tokens=tokens,
        parts=tuple(ContextPart(name, budget, used.get(name, 0)) for name, budget in budgets.items()),
        dropped=tuple(dropped for fitted in sections for dropped in fitted.dropped),
    )


@frozen
class _Block:
    item: Item
    text: str
    tokens: int


@define
class _Section:
    """A part with its items and those that were left out."""

    name: PartName
    frame_tokens: int
    blocks: list[_Block] = field(factory=list)
    dropped: list[DroppedItem] = field(factory=list)

    @property
    def tokens(self) -> int:
        return self.frame_tokens + sum(each.tokens for each in self.blocks) if self.blocks else 0

    @property
    def text(self) -> str:
        return section(TITLES[self.name], [each.text for each in self.blocks])


def _joined(sections: Sequence[_Section]) -> str:
    text = "".join(fitted.text for fitted in sections).rstrip("\n")
    return f"{text}\n" if text else ""


def _fit(name: PartName, items: Sequence[Item], budget: int, count: TokenCounter) -> _Section:
    fitted = _Section(name, _count(section_frame(TITLES[name]), count))
    room = budget - fitted.frame_tokens
    full = False
    for item in sorted(items, key=lambda item: -item.score):
        pieces = block(item)
        tokens = _count(pieces, count)
        if not full and tokens <= room:
            fitted.blocks.append(_Block(item, "".join(pieces), tokens))
            room -= tokens
            continue
        cut = None
        if not full and tokens > _VERY_LONG * budget and room >= _WORTH_CUTTING * budget:
            cut = _cut(item, room, count)
        full = True
        if cut is None:
            fitted.dropped.append(_dropped(name, item, tokens, f"over the budget of {budget} tokens"))
        else:
            fitted.blocks.append(cut)
            why = (
                f"cut to {cut.item.citation or 'its first lines'}: too long for the budget of {budget} tokens"
            )
            fitted.dropped.append(_dropped(name, item, max(0, tokens - cut.tokens), why))
    return fitted


def _cut(item: Item, room: int, count: TokenCounter) -> _Block | None:
    """Return as many whole lines around the item's focus as fit; None if not even one does."""
    lines = lines_with_ends(item.text)
    first = last = min(item.focus, len(lines) - 1) if lines else 0
    spare = room - _count(block(evolve(item, text="\n"), 0, 0), count)
    grown = True
    while grown:
        grown = False
        if last < len(lines) and (tokens := count(lines[last])) <= spare:
            last, spare, grown = last + 1, spare - tokens, True
        if last > first > 0 and (tokens := count(lines[first - 1])) <= spare:
            first, spare, grown = first - 1, spare - tokens, True
    while last > first:
        pieces = block(item, first, last)
        if (tokens := _count(pieces, count)) <= room:
            return _Block(cut_item(item, first, last), "".join(pieces), tokens)
        if last - 1 > item.focus:
            last -= 1
        else:
            first += 1
    return None


def _count(pieces: Sequence[str], count: TokenCounter) -> int:
    return sum(count(piece) for piece in pieces if piece)


def _drop_lowest(sections: Sequence[_Section], total: int) -> None:
    """Leave out the item with the lowest score in the first part that has items."""
    by_name = {fitted.name: fitted for fitted in sections}
    for name in _FIRST_TO_GIVE:
        fitted = by_name.get(name)
        if fitted is not None and fitted.blocks:
            gone = fitted.blocks.pop()
            why = f"over the whole budget of {total} tokens"
            fitted.dropped.insert(0, _dropped(name, gone.item, gone.tokens, why))
            return


def _dropped(part: PartName, item: Item, tokens: int, why: str) -> DroppedItem:
    return DroppedItem(part, item.title, item.citation, tokens, round(item.score, 4), why)
