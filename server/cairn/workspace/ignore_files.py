"""Decide which paths the ignore files of a workspace folder exclude, and which line decides.

The rules are git's. The deepest ignore file with a matching pattern decides, and within a file the last
pattern. No pattern can re-include a path below an ignored directory, and a tracked file is never ignored. A
folder in a repository also obeys the ignore files above it, `info/exclude` and the user's ignore file; a
repository inside the folder obeys only its own files. `.cairnignore` files work in the same way, override the
`.gitignore` beside them, and also apply to tracked files and across repositories.

git itself lists its configuration and the tracked files that a pattern ignores. If git cannot be run, both
are assumed to be empty, and a log line says why.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache, partial
from itertools import accumulate
from pathlib import Path

from attrs import frozen

from cairn.workspace.git import Git, GitError, Repository, locate
from cairn.workspace.ignore_patterns import MAX_BYTES, Pattern, PatternList, path_key

logger = logging.getLogger(__name__)

GIT_IGNORE, CAIRN_IGNORE = ".gitignore", ".cairnignore"
IGNORE_FILES = (GIT_IGNORE, CAIRN_IGNORE)
"""The names of ignore files. In a directory, the later file overrides the earlier one."""

_RULE_NAMES = frozenset({".git", *IGNORE_FILES})
"""The rules of a directory without any of these entries are its parent's."""

_GIT_SECONDS = 10
"""The time limit of a git call. Listing 21,000 tracked files took 0.05 s, but a network drive can hang."""


@frozen
class Match:
    """The pattern that decides about a path, and its place."""

    source: str
    """The ignore file as shown to users, relative to the workspace folder if it is inside."""
    pattern: Pattern
    from_git: bool

    @property
    def ignored(self) -> bool:
        return not self.pattern.negated


@frozen
class _Source:
    """An ignore file, and how to make a path relative to it."""

    shown: str
    patterns: PatternList
    from_git: bool
    lead: str = ""
    """For a file above the workspace folder, what precedes the paths: `packages/app/`."""
    cut: int = 0
    """The number of a path's first characters that name the ignore file's directory."""


@frozen
class _DirectoryRules:
    """The rules for the entries of a directory."""

    sources: tuple[_Source, ...] = ()
    tracked: Callable[[], Set[str]] = frozenset
    """Returns the tracked files that git's ignore files match, and their directories. It is cached."""
    ignored: Match | None = None
    """Why git ignores the directory, which is searched only for its tracked files."""


class IgnoreFiles:
    """The ignore files of one workspace folder, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._ignore_case = False
        self._places: dict[str, _DirectoryRules] = {}
        self._only_tracked: dict[str, Match] = {}

    def decide(self, path: str, directory: bool) -> Match | None:
        """Return the pattern that decides about `path` (relative, with `/`), or None. The directories above
        it must have been decided before, the outermost first, and none of them ignored."""
        parent = path.rpartition("/")[0]
        place = self._places.get(parent) or self._place(parent)
        if not place.sources and place.ignored is None:
            return None
        key = path_key(path, self._ignore_case)
        match = place.ignored or _first(place.sources, key, directory)
        if match is None or not match.ignored or not match.from_git or path not in place.tracked():
            return match
        if directory:
            self._only_tracked[path] = match
        return _first((s for s in place.sources if not s.from_git), key, directory)

    def listed(self, directory: str, names: Set[str]) -> None:
        self._place(directory, names)

    def _place(self, directory: str, names: Set[str] = _RULE_NAMES) -> _DirectoryRules:
        """Return the rules in the directory. `names` limits which entries are searched for."""
        place = self._places.get(directory)
        if place is None:
            place = self._below(directory, names) if directory else self._top()
            self._places[directory] = place
        return place

    def _below(self, directory: str, names: Set[str]) -> _DirectoryRules:
        above = self._place(directory.rpartition("/")[0])
        ignored = above.ignored or self._only_tracked.get(directory)
        if _RULE_NAMES.isdisjoint(names):
            is_alike = ignored is above.ignored
            return above if is_alike else _DirectoryRules(above.sources, above.tracked, ignored)
        folder, shown = self._root / directory, f"{directory}/"
        own = self._sources_in(folder, shown, names)
        repository = locate(folder) if ".git" in names else None
        if repository is None or repository.top != folder:
            return _DirectoryRules((*own, *above.sources), above.tracked, ignored)
        lasting = (source for source in above.sources if not source.from_git)
        excludes = self._excludes(repository, _configuration(folder), cut=len(path_key(shown)))
        return _DirectoryRules((*own, *lasting, *excludes), cache(partial(_tracked, folder, "", shown)))

    def _top(self) -> _DirectoryRules:
        repository = locate(self._root)
        # The user opened the folder on purpose, so a rule that ignores all of it does not apply.
        if repository is None or _ignores(repository.top, self._root):
            return _DirectoryRules(tuple(self._sources_in(self._root, "")))
        configuration = _configuration(repository.top)
        # git sets this on macOS and Windows.
        self._ignore_case = configuration.get("core.ignorecase", "").lower() in ("true", "yes", "on", "1")
        sources = [*self._sources_in(self._root, "")]
        lead, place, shown = "", self._root, ""
        while place != repository.top:
            lead, place, shown = f"{place.name}/{lead}", place.parent, f"{shown}../"
            sources += self._sources_in(place, shown, lead=lead)
        sources += self._excludes(repository, configuration, lead)
        return _DirectoryRules(tuple(sources), cache(partial(_tracked, repository.top, lead, "")))

    def _sources_in(
        self, folder: Path, shown: str, names: Set[str] = _RULE_NAMES, lead: str = ""
    ) -> Iterator[_Source]:
        cut = 0 if lead else len(path_key(shown))
        for name in reversed(IGNORE_FILES):
            patterns = _read(folder / name, self._ignore_case, follow=False) if name in names else None
            if patterns:
                yield _Source(shown + name, patterns, name == GIT_IGNORE, path_key(lead), cut)

    def _excludes(
        self, repository: Repository, configuration: Mapping[str, str], lead: str = "", cut: int = 0
    ) -> Iterator[_Source]:
        """Yield `info/exclude` and the user's ignore file. The former has priority."""
        configured = configuration.get("core.excludesfile")
        if configured is None:
            configured = f"{os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/ignore"
        # Path.expanduser raises RuntimeError without a home folder.
        user = repository.top / os.path.expanduser(configured)  # noqa: PTH111
        own = repository.common / "info" / "exclude"
        for path, shown in ((own, ".git/info/exclude"), (user, str(user))):
            if patterns := _read(path, self._ignore_case, follow=True):
                yield _Source(shown, patterns, True, path_key(lead), cut)


def _first(sources: Iterable[_Source], key: str, directory: bool) -> Match | None:
    name = key.rpartition("/")[2]
    for source in sources:
        pattern = source.patterns.match((source.lead + key)[source.cut :], name, directory)
        if pattern is not None:
            return Match(source.shown, pattern, source.from_git)
    return None


def _ignores(top: Path, folder: Path) -> bool:
    """Return whether the ignore files of the repository at `top` exclude the whole `folder`."""
    outer = IgnoreFiles(top)
    for path in accumulate(folder.relative_to(top).parts, "{}/{}".format):
        match = outer.decide(path, directory=True)
        if match is not None and match.ignored:
            return True
    return False


def _configuration(top: Path) -> dict[str, str]:
    entries = (entry.partition("\n") for entry in _ask_git(top, "config", "-z", "--list"))
    # In git, a name without a value means true.
    return {name: value if divider else "true" for name, divider, value in entries}


def _tracked(top: Path, lead: str, inside: str) -> Set[str]:
    """Return the tracked files of the repository at `top` that its ignore files match, and their directories.

    The paths are relative to the workspace folder. `lead` is the workspace folder's path in the repository;
    `inside` is the repository's path in the workspace folder. Both end with `/`.
    """
    found: set[str] = set()
    for path in _ask_git(top, "ls-files", "-i", "-c", "--exclude-standard", "-z"):
        if path.startswith(lead):
            own = inside + path[len(lead) :]
            while own and own not in found:
                found.add(own)
                own = own.rpartition("/")[0]
    return found


def _ask_git(top: Path, *arguments: str) -> Iterator[str]:
    """Yield git's listing, or nothing if git fails."""
    try:
        output = b"".join(Git(top, time.monotonic() + _GIT_SECONDS).run(arguments))
    except GitError as problem:
        logger.warning("git could not report all that it ignores in %s: %s", top, problem)
        return iter(())
    return filter(None, os.fsdecode(output).split("\0"))


def _read(path: Path, ignore_case: bool, follow: bool) -> PatternList | None:
    """Return the patterns of an ignore file. As in git, a link in the work tree is not followed."""
    try:
        status = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
            if len(data) == MAX_BYTES:
                data = data[: data.rfind(b"\n") + 1]  # A part of a pattern is a different pattern.
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        logger.warning("%s is not used: %s", path, problem.strerror or problem)
        return None
    patterns = PatternList.of_file(data, ignore_case)
    if patterns.cut_at is not None or status.st_size > len(data):
        logger.warning("%s is too long; its end, from line %s on, is not used", path, patterns.cut_at or "?")
    return patterns
