"""Pack marks into chunks: join small neighbours and cut long pieces."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.chunking.lines import Lines
from cairn.chunking.outline import MAXIMUM, VALUES, Mark

# The number of characters from which a chunk is full: about 190 tokens, with which ranking was measured.
MINIMUM = 750
# An end of a type or function with fewer characters joins the chunk before it, which may then exceed the
# maximum by this number.
_SCRAP = 250
# A piece with fewer characters, which is a line or two, joins any neighbour.
_LINE = 125
# Imports at the top of a file with at least this many characters become a chunk of their own.
_PREAMBLE = 300


def pack(marks: Sequence[Mark], lines: Lines) -> list[Mark]:
    """Return the marks of pieces that cover `lines`, one for each chunk. The given marks are changed."""
    pieces: list[Mark] = []
    for block in _blocks(marks, lines):
        if pieces and block.scope[: len(pieces[-1].scope)] != pieces[-1].scope:
            _join_scrap(pieces, lines)
        if pieces and _joins(pieces[-1], block, lines, is_first=len(pieces) == 1):
            if not pieces[-1].definitions and lines.size(pieces[-1].line, pieces[-1].end) < _LINE:
                pieces[-1].scope = block.scope
            pieces[-1].end = block.end
            pieces[-1].definitions.extend(block.definitions)
        else:
            _join_scrap(pieces, lines)
            pieces.append(block)
    _join_scrap(pieces, lines)
    return pieces


def _blocks(marks: Sequence[Mark], lines: Lines) -> list[Mark]:
    """Return the marks with their ends set, and further marks for pieces that are too long and are cut by
    lines."""
    blocks = []
    ends = [mark.line for mark in marks[1:]] + [len(lines)]
    for mark, end in zip(marks, ends, strict=True):
        is_long = lines.size(mark.line, end) > MAXIMUM + _SCRAP
        (_, stop), *others = lines.pieces(mark.line, end, MAXIMUM) if is_long else [(mark.line, end)]
        mark.end = stop  # Copying each mark would take longer than cutting.
        blocks.append(mark)
        # The later parts of a definition that was cut are inside this definition.
        inside = (*mark.scope, *mark.definitions[-1:])
        blocks += [Mark(start, mark.depth, inside, end=stop) for start, stop in others]
    return blocks


def _joins(piece: Mark, block: Mark, lines: Lines, is_first: bool) -> bool:
    """Return whether `block`, which follows `piece`, goes into the same chunk."""
    size, more = lines.size(piece.line, piece.end), lines.size(block.line, block.end)
    if size < _LINE and size + more <= MAXIMUM + _SCRAP:
        return True
    if is_first and lines.is_blank(piece.line, piece.end):
        return True
    if size >= MINIMUM or size + more > MAXIMUM:
        return False
    if size >= MINIMUM // 2 and more >= _SCRAP and block.depth < piece.depth:
        return False
    if block.opens and size >= _SCRAP:
        return False
    if is_first and size >= _PREAMBLE and _is_preamble(piece) and not _is_preamble(block):
        return False
    # A type's head may be joined with its first members, and members with each other, but not with text after
    # the type's end.
    return block.scope[: len(piece.scope)] == piece.scope


def _is_preamble(piece: Mark) -> bool:
    return not piece.scope and all(definition.kind in VALUES for definition in piece.definitions)


def _join_scrap(pieces: list[Mark], lines: Lines) -> None:
    """Join the last piece to the one before it if it is blank, or too short for a chunk of its own."""
    if len(pieces) < 2:
        return
    before, last = pieces[-2:]
    if not lines.is_blank(last.line, last.end) and not _is_scrap(before, last, lines, len(pieces) == 2):
        return
    before.end = last.end
    before.definitions.extend(last.definitions)
    pieces.pop()


def _is_scrap(before: Mark, last: Mark, lines: Lines, are_first: bool) -> bool:
    size = lines.size(last.line, last.end)
    is_inside = last.scope[: len(before.scope)] == before.scope
    is_tail = before.scope[: len(last.scope)] == last.scope and (not last.definitions or size < _LINE)
    if size >= _SCRAP or not (is_inside or is_tail):
        return False
    if are_first and size >= _LINE and _is_preamble(before) and not _is_preamble(last):
        return False
    return lines.size(before.line, before.end) + size <= MAXIMUM + _SCRAP
