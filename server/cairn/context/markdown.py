"""Formats the items of a context as Markdown, whole or cut to some of their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve

from cairn.context.model import Item
from cairn.text.verbatim import lines_with_ends

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


def block(item: Item) -> tuple[str, str, str]:
    """Return the whole item: the lines above its text, the text, and the lines below."""
    if not item.quoted:
        return "", _ended(item.text), ""
    return _quotation(item, item.text, "")


def cut_block(item: Item, first: int, last: int) -> tuple[str, str, str]:
    """Return the item as `block` does, but only its lines `[first, last)`, and a mark for the other lines."""
    lines = lines_with_ends(item.text)
    kept = "".join(lines[first:last])
    mark = f"[cut: {_missing(first, len(lines) - last)}]\n"
    if not item.quoted:
        return "", _ended(kept), f"  {mark}"
    return _quotation(cut_item(item, first, last), kept, mark)


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
