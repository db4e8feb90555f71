"""Which path the ignore files of a workspace folder leave out, and the line that says so.

As git does it: the deepest ignore file with a matching pattern decides, within a file the last pattern,
nothing below an ignored directory can be taken back in, and a tracked file is never ignored. A folder in a
repository also obeys the ignore files above it, `info/exclude` and the user's own ignore file; a
repository inside the folder obeys its own files only. `.cairnignore` files work the same way, overrule the
`.gitignore` next to them, and hold for tracked files and across repositories.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from pathlib import Path

from attrs import frozen

from cairn.workspace.git_excludes import GitExcludes, excludes_around, excludes_at
from cairn.workspace.ignore_patterns import MAX_BYTES, Pattern, PatternList, path_key

logger = logging.getLogger(__name__)

GIT_IGNORE, CAIRN_IGNORE = ".gitignore", ".cairnignore"
IGNORE_FILES = (GIT_IGNORE, CAIRN_IGNORE)
"""In each directory the later overrules the earlier."""

_RULE_NAMES = frozenset({".git", *IGNORE_FILES})
"""A directory without any of these has the rules of the one above."""


@frozen
class Match:
    """The pattern that decides about a path."""

    source: str
    """The ignore file, as it is shown: relative to the workspace folder where it lies in it."""
    pattern: Pattern
    from_git: bool

    @property
    def ignored(self) -> bool:
        return not self.pattern.negated


@frozen
class _Source:
    """An ignore file, and where the paths that it is asked about begin."""

    shown: str
    patterns: PatternList
    from_git: bool
    lead: str = ""
    """Comes before paths, for a file above the workspace folder: `packages/app/`."""
    cut: int = 0
    """Characters of a path that lie before the file's own directory."""


@frozen
class _DirectoryRules:
    """What holds for the entries of a directory."""

    sources: tuple[_Source, ...] = ()
    """The strongest first."""
    tracked: _Tracked | None = None
    """Of the repository that the directory is in."""
    ignored: Match | None = None
    """Why git ignores the directory, which was entered only for the tracked files in it."""


class _Tracked:
    """The tracked files of a repository that its ignore files would leave out, as paths of the workspace folder."""

    def __init__(self, repository: GitExcludes, lead: str, inside: str) -> None:
        self._repository = repository
        self._lead = lead
        """The workspace folder's path in the repository, with `/` at its end; "" if it is not below."""
        self._inside = inside
        """The repository's path in the workspace folder, with `/` at its end; "" if it is not below."""

    def __contains__(self, path: str) -> bool:
        """Whether `path` is such a file, or a directory that holds one."""
        return path in self._paths

    @cached_property
    def _paths(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self._repository.tracked_although_ignored:
            if path.startswith(self._lead):
                own = self._inside + path[len(self._lead) :]
                while own and own not in found:
                    found.add(own)
                    own = own.rpartition("/")[0]
        return frozenset(found)


class IgnoreFiles:
    """The ignore files of one workspace folder, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._ignore_case = False
        self._places: dict[str, _DirectoryRules] = {}
        self._only_tracked: dict[str, Match] = {}

    def decide(self, path: str, directory: bool) -> Match | None:
        """The pattern that decides about `path` (relative, with `/`), or None.

        The directories above it must have been asked about before, outermost first, and none be ignored.
        """
        parent, _, name = path.rpartition("/")
        place = self._places.get(parent) or self._place(parent, None)
        if not place.sources and place.ignored is None:
            return None
        key, name_key = path_key(path, self._ignore_case), path_key(name, self._ignore_case)
        match = place.ignored or _first(place.sources, key, name_key, directory)
        if match is None or not match.ignored or not match.from_git:
            return match
        if place.tracked is None or path not in place.tracked:
            return match
        if directory:
            self._only_tracked[path] = match
        return _first((s for s in place.sources if not s.from_git), key, name_key, directory)

    def listed(self, directory: str, names: Set[str]) -> None:
        """Tell which entries `directory` has, which saves looking for ignore files that are not there."""
        if directory not in self._places:
            self._place(directory, names)

    def _place(self, directory: str, names: Set[str] | None) -> _DirectoryRules:
        if directory:
            parent = directory.rpartition("/")[0]
            place = self._below(self._places.get(parent) or self._place(parent, None), directory, names)
        else:
            place = self._top()
        self._places[directory] = place
        return place

    def _below(self, above: _DirectoryRules, directory: str, names: Set[str] | None) -> _DirectoryRules:
        ignored = above.ignored or self._only_tracked.get(directory)
        if names is not None and _RULE_NAMES.isdisjoint(names):
            return (
                above if ignored is above.ignored else _DirectoryRules(above.sources, above.tracked, ignored)
            )
        own = tuple(self._sources_in(self._root / directory, f"{directory}/", names))
        repository = excludes_at(self._root / directory) if names is None or ".git" in names else None
        if repository is not None:
            lasting = tuple(source for source in above.sources if not source.from_git)
            cut = len(path_key(directory)) + 1
            sources = (*own, *lasting, *self._exclude_sources(repository, cut=cut))
            return _DirectoryRules(sources, _Tracked(repository, "", f"{directory}/"))
        return _DirectoryRules((*own, *above.sources), above.tracked, ignored)

    def _top(self) -> _DirectoryRules:
        repository = excludes_around(self._root)
        if repository is not None and _ignores(repository, self._root):
            # The folder was opened on purpose: what ignores it as a whole says nothing about it.
            repository = None
        if repository is None:
            return _DirectoryRules(tuple(self._sources_in(self._root, "", None)))
        self._ignore_case = repository.ignore_case
        sources = list(self._sources_in(self._root, "", None))
        lead, place, shown = "", self._root, ""
        while place != repository.top:
            lead = f"{place.name}/{lead}"
            place = place.parent
            shown += "../"
            sources.extend(self._sources_in(place, shown, None, lead))
        return _DirectoryRules(
            (*sources, *self._exclude_sources(repository, lead=lead)), _Tracked(repository, lead, "")
        )

    def _sources_in(
        self, folder: Path, shown: str, names: Set[str] | None, lead: str = ""
    ) -> Iterator[_Source]:
        cut = 0 if lead else len(path_key(shown))
        for name in reversed(IGNORE_FILES):
            if names is None or name in names:
                patterns = _read(folder / name, self._ignore_case, follow=False)
                if patterns:
                    yield _Source(shown + name, patterns, name == GIT_IGNORE, path_key(lead), cut)

    def _exclude_sources(self, repository: GitExcludes, lead: str = "", cut: int = 0) -> Iterator[_Source]:
        for path, shown in repository.files:
            patterns = _read(path, self._ignore_case, follow=True)
            if patterns:
                yield _Source(shown, patterns, True, path_key(lead), cut)


def _first(sources: Iterable[_Source], key: str, name: str, directory: bool) -> Match | None:
    for source in sources:
        pattern = source.patterns.match(
            source.lead + key if source.lead else key[source.cut :], name, directory
        )
        if pattern is not None:
            return Match(source.shown, pattern, source.from_git)
    return None


def _ignores(repository: GitExcludes, folder: Path) -> bool:
    """Whether the repository's ignore files leave out the whole `folder`."""
    if folder == repository.top:
        return False
    outer = IgnoreFiles(repository.top)
    parts = folder.relative_to(repository.top).parts
    for depth in range(1, len(parts) + 1):
        match = outer.decide("/".join(parts[:depth]), directory=True)
        if match is not None and match.ignored:
            return True
    return False


def _read(path: Path, ignore_case: bool, follow: bool) -> PatternList | None:
    """The patterns of an ignore file; like git, not through a link where the link is part of the work tree."""
    try:
        status = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
            if len(data) == MAX_BYTES:
                data = data[: data.rfind(b"\n") + 1]  # half a pattern would be another pattern
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        logger.warning("%s is not used: %s", path, problem.strerror or problem)
        return None
    patterns = PatternList.of_file(data, ignore_case)
    if patterns.cut_at is not None or status.st_size > len(data):
        logger.warning("%s is too long; its end, from line %s on, is not used", path, patterns.cut_at or "?")
    return patterns
