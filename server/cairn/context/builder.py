"""Builds a context. Each part has a token budget; the items with the lowest scores are left out first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.context.markdown import block, cut_block, cut_item, section, section_frame
from cairn.context.model import TITLES, Assembled, Item, PartName
from cairn.protocol import ContextPart, DroppedItem
from cairn.settings.tree import ContextSettings
from cairn.text.verbatim import lines_with_ends

TokenCounter = Callable[[str], int]

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
    spare = room - _count(cut_block(evolve(item, text="\n"), 0, 0), count)
    grown = True
    while grown:
        grown = False
        if last < len(lines) and (tokens := count(lines[last])) <= spare:
            last, spare, grown = last + 1, spare - tokens, True
        if last > first > 0 and (tokens := count(lines[first - 1])) <= spare:
            first, spare, grown = first - 1, spare - tokens, True
    while last > first:
        pieces = cut_block(item, first, last)
        if (tokens := _count(pieces, count)) <= room:
            return _Block(cut_item(item, first, last), "".join(pieces), tokens)
        if last - 1 > item.focus:
            last -= 1
        else:
            first += 1
    return None


def _count(pieces: Sequence[str], count: TokenCounter) -> int:
    # The pieces are counted, because a passage's text is the same in every context and its count is cached.
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
