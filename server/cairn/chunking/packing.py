"""From marks to chunks: small neighbours are put together, what is too long is cut."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from cairn.chunking.lines import Lines
from cairn.chunking.outline import MAXIMUM, VALUES, Definition, Mark

# A chunk is full from this length on, in characters; from the prototype too (about 190 tokens).
MINIMUM = 750
# Less than this at the end of a type or function joins the chunk before it, which may then grow a little.
_SCRAP = 250
# Less than this, a line or two, joins any neighbour.
_LINE = 125
# The imports at the top of a file are a chunk of their own from this length on.
_PREAMBLE = 300


@define(eq=False)
class Piece:
    """Lines `[start, end)` that become one chunk."""

    start: int
    end: int
    depth: int
    scope: tuple[Definition, ...]
    definitions: list[Definition] = field(factory=list)
    opens: bool = False
    """Whether it begins with the head of something that was cut open."""


def pack(marks: Sequence[Mark], lines: Lines) -> list[Piece]:
    """Pieces that cover all of `lines`, in order."""
    pieces: list[Piece] = []
    for block in _blocks(marks, lines):
        if pieces and block.scope[: len(pieces[-1].scope)] != pieces[-1].scope:
            _join_scrap(pieces, lines)
        if pieces and _joins(pieces[-1], block, lines, is_first=len(pieces) == 1):
            if not pieces[-1].definitions and lines.size(pieces[-1].start, pieces[-1].end) < _LINE:
                pieces[-1].scope = block.scope
            pieces[-1].end = block.end
            pieces[-1].definitions.extend(block.definitions)
        else:
            _join_scrap(pieces, lines)
            pieces.append(block)
    _join_scrap(pieces, lines)
    return pieces


def _blocks(marks: Sequence[Mark], lines: Lines) -> list[Piece]:
    """What each mark stands for, cut by lines where it has no marks inside and is too long."""
    blocks = []
    ends = [mark.line for mark in marks[1:]] + [len(lines)]
    for mark, end in zip(marks, ends, strict=True):
        is_long = lines.size(mark.line, end) > MAXIMUM + _SCRAP
        (_, stop), *others = lines.pieces(mark.line, end, MAXIMUM) if is_long else [(mark.line, end)]
        blocks.append(Piece(mark.line, stop, mark.depth, mark.scope, mark.definitions, mark.opens))
        # Later parts of a definition that was cut are inside it.
        inside = (*mark.scope, *mark.definitions[-1:])
        blocks += [Piece(start, stop, mark.depth, inside) for start, stop in others]
    return blocks


def _joins(piece: Piece, block: Piece, lines: Lines, is_first: bool) -> bool:
    """Whether `block`, which follows `piece`, goes into the same chunk."""
    size, more = lines.size(piece.start, piece.end), lines.size(block.start, block.end)
    if size < _LINE and size + more <= MAXIMUM + _SCRAP:
        # Too little to stand alone.
        return True
    if is_first and lines.is_blank(piece.start, piece.end):
        return True
    if size >= MINIMUM or size + more > MAXIMUM:
        return False
    if size >= MINIMUM // 2 and more >= _SCRAP and block.depth < piece.depth:
        return False
    if block.opens and size >= _SCRAP:
        return False
    if is_first and size >= _PREAMBLE and _is_preamble(piece) and not _is_preamble(block):
        return False
    # The head of a type with its first members, members with members; but nothing across a type's end.
    return block.scope[: len(piece.scope)] == piece.scope


def _is_preamble(piece: Piece) -> bool:
    return not piece.scope and all(definition.kind in VALUES for definition in piece.definitions)


def _join_scrap(pieces: list[Piece], lines: Lines) -> None:
    """Join the last piece to the one before it if it is too short to say anything alone."""
    if len(pieces) < 2:
        return
    before, last = pieces[-2:]
    size = lines.size(last.start, last.end)
    is_inside = last.scope[: len(before.scope)] == before.scope
    is_tail = before.scope[: len(last.scope)] == last.scope and (not last.definitions or size < _LINE)
    if size >= _SCRAP or not (is_inside or is_tail):
        return
    if len(pieces) == 2 and size >= _LINE and _is_preamble(before) and not _is_preamble(last):
        return
    if lines.size(before.start, before.end) + size <= MAXIMUM + _SCRAP:
        before.end = last.end
        before.definitions.extend(last.definitions)
        pieces.pop()
