"""Converts the paths and globs of `filter.path` to patterns for the index.

A path that exists selects that folder or file, even if it contains characters of a glob. Anything else must
be a gitignore-style glob, or a part of paths, which selects the files whose path contains it.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PureWindowsPath

from attrs import frozen

from cairn.engine.folders import Folder, path_of_uri
from cairn.errors import InvalidRequestError
from cairn.index.queries.file_queries import (
    files_at,
    files_holding,
    has_below,
    names_in,
    text_files,
)
from cairn.index.reader.filters import EVERY_FILE, ChunkFilter
from cairn.text.counts import counted, listed
from cairn.text.nearest import near, nearest
from cairn.workspace.ignore_patterns import (
    exact_pattern,
    folder_of_pattern,
    holding_pattern,
    is_glob,
    selection_problem,
)

_FIELD = "filter.path"
NAME_IN_FILE = re.compile(r"(?P<path>(?:[A-Za-z]:[\\/])?[^:]+):(?P<name>[^:].*)")
"""Matches a name in a file: `berths.py:Berth.leave`, but not `harbour::Berth`."""
_MOST_LISTED = 8
"""The number of names that an error lists if none is similar to the given path."""

_MOST_ALIKE = 3
"""The maximum number of similar paths that an error names."""
_MOST_ENDING = 20
"""The maximum number of files with the same end of their paths that are looked at."""

Place = tuple[Folder, str]
"""A workspace folder, and a relative path or glob in it; "" is the folder itself."""


@frozen
class Scope:
    files: ChunkFilter
    note: str = ""
    """Sentences on given paths that no file or folder has, and which were taken as parts of paths."""


def within(given: Sequence[str], folders: Sequence[Folder]) -> Scope:
    """Return the filter for the files in any of the `given` places; for all files if none is given.

    Raise InvalidRequestError for a path that does not exist or is outside, and for a glob that cannot match.
    """
    if given and all(each.startswith("!") for each in given) and (problem := selection_problem(given)):
        raise InvalidRequestError(_FIELD, problem)
    patterns: dict[str, list[str]] = {str(folder.root): [] for folder in folders}
    notes: list[str] = []
    for each in given:
        for folder, pattern in _patterns(each, folders, notes):
            patterns[str(folder.root)].append(pattern)
    by_folder = {root: _shortened(of_folder) for root, of_folder in patterns.items()}
    if len(set(by_folder.values())) <= 1:
        files = ChunkFilter(paths=next(iter(by_folder.values()), ()))
    else:
        files = ChunkFilter(folders=tuple(by_folder.items()))
    return Scope(files, " ".join(notes))


def files_named(given: str, folders: Sequence[Folder]) -> list[Place]:
    """Return the indexed files that a path names.

    The path is relative or absolute, begins with a folder's name, or is the end of only one file's path.
    """
    if not given.strip() or "\0" in given:
        return []
    near, far = _readings(given, folders)
    for places in (near, far):
        found = [(folder, path) for folder, path in places if path and folder.reader.contents([path])]
        if found:
            return found
    ending = files_ending(given, folders)
    return ending if len(ending) == 1 else []


def files_ending(given: str, folders: Sequence[Folder]) -> list[Place]:
    """Return the indexed files whose paths end with `given`, the shortest path first."""
    return _ending(_readings(given, folders)[0]) if given.strip() and "\0" not in given else []


def nothing_there(given: str, folders: Sequence[Folder]) -> str:
    """Say why a path names nothing, and suggest a similar path."""
    near, far = _readings(given, folders)
    return _missing(given, near, far, folders) if near else _outside(given, folders)


def _shortened(patterns: Sequence[str]) -> tuple[str, ...]:
    leaves_out = any(pattern.startswith("!") for pattern in patterns)
    return (EVERY_FILE,) if EVERY_FILE in patterns and not leaves_out else tuple(patterns)


def _patterns(given: str, folders: Sequence[Folder], notes: list[str]) -> list[Place]:
    """Convert a path or glob to patterns, and add a note if it was taken as a part of paths.

    Raise InvalidRequestError if it cannot match anything.
    """
    if not given.strip("! "):
        raise InvalidRequestError(_FIELD, f"{given!r} names nothing; give a folder, a file or a glob")
    if given.startswith("!"):
        _require_glob(given)
        return [(folder, given) for folder in folders]
    near, far = _readings(given, folders)
    there = _indexed(near) or _indexed(far)
    if not there and not is_glob(given):
        there = _on_disk(near) or _on_disk(far)
        if not there and (anywhere := _of_that_name(near)):
            return anywhere
        if not there and (parts := _holding(near) or _holding(far)):
            places, count = parts
            notes.append(
                f"No path is called {given}: searched the {counted(count, 'file')} whose path holds it."
            )
            return places
        if not there:
            raise InvalidRequestError(_FIELD, _missing(given, near, far, folders))
        if not _indexed(there) and not any(folder.lacks_files(folder.reader.facts()) for folder, _ in there):
            path = there[0][1]
            why = f"`cairn doctor --why {path}` says which rule leaves it out"
            raise InvalidRequestError(_FIELD, f"nothing in {given!r} is indexed; {why}")
    if there:
        return [(folder, exact_pattern(path) if path else EVERY_FILE) for folder, path in there]
    _require_glob(given)
    if not near:
        raise InvalidRequestError(_FIELD, _outside(given, folders))
    first = near[0][1].removeprefix("/").partition("/")[0]
    globs = far if far and not _indexed((folder, first) for folder, _ in near) else near
    holding = [(folder, folder_of_pattern(glob) or "") for folder, glob in globs]
    if not (_indexed(holding) or _on_disk(holding)):
        raise InvalidRequestError(_FIELD, _missing(holding[0][1], holding, [], folders))
    return globs


def _require_glob(given: str) -> None:
    if problem := selection_problem((given.removeprefix("!"),)):
        raise InvalidRequestError(_FIELD, problem)


# --- readings of a path --------------------------------------------------------------------------------


def _readings(given: str, folders: Sequence[Folder]) -> tuple[list[Place], list[Place]]:
    """Return the places that a path may mean: relative to each folder, and after a folder's name.

    Use the second list if no place of the first exists. It is empty unless several folders are open: only
    then do results show a folder's name before the path.
    """
    text = given
    if text.startswith("file:"):
        local = path_of_uri(text)
        return ([] if local is None else _absolute(str(local), folders)), []
    if os.name == "nt":
        if PureWindowsPath(text).anchor.strip("\\/"):  # it names a drive or a server
            return _absolute(text, folders), []
        text = text.replace("\\", "/")
    if text.startswith("/"):
        if found := _absolute(text, folders):
            return found, []
        text = "./" + text.lstrip("/")  # as in ignore files, a leading slash means the top of the folder
    path = _tidy(text)
    near = [(folder, path) for folder in folders]
    name, _, rest = path.removeprefix("/").partition("/")
    named = [folder for folder in folders if name in (folder.root.name, folder.shown.name)]
    rest = f"/{rest}" if is_glob(rest) else rest
    return near, [(folder, rest) for folder in named] if len(folders) > 1 else []


def _tidy(text: str) -> str:
    """Normalize a path. In a glob, only replace a leading `./` by `/`: both mean the top of the folder."""
    if not is_glob(text):
        path = posixpath.normpath(text)
        return "" if path == "." else path
    return re.sub(r"\A(?:\./+)+", "/", text)


def _absolute(text: str, folders: Sequence[Folder]) -> list[Place]:
    """Return an absolute path as relative paths in the folders that contain it."""
    path = Path(os.path.normpath(text))
    found = []
    for folder in folders:
        for base in (folder.shown, folder.root):
            if path.is_relative_to(base):
                found.append((folder, _relative(path, base)))
                break
    # A path of another machine is never resolved, because that would contact it.
    if not found and not text.startswith(("\\\\", "//")) and not is_glob(text) and (real := _real(path)):
        found = [
            (folder, _relative(real, folder.root)) for folder in folders if real.is_relative_to(folder.root)
        ]
    return [(folder, f"/{inside}" if is_glob(inside) else inside) for folder, inside in found]


def _relative(path: Path, base: Path) -> str:
    inside = path.relative_to(base).as_posix()
    return "" if inside == "." else inside


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # circular links, or an invalid name
        return None


def _indexed(places: Iterable[Place]) -> list[Place]:
    return [
        (folder, path) for folder, path in places if not path or has_below(folder.reader, path.strip("/"))
    ]


def _of_that_name(places: Iterable[Place]) -> list[Place]:
    """Return patterns for files of this name at any depth, as in ignore files. Skip paths with a `/`."""
    return [
        (folder, "**" + exact_pattern(path))
        for folder, path in places
        if "/" not in path
        and any(path in each.split("/") for each in files_holding(folder.reader, path, ignore_case=False))
    ]


def _holding(places: Iterable[Place]) -> tuple[list[Place], int] | None:
    """Return patterns for the files whose path contains one of these texts, and the number of the files; None
    if there are none. Capitals must match, unless they match nowhere."""
    texts = [(folder, text) for folder, text in places if text]
    for ignore_case in (False, True) if any(text != text.lower() for _, text in texts) else (True,):
        counts = [len(files_holding(folder.reader, text, ignore_case=ignore_case)) for folder, text in texts]
        if any(counts):
            return [(folder, holding_pattern(text, ignore_case=ignore_case)) for folder, text in texts], sum(
                counts
            )
    return None


def _ending(places: Iterable[Place]) -> list[Place]:
    """Return the indexed files whose paths end with one of these, the shortest path first."""
    return [
        (folder, path)
        for folder, end in places
        if end
        for path in files_at(folder.reader, [end], _MOST_ENDING)
        if f"/{path}".endswith(f"/{end}")
    ]


def _on_disk(places: Iterable[Place]) -> list[Place]:
    """Return the places that exist on disk, by their real paths."""
    real = ((folder, _real(folder.root / path)) for folder, path in places)
    inside = [(folder, place) for folder, place in real if place and place.is_relative_to(folder.root)]
    found = [(folder, _relative(place, folder.root)) for folder, place in inside]
    return _indexed(found) or found


# --- errors --------------------------------------------------------------------------------------------


def _missing(given: str, near: Sequence[Place], far: Sequence[Place], folders: Sequence[Folder]) -> str:
    inside = [(folder, path) for folder, path in near if path.split("/")[0] != ".."]
    if not inside:
        return _outside(given, folders)
    if len(ending := _ending(inside)) > 1:
        paths = listed([repr(path) for _, path in ending], _MOST_LISTED)
        return f"several paths end with {given!r}: {paths}; give more of one"
    named = (f"{folder.root.name}/{like}" for folder, path in far if (like := _like(folder, path)))
    meant = next((like for place in inside if (like := _like(*place))), "") or next(named, "")
    if not meant and given.startswith("/"):
        return _outside(given, folders)
    absent = f"there is no {given!r} in the workspace"
    alike = [meant] if meant else [path for place in inside for path in _called_like(*place)]
    if not alike:
        return f"{absent}{_listed(inside)}"
    return f"{absent}; did you mean {' or '.join(map(repr, alike[:_MOST_ALIKE]))}?"


def _outside(given: str, folders: Sequence[Folder]) -> str:
    where = ", ".join(folder.label for folder in folders)
    return f"{given!r} is outside of the workspace, {where}; give a path in it"


def _like(folder: Folder, path: str) -> str:
    """Return an indexed path similar to a missing one; "" if there is none."""
    reader, parts = folder.reader, path.split("/")
    from_above = ("/".join(parts[begin:]) for begin in range(1, len(parts)))
    if shorter := next((each for each in from_above if has_below(reader, each)), ""):
        return shorter
    if deeper := files_at(reader, [path], 1):
        before, _, _ = f"/{deeper[0]}/".partition(f"/{path}/")
        return f"{before}/{path}".lstrip("/")
    spelt = ""
    for part in parts:
        names = [name.removesuffix("/") for name in names_in(reader, spelt)]
        name = part if part in names else nearest(part, names)
        if not name:
            return ""
        spelt = f"{spelt}/{name}".lstrip("/")
    return spelt


def _called_like(folder: Folder, path: str) -> list[str]:
    """Return indexed paths at any depth whose last name, or its part before a dot, is similar to that of a
    missing path."""
    paths = text_files(folder.reader, ChunkFilter())
    names = {name for each in paths for name in each.split("/")}
    names |= {name.partition(".")[0] for name in names}
    found = []
    for name in near(posixpath.basename(path), names, _MOST_ALIKE):
        called = re.compile(rf"(?:.*?/)?{re.escape(name)}(?:\.[^/]*)?(?=/|\Z)")
        found += [match[0] for each in paths if (match := called.match(each))][:1]
    return list(dict.fromkeys(found))


def _listed(places: Sequence[Place]) -> str:
    """List the contents of the deepest existing folder of a path."""
    folder, path = places[0]
    above = path.strip("/")  # The folder of "/" is "/" again.
    while above := posixpath.dirname(above):
        if has_below(folder.reader, above):
            break
    every = {name for each, _ in places for name in names_in(each.reader, above)}
    folders = [name.removesuffix("/") for name in sorted(every) if name.endswith("/") and name[0] != "."]
    names = folders or sorted(every)
    if not names:
        return ""
    return f"; {f'in {above!r}' if above else 'at its top'} are {listed(names, _MOST_LISTED)}"
