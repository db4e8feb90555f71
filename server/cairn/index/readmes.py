"""Which files of an index are READMEs."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from cairn.index.overlaid_reader import OverlaidReader


def readme_paths(reader: OverlaidReader, patterns: Sequence[str]) -> list[str]:
    """Paths of the files whose name, in any case, matches one of the globs, the documents on the screen included."""
    rows = reader.read(lambda db: db.execute("SELECT path FROM files WHERE is_text").fetchall()) or ()
    paths = {str(row[0]) for row in rows} | set(reader.overlay.hidden)
    wanted = tuple(pattern.lower() for pattern in patterns)
    return sorted(path for path in paths if is_readme(path, wanted))


def is_readme(path: str, patterns: Sequence[str]) -> bool:
    """Whether the name of the file matches one of the globs, which are in lower case."""
    name = path.rpartition("/")[2].lower()
    return name in patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
