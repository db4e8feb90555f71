"""Find what differs between a commit and a folder: staged, unstaged, untracked and unsaved text.

    change = working_tree_change(root, rules, folder.text_of, unsaved=paths)

git compares its index with the commit, on copies. Cairn compares the files with the index by their metadata,
so that only changed files are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from attrs import define, frozen

from cairn.errors import InvalidRequestError
from cairn.text.decoding import decoded
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.comparison import ContentHashes
from cairn.workspace.diff import BINARY, Change, FileChange, text_lines
from cairn.workspace.git import GitError, contents, parts
from cairn.workspace.git_index import LINK, SUBMODULE, Entry, entries, index_version, with_index
from cairn.workspace.line_differ import differences
from cairn.workspace.repository import NoRepositoryError, Repository, open_repository
from cairn.workspace.revisions import resolve_revision
from cairn.workspace.scan import FileEntry, FileRules, ScanReport, read_bytes, scan

SECONDS = 2.0
"""The default time limit."""
_READING_SHARE = 0.6
"""The share of the time in which texts are read. The rest is for comparing them."""
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_FOLDERS = 4
"""The number of folders of which git's index is kept in memory, some 20 MB for 80,000 files."""
_SECOND_NS = 1_000_000_000
_LARGE_FILE = b"version https://git-lfs.github.com/spec/"
_IS_LARGE = "its content is kept by Git LFS"
_MISSING = "its content is missing in this clone; run `git fetch --refetch --no-filter`"
Stamp = tuple[int, int]
"""The size of a file in bytes, and the time of its change in ns."""


def working_tree_change(
    root: Path,
    rules: FileRules,
    text_of: Callable[[str], str | None],
    *,
    base: str | None = None,
    staged: bool = False,
    unsaved: Iterable[str] = (),
    known: Mapping[str, Stamp] | None = None,
    deadline: float | None = None,
) -> Change:
    """Return what differs between the commit `base`, by default `HEAD`, and the folder `root`, or only what
    is staged.

    `text_of` returns the current text of a file, with unsaved changes, None if it is gone, excluded by a
    rule, or not text. `unsaved` are the paths with unsaved text. `known` are all files that the rules admit,
    with their current metadata; without it, the folder is walked. After the deadline (of the monotonic
    clock), the change is marked as incomplete.

    Raise InvalidRequestError if there is no repository or no such commit, and GitError if git fails.
    """
    deadline = time.monotonic() + SECONDS if deadline is None else deadline
    try:
        repository = open_repository(root)
    except NoRepositoryError:
        raise InvalidRequestError(
            "diff", "the folder is not in a git repository, so give the change as the text of a diff"
        ) from None
    commit = _commit(repository, base, deadline)
    inside = root.resolve().relative_to(repository.top).as_posix()
    below = "" if inside == "." else f"{inside}/"
    compared = _WorkingTree(root.resolve(), rules, text_of, frozenset(unsaved), repository, below, deadline)
    return compared.change(commit, staged, known)


def _commit(repository: Repository, base: str | None, deadline: float) -> str:
    """Return the hash of the commit, or "" if there is none yet."""
    head = repository.resolve("HEAD")
    if base is None or base == "HEAD":
        return head or ""
    return resolve_revision(repository, base, deadline)


@frozen
class _Sides:
    """The contents of a file before and after a change, by the names that git has for them; None where the
    file does not exist. `after` is not used if the file in the folder counts."""

    before: str | None
    after: str | None = None


@frozen
class _State:
    """A file before or after a change."""

    text: str | None = None
    """None if it does not exist, or is not known."""
    problem: str = ""
    is_absent: bool = False
    is_excluded: bool = False


_ABSENT = _State(is_absent=True)
_EXCLUDED = _State(is_excluded=True)


@frozen
class _WorkingTree:
    """One comparison of a folder."""

    root: Path
    rules: FileRules
    text_of: Callable[[str], str | None]
    unsaved: frozenset[str]
    repository: Repository
    below: str
    """The folder's path in the repository, with `/` at its end, or ""."""
    deadline: float

    def change(self, commit: str, staged: bool, known: Mapping[str, Stamp] | None) -> Change:
        reading = time.monotonic() + _READING_SHARE * (self.deadline - time.monotonic())
        sides, submodules = self._index_against(commit)
        problems = [f"Submodules are left out: {', '.join(sorted(submodules))}."] if submodules else []
        if not staged:
            sides = self._with_files(commit, sides, known, reading)
        sides = {path: each for path, each in sorted(sides.items()) if self.rules.admits(path)}
        states, late = self._states(sides, staged, reading)
        files, is_minimal = self._compared(states)
        if late:
            problems.append(f"Reading took too long: {len(late)} of {len(sides)} files were not compared.")
            files += [FileChange(path, path, False, None, None, (), "not compared in time") for path in late]
        elif not is_minimal:
            problems.append("Comparing took too long, so some hunks have more lines than necessary.")
        files.sort(key=lambda file: file.path)
        return Change(tuple(files), commit, tuple(problems), is_minimal and not late)

    # --- which files differ -----------------------------------------------------------------------------

    def _index_against(self, commit: str) -> tuple[dict[str, _Sides], set[str]]:
        """Return the files that differ between the commit and git's index, and the submodules that do."""
        algorithm = self.repository.extensions.get("objectFormat", "sha1")
        git = with_index(self.repository.git(commit, self.deadline), self.repository)
        command = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev")
        against = (commit or _EMPTY_TREES[algorithm], "--", *([self.below] if self.below else []))
        sides, submodules = dict[str, _Sides](), set[str]()
        listed = parts(git.run((*command, *against)), b"\0")
        for fields, name in zip(listed, listed, strict=False):
            mode, staged_mode, blob, staged_blob, status = fields.decode("ascii").lstrip(":").split()
            path = os.fsdecode(name)[len(self.below) :]
            if SUBMODULE in (mode, staged_mode):
                submodules.add(path)
            elif status == "U":  # A merge is in conflict, so the index has several versions.
                sides[path] = _Sides(f"{commit}:{self.below}{path}")
            elif LINK not in (mode, staged_mode):
                sides[path] = _Sides(*(each if each.strip("0") else None for each in (blob, staged_blob)))
        return sides, submodules

    def _with_files(
        self, commit: str, sides: Mapping[str, _Sides], known: Mapping[str, Stamp] | None, deadline: float
    ) -> dict[str, _Sides]:
        """Return also the files that differ between git's index and the folder."""
        cache = _cache(self.root)
        index = cache.index(self.repository, self.below, self.deadline)
        algorithm = self.repository.extensions.get("objectFormat", "sha1")
        found = dict(sides)
        for path, entry in index.items():
            if path in found or entry.mode in (SUBMODULE, LINK):
                continue
            if path not in self.unsaved:
                stamp = known.get(path) if known is not None else None
                stamp = stamp or _stamp(self.root, path)
                if entry.is_skipped if stamp is None else _is_same(entry, stamp):
                    continue
                late = time.monotonic() > deadline
                if stamp and not late and entry.blob in cache.hashes.of(FileEntry(path, *stamp), algorithm):
                    continue
            found[path] = _Sides(entry.blob or f"{commit}:{self.below}{path}")
        new = known if known is not None else self._scanned(index, deadline)
        for path in (*new, *self.unsaved):
            if path not in index and path not in found:
                found[path] = _Sides(None)
        return found

    def _scanned(self, index: Mapping[str, Entry], deadline: float) -> Iterator[str]:
        entries = scan(self.root, self.rules, ScanReport(), stop=lambda: time.monotonic() > deadline)
        return (entry.path for entry in entries)

    # --- their texts ------------------------------------------------------------------------------------

    def _states(
        self, sides: Mapping[str, _Sides], staged: bool, deadline: float
    ) -> tuple[dict[str, tuple[_State, _State]], list[str]]:
        """Return each file before and after the change, and the paths that were not read in time."""
        states, late = dict[str, tuple[_State, _State]](), list[str]()
        names = {name for each in sides.values() for name in (each.before, staged and each.after) if name}
        blobs = self._blobs(sorted(names), deadline)
        for path, each in sides.items():
            if time.monotonic() > deadline or (each.before and each.before not in blobs):
                late.append(path)
                continue
            before = _ABSENT if each.before is None else _state(path, blobs[each.before])
            if not staged:
                after = self._current(path)
            else:
                after = _ABSENT if each.after is None else _state(path, blobs.get(each.after))
            if not (before.is_excluded or after.is_excluded or before == after):
                states[path] = before, after
        return states, late

    def _blobs(self, names: Sequence[str], deadline: float) -> dict[str, bytes | None]:
        """Return the contents by name, as far as there is time; None for those that are not here, as in a
        partial clone."""
        names = [name for name in names if "\n" not in name]
        found = dict[str, bytes | None]()
        if names:
            given = os.fsencode("".join(f"{name}\n" for name in names))
            output = self.repository.git("", deadline).run(("cat-file", "--batch"), given)
            with suppress(GitError):  # There was no time for all.
                found.update(zip(names, contents(output), strict=False))
        return found

    def _current(self, path: str) -> _State:
        """Return the file as it is in the folder, with unsaved changes."""
        text = self.text_of(path)
        if text is not None:
            return _State(text)
        try:
            content = read_bytes(self.root / path)
        except FileNotFoundError:
            return _ABSENT
        except OSError:
            return _EXCLUDED
        return _EXCLUDED if decoded(content) is not None else _State(problem=BINARY)

    def _compared(self, states: Mapping[str, tuple[_State, _State]]) -> tuple[list[FileChange], bool]:
        """Return the changes, and whether their hunks are as small as they can be."""
        files, before, after = list[FileChange](), dict[str, str](), dict[str, str]()
        for path, (old, new) in states.items():
            if problem := old.problem or new.problem:
                before_path = None if old.is_absent else path
                files.append(FileChange(path, before_path, new.is_absent, None, None, (), problem))
                continue
            before |= {path: old.text} if old.text is not None else {}
            after |= {path: new.text} if new.text is not None else {}
        found = differences(_lines_by_path(before), _lines_by_path(after), self.deadline)
        for (old_path, new_path), hunks in found.hunks.items():
            texts = before.get(old_path or ""), after.get(new_path or "")
            path = new_path or old_path or ""
            files.append(FileChange(path, old_path, new_path is None, *texts, hunks))
        return files, found.complete


@define
class _Cache:
    """What stays known about a folder between two comparisons."""

    hashes: ContentHashes
    _index: tuple[object, dict[str, Entry]] | None = None

    def index(self, repository: Repository, below: str, deadline: float) -> dict[str, Entry]:
        """Return the entries of git's index. Raise GitError."""
        version = (index_version(repository), repository.own, below)
        known = self._index
        if known is None or known[0] != version:
            known = self._index = version, entries(repository, below, deadline)
        return known[1]


@lru_cache(maxsize=_FOLDERS)
def _cache(root: Path) -> _Cache:
    return _Cache(ContentHashes(root))


def _lines_by_path(texts: Mapping[str, str]) -> dict[str, list[str]]:
    return {path: text_lines(text) for path, text in texts.items()}


def _stamp(root: Path, path: str) -> Stamp | None:
    try:
        status = os.lstat(f"{root}/{path}")  # Path.lstat takes three times as long.
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns)


def _is_same(entry: Entry, stamp: Stamp) -> bool:
    """Return whether a file has the metadata that git noted with its staged content."""
    size, mtime_ns = stamp
    if entry.mtime_ns % _SECOND_NS and mtime_ns % _SECOND_NS:
        return size == entry.size and mtime_ns == entry.mtime_ns
    # Some programs note whole seconds only.
    return size == entry.size and mtime_ns // _SECOND_NS == entry.mtime_ns // _SECOND_NS


def _state(path: str, content: bytes | None) -> _State:
    """Return the state of a file with the content, None if that is not known."""
    if content is None:
        return _State(problem=_MISSING)
    if content.startswith(_LARGE_FILE):
        return _State(problem=_IS_LARGE)
    found = decoded(content)
    if found is None:
        return _State(problem=BINARY)
    return _State(found.text) if decide_content(path, found.text).indexed else _EXCLUDED
