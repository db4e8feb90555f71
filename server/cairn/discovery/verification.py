"""Checks every citation against the files as they are now: an index, however fresh, is of a moment ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cairn.protocol.evidence import Bullet
from cairn.text.verbatim import stands_in

LinesNow = Callable[[str], Sequence[str] | None]
"""From a file's URI to its lines, with unsaved changes; None where it is gone."""


def verified(bullets: Sequence[Bullet], lines_now: LinesNow) -> list[Bullet]:
    """Those of the bullets whose text still stands in the file, each citing the lines where it stands.

    Text that has moved is cited where it is now, at the place nearest to where it was. A bullet without lines only
    needs its file to hold the text.
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
