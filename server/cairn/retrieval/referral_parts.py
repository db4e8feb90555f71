"""Cut a chunk of several functions to the part that a reference shows."""

from __future__ import annotations

from attrs import evolve

from cairn.index.reader.records import StoredChunk
from cairn.retrieval.referrals import Referral
from cairn.text.verbatim import lines_with_ends


def part_of(stored: StoredChunk, referral: Referral) -> StoredChunk:
    """Return the lines of the chunk that the referral shows, named after their function, or the whole chunk.
    The cell of a notebook stays whole, because its lines are not lines of the file."""
    chunk = stored.chunk
    lines = lines_with_ends(chunk.text)
    if referral.shown is None or len(lines) != chunk.end_line - chunk.start_line:
        return stored
    first, last = referral.shown
    text = "".join(lines[first - chunk.start_line : last - chunk.start_line])
    defines = tuple(name for name in chunk.defines if name in text)
    part = evolve(
        chunk, start_line=first, end_line=last, text=text, defines=defines, signature="", comment=""
    )
    if (scope := referral.scope) is not None:
        header = " > ".join(scope.qualified.split("."))
        part = evolve(part, symbol=scope.name, symbol_kind=scope.kind, title=scope.name, header_path=header)
    return evolve(stored, chunk=part)
