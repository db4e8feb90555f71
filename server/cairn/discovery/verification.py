"""Checks every citation against the current files, because any index is slightly out of date."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cairn.protocol.evidence import Bullet
from cairn.text.verbatim import stands_in

LinesNow = Callable[[str], Sequence[str] | None]
"""Returns the current lines of the file at a URI, with unsaved changes; None if the file is gone."""


def verified(bullets: Sequence[Bullet], lines_now: LinesNow) -> list[Bullet]:
    """Return the bullets whose text is still in the file, each with its current lines.

    Text that has moved is cited at its place nearest to the old one. If a bullet has no lines, its text must
    only be somewhere in the file.
    """
    files = {uri: lines_now(uri) for uri in dict.fromkeys(bullet.uri for bullet in bullets)}
    found = (_found(bullet, files[bullet.uri]) for bullet in bullets)
    return [bullet for bullet in found if bullet]


def _found(bullet: Bullet, lines: Sequence[str] | None) -> Bullet | None:
    if lines is None:
        return None
    if bullet.lines is None:
        return bullet if stands_in(bullet.text, lines) else None
    first, last = bullet.lines
    if stands_in(bullet.text, lines[first:last]):
        return bullet
    height = last - first
    starts = sorted(range(len(lines) - height + 1), key=lambda start: (abs(start - first), start))
    for start in starts:
        if stands_in(bullet.text, lines[start : start + height]):
            return bullet.citing((start, start + height))
    return None
