"""Find what differs between a commit and a folder: staged, unstaged, untracked and unsaved text.

git compares its index with the commit, on copies. Cairn compares the files with the index by their metadata,
so that only changed files are read. What git itself would do to compare files is not done: it runs the
filters that a repository's settings name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import define, field, frozen

from cairn.errors import InvalidRequestError
from cairn.text.counts import listed
from cairn.text.decoding import decoded
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.comparison import InnerRepositories
from cairn.workspace.diff import BINARY, LATE, Change, FileChange, text_lines
from cairn.workspace.git import GitError, contents, parts
from cairn.workspace.git_index import FILE_TYPE, LINK, SUBMODULE, with_index
from cairn.workspace.line_differ import differences
from cairn.workspace.repository import NoRepositoryError, Repository, open_repository
from cairn.workspace.revisions import resolve_revision
from cairn.workspace.scan import FileRules, read_bytes
from cairn.workspace.tracked_files import IndexedFiles, TrackedFiles, tracked_files

SECONDS = 2.0
"""The default time limit."""
_LISTING, _READING = 0.5, 0.8
"""The shares of the time after which no further files are looked for, and none are read. The rest is for
comparing their lines."""
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_MOST_NAMED = 5
_LARGE_FILE = b"version https://git-lfs.github.com/spec/"
_IS_LARGE = "its content is kept by Git LFS"
_MISSING = "its content is missing in this clone; run `git fetch --refetch --no-filter`"


def working_tree_change(
    root: Path,
    rules: FileRules,
    text_of: Callable[[str], str | None],
    *,
    base: str | None = None,
    staged: bool = False,
    unsaved: Iterable[str] = (),
    indexed: IndexedFiles | None = None,
    deadline: float | None = None,
) -> Change:
    """Return what differs between the commit `base`, by default `HEAD`, and the folder `root`, or only what
    is staged.

    `text_of` returns the current text of a file, with unsaved changes, None if it is gone, excluded by a
    rule, or not text. `unsaved` are the paths with unsaved text. Without `indexed`, the folder is
    walked, which takes a second for 75,000 files. After the deadline (of the monotonic clock), the change is
    marked as incomplete.

    Raise InvalidRequestError if there is no repository or no such commit, and GitError if git fails.
    """
    began = time.monotonic()
    deadline = began + SECONDS if deadline is None else deadline
    root = root.resolve()
    try:
        repository = open_repository(root)
    except NoRepositoryError:
        raise InvalidRequestError(
            "diff", "the folder is not in a git repository, so give the change as the text of a diff"
        ) from None
    head = repository.resolve("HEAD") or ""
    commit = head if base in (None, "HEAD") else resolve_revision(repository, base or "", deadline)
    below = repository.path_of(root)
    tree = _WorkingTree(root, rules, text_of, frozenset(unsaved), repository, below, commit, began, deadline)
    return tree.staged() if staged else tree.current(indexed)


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


@define
class _WorkingTree:
    """One comparison of a folder."""

    _root: Path
    _rules: FileRules
    _text_of: Callable[[str], str | None]
    _unsaved: frozenset[str]
    _repository: Repository
    _below: str
    """The folder's path in the repository, with `/` at its end, or ""."""
    _commit: str
    """The hash of the commit to compare with; "" if there is none yet."""
    _began: float
    _deadline: float
    _submodules: set[str] = field(factory=set, init=False)
    _conflicts: list[str] = field(factory=list, init=False)
    _late: list[str] = field(factory=list, init=False)
    """The files that were not compared in time."""
    _is_listed: bool = field(default=True, init=False)
    """Whether there was time to find all new files."""

    def staged(self) -> Change:
        """Return what differs between the commit and git's index."""
        sides = self._admitted(self._index_against_commit())
        blobs = self._blobs(sides)
        return self._change(
            {
                path: (_state(path, blobs, each.before), _state(path, blobs, each.after))
                for path, each in sides.items()
                if each.before != each.after and self._is_read(path, blobs, each)
            }
        )

    def current(self, indexed: IndexedFiles | None) -> Change:
        """Return what differs between the commit and the folder."""
        tracked, inner = tracked_files(self._root), InnerRepositories(self._root)
        index = tracked.read(self._repository, self._below)
        sides = self._index_against_commit()
        for path in (*tracked.differing(indexed), *self._untracked(tracked, indexed), *self._unsaved):
            entry = index.get(path)
            if entry is not None or not inner.have(path):
                is_known = entry is not None and not entry.is_intended
                sides.setdefault(path, _Sides(entry.blob.hex() if entry is not None and is_known else None))
        found = dict[str, _Sides]()
        for path, each in self._admitted(sides).items():
            is_read = each.before and path not in self._unsaved and not self._is_over(_READING)
            if not (is_read and tracked.has_content(path, each.before or "")):
                found[path] = _Sides(each.before, each.after if tracked.is_kept_in_git(path) else None)
        self._submodules.update(tracked.submodules())
        blobs = self._blobs(found)
        states = {}
        for path, each in found.items():
            if self._is_read(path, blobs, each):
                after = _state(path, blobs, each.after) if each.after else self._in_folder(path)
                states[path] = _state(path, blobs, each.before), after
        return self._change(states)

    # --- which files differ -----------------------------------------------------------------------------

    def _index_against_commit(self) -> dict[str, _Sides]:
        """Return the files that differ between the commit and git's index."""
        git = with_index(self._repository.git(self._commit, self._deadline), self._repository)
        commit = self._commit or _EMPTY_TREES[self._repository.extensions.get("objectFormat", "sha1")]
        command = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", commit, "--")
        found = dict[str, _Sides]()
        listed = parts(git.run((*command, *([self._below] if self._below else []))), b"\0")
        for fields, name in zip(listed, listed, strict=False):
            before_mode, after_mode, before, after, status = fields[1:].decode("ascii").split()
            path = os.fsdecode(name)[len(self._below) :]
            modes = {int(mode, 8) & FILE_TYPE for mode in (before_mode, after_mode)}
            if SUBMODULE in modes:
                self._submodules.add(path)
            elif status == "U":
                self._conflicts.append(path)
                found[path] = _Sides(f"{self._commit}:{self._below}{path}")
            elif LINK not in modes:
                found[path] = _Sides(*(blob if blob.strip("0") else None for blob in (before, after)))
        return found

    def _untracked(self, tracked: TrackedFiles, indexed: IndexedFiles | None) -> Iterator[str]:
        """Yield the files that git's index does not have, as far as there is time."""

        def over() -> bool:
            return self._is_over(_LISTING)

        if indexed is not None:
            yield from tracked.untracked(indexed, self._rules, over)
        else:
            yield from tracked.walked(self._rules, over)
        self._is_listed = self._is_listed and not over()

    def _admitted(self, sides: Mapping[str, _Sides]) -> dict[str, _Sides]:
        """Return the files that the rules admit by their paths, as far as there is time."""
        found = dict[str, _Sides]()
        for path, each in sorted(sides.items()):
            if self._is_over(_READING):
                self._is_listed = False
                break
            if self._rules.admits(path):
                found[path] = each
        return found

    # --- their texts ------------------------------------------------------------------------------------

    def _blobs(self, sides: Mapping[str, _Sides]) -> dict[str, bytes | None]:
        """Return the contents by git's names, as far as there is time; None for those that are not here, as
        in a partial clone."""
        names = {name for each in sides.values() for name in (each.before, each.after)}
        wanted = sorted(name for name in names if name and "\n" not in name)
        found = dict[str, bytes | None]()
        if wanted:
            git = self._repository.git("", self._began + _READING * (self._deadline - self._began))
            given = os.fsencode("".join(f"{name}\n" for name in wanted))
            with suppress(GitError):  # There was no time for all.
                found.update(zip(wanted, contents(git.run(("cat-file", "--batch"), given)), strict=False))
        return found

    def _is_read(self, path: str, blobs: Mapping[str, bytes | None], sides: _Sides) -> bool:
        """Return whether there is time for the file, and its contents were read. Note it if not."""
        names = {name for name in (sides.before, sides.after) if name}
        is_read = names <= blobs.keys() and not self._is_over(_READING)
        if not is_read:
            self._late.append(path)
        return is_read

    def _in_folder(self, path: str) -> _State:
        """Return the file as it is in the folder, with unsaved changes."""
        text = self._text_of(path)
        if text is not None:
            return _State(text)
        try:
            content = read_bytes(self._root / path)
        except FileNotFoundError:
            return _ABSENT
        except OSError:
            return _EXCLUDED
        return _State(problem=BINARY) if decoded(content) is None else _EXCLUDED

    # --- the answer -------------------------------------------------------------------------------------

    def _change(self, states: Mapping[str, tuple[_State, _State]]) -> Change:
        files = [FileChange(path, path, False, None, None, (), LATE) for path in self._late]
        before, after = dict[str, str](), dict[str, str]()
        for path, (old, new) in states.items():
            if old.is_excluded or new.is_excluded:
                continue
            if problem := old.problem or new.problem:
                before_path = None if old.is_absent else path
                files.append(FileChange(path, before_path, new.is_absent, None, None, (), problem))
                continue
            before |= {} if old.text is None else {path: old.text}
            after |= {} if new.text is None else {path: new.text}
        found, is_compared = file_changes(before, after, self._deadline)
        files = sorted([*files, *found], key=lambda file: file.path)
        complete = self._is_listed and not self._late and is_compared
        return Change(tuple(files), self._commit, tuple(self._problems(is_compared)), complete)

    def _problems(self, is_compared: bool) -> Iterator[str]:
        """Yield what is left out, and why. `is_compared` tells whether all lines were compared in time."""
        if self._submodules:
            yield f"Submodules are left out: {listed(sorted(self._submodules), _MOST_NAMED)}."
        if self._conflicts:
            yield f"The marks of a merge in conflict count as text: {listed(self._conflicts, _MOST_NAMED)}."
        if not self._is_listed:
            yield "Listing the changed files took too long, so some may be missing."
        if self._late:
            yield f"Reading the files took too long: {listed(self._late, _MOST_NAMED)} were not compared."
        if not is_compared:
            yield "Comparing lines took too long, so some hunks have too many lines."

    def _is_over(self, share: float) -> bool:
        """Return whether this share of the time is over."""
        return time.monotonic() > self._began + share * (self._deadline - self._began)


def file_changes(
    before: Mapping[str, str], after: Mapping[str, str], deadline: float
) -> tuple[list[FileChange], bool]:
    """Return the changes between two states of files, given as texts by path, and whether their hunks are as
    small as they can be."""
    files = list[FileChange]()
    found = differences(_lines_by_path(before), _lines_by_path(after), deadline)
    for (old_path, new_path), hunks in found.hunks.items():
        texts = before.get(old_path or ""), after.get(new_path or "")
        path = new_path or old_path or ""
        files.append(FileChange(path, old_path, new_path is None, *texts, hunks))
    return files, found.complete


def _lines_by_path(texts: Mapping[str, str]) -> dict[str, list[str]]:
    return {path: text_lines(text) for path, text in texts.items()}


def _state(path: str, blobs: Mapping[str, bytes | None], name: str | None) -> _State:
    """Return the state of a file whose content git knows by this name."""
    if name is None:
        return _ABSENT
    content = blobs[name]
    if content is None:
        return _State(problem=_MISSING)
    if content.startswith(_LARGE_FILE):
        return _State(problem=_IS_LARGE)
    found = decoded(content)
    if found is None:
        return _State(problem=BINARY)
    return _State(found.text) if decide_content(path, found.text).indexed else _EXCLUDED
