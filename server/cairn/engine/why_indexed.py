"""Explains whether a typed path is indexed in each open folder or repository, and by which rule."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path, PurePosixPath

from attrs import frozen

from cairn.engine.folders import Folder, path_inside
from cairn.engine.left_out import in_words
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.operations.why import why
from cairn.settings.tree import IndexSettings
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import INDEXED, Decision, decide_directory_path, decide_file_path

_MOST_CHARACTERS = 4_096
"""The maximum length of a path; no system has longer paths."""


@frozen
class WhyIndexed:
    """The decision about one path in one folder."""

    folder: str
    """The name of the folder as it is shown."""
    path: str
    """The path relative to the folder; "" for the folder itself."""
    exists: bool
    indexed: bool
    """Whether the file is indexed or, for a directory, scanned."""
    rule: str
    """The rule that decided; "" for a path that does not exist."""
    meaning: str
    """A sentence that explains the rule; "" if its name says everything."""
    detail: str
    """Details of the decision, such as the ignore file, line and pattern; may be empty."""
    state: str
    """A phrase about the state of the path in the index."""


def why_indexed(request: Request, path: str) -> tuple[WhyIndexed, ...]:
    """Return the decisions of the folders with the path, or else of all. Raise InvalidRequestError."""
    given = path.strip().removeprefix("./")
    inside = [] if len(given) > _MOST_CHARACTERS else [
        (folder, place) for folder in request.folders if (place := _place(folder, given)) is not None
    ]  # fmt: skip
    if not inside:
        raise InvalidRequestError("path", "give a path in the folder, as `src/app.py`")
    answers = tuple(_answer(folder, place) for folder, place in inside)
    return tuple(each for each in answers if each.exists) or answers


def _place(folder: Folder, given: str) -> PurePosixPath | None:
    """Return a typed path as a path relative to the folder; None if it is outside."""
    if folder.revision is None and Path(given).is_absolute() and (place := folder.place_of(Path(given))):
        return PurePosixPath(place)
    return path_inside(given)


def _answer(folder: Folder, path: PurePosixPath) -> WhyIndexed:
    if folder.revision is not None:
        return _of_team(folder, path)
    try:
        found = why(folder.root / path, folder.root)
    except (InvalidRequestError, OSError, RuntimeError, ValueError):  # The path cannot be resolved.
        return WhyIndexed(
            folder.label, str(path), False, False, "", "", "", "there is no such file or directory"
        )
    meaning = "" if found.indexed else in_words(found.rule, folder.settings().index)
    return WhyIndexed(
        folder.label, found.path, True, found.indexed, found.rule, meaning, found.detail, found.state
    )


def _of_team(folder: Folder, path: PurePosixPath) -> WhyIndexed:
    """Return the decision about a path in a team's index, where only rules about names are known."""
    revision, reader = folder.revision, folder.reader.saved
    assert revision is not None
    where = "" if path == PurePosixPath() else well_formed(path.as_posix())
    sql = """SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(path = ?1), 0), coalesce(max(is_text), 0)
        FROM files
        WHERE ?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"""
    ((files, chunks, is_file, is_text),) = reader.select(sql, (where,))
    at = f"{revision.ref} at {revision.commit[:8]}"
    if files:
        many = f"{chunks:,} passages" if is_file else f"{files:,} files, {chunks:,} passages"
        if is_text:
            return WhyIndexed(folder.label, where, True, True, INDEXED.rule, "", "", f"{many}, from {at}")
        rule = "left out by its content"
        meaning = "It is binary, minified or generated, or holds a secret, as its content says."
        return WhyIndexed(folder.label, where, True, False, rule, meaning, "", f"its name alone, from {at}")
    decision = _by_name(path)
    return WhyIndexed(
        folder.label, where, decision is not None, False, decision.rule if decision else "",
        in_words(decision.rule, IndexSettings()) if decision else "", "",
        f"the team's index has nothing of it, from {at}",
    )  # fmt: skip


def _by_name(path: PurePosixPath) -> Decision | None:
    """Return the built-in rule that excludes the path by its name or the name of a parent directory."""
    for directory in accumulate(path.parts[:-1], "{}/{}".format):
        if (decision := decide_directory_path(directory)) is not None:
            return decision
    return decide_file_path(str(path)) or decide_directory_path(str(path))
