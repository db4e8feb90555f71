"""Checks every citation against the files as they are now: an index, however fresh, is of a moment ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from cairn.discovery.model import Bullet
from cairn.discovery.verbatim import stands_in

LinesNow = Callable[[str, str], Sequence[str] | None]
"""From a folder's URI and a path in it to the lines of the file, on the screen or else on disk; None where it is gone."""


def verified(bullets: Sequence[Bullet], lines_now: LinesNow) -> list[Bullet]:
    """Those of the bullets whose text still stands in the file, each citing the lines where it stands.

    Text that has moved is cited where it is now, at the place nearest to where it was. A bullet without lines only
    needs its file to hold the text.
    """
    files: dict[tuple[str, str], Sequence[str] | None] = {}
    kept = []
    for bullet in bullets:
        file = bullet.folder, bullet.file_path
        if file not in files:
            files[file] = lines_now(*file)
        lines = files[file]
        if lines is not None and (found := _found(bullet, lines)):
            kept.append(found)
    return kept


def _found(bullet: Bullet, lines: Sequence[str]) -> Bullet | None:
    if bullet.line_range is None:
        return bullet if stands_in(bullet.text, lines) else None
    first, last = bullet.line_range
    if stands_in(bullet.text, lines[first:last]):
        return bullet
    height = last - first
    starts = sorted(range(len(lines) - height + 1), key=lambda start: (abs(start - first), start))
    for start in starts:
        if stands_in(bullet.text, lines[start : start + height]):
            return evolve(bullet, line_range=(start, start + height))
    return None
