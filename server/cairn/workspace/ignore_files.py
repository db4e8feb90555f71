"""Decide which paths the ignore files of a workspace folder exclude, and which line decides.

The rules are git's. The deepest ignore file with a matching pattern decides, and within a file the last
pattern. No pattern can re-include a path below an ignored directory, and a tracked file is never ignored. A
folder in a repository also obeys the ignore files above it, `info/exclude` and the user's ignore file; a
repository inside the folder obeys only its own files. `.cairnignore` files work in the same way, override the
`.gitignore` beside them, and also apply to tracked files and across repositories.

git itself lists the user's settings and the repository's. If git cannot be run, both are assumed to be
empty, and a log line says why. The repository's settings may only name an ignore file inside of
it.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path

from attrs import frozen

from cairn.workspace.git import GitError, user_settings
from cairn.workspace.git_index import entries
from cairn.workspace.ignore_patterns import MAX_BYTES, Pattern, PatternList, path_key
from cairn.workspace.repository import Repository, locate

logger = logging.getLogger(__name__)

GIT_IGNORE, CAIRN_IGNORE = ".gitignore", ".cairnignore"
IGNORE_FILES = (GIT_IGNORE, CAIRN_IGNORE)
"""The names of ignore files. In a directory, the later file overrides the earlier one."""

_RULE_NAMES = frozenset({".git", *IGNORE_FILES})
"""The rules of a directory without any of these entries are its parent's."""

_GIT_SECONDS = 10
"""The time limit of a git call. Settings take milliseconds, but a network drive can hang."""


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
    is_tracked: Callable[[str], bool] = lambda path: False
    """Returns whether git tracks a file, or any file in a directory."""
    ignored: Match | None = None
    """Why git ignores the directory, which is searched only for its tracked files."""


class IgnoreFiles:
    """The ignore files of one workspace folder, each read once."""

    def __init__(self, root: Path, *, all_tracked: bool = False) -> None:
        """If `all_tracked`, git tracks all files of the folder, which need not be in a repository."""
        self._root = root.resolve()
        self._all_tracked = all_tracked
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
        if match is None or not match.ignored or not match.from_git or not place.is_tracked(path):
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
            return above if is_alike else _DirectoryRules(above.sources, above.is_tracked, ignored)
        folder, shown = self._root / directory, f"{directory}/"
        own = self._sources_in(folder, shown, names)
        repository = locate(folder) if ".git" in names else None
        if repository is None or repository.top != folder:
            return _DirectoryRules((*own, *above.sources), above.is_tracked, ignored)
        lasting = (source for source in above.sources if not source.from_git)
        excludes = self._excludes(repository, self._configuration(repository), cut=len(path_key(shown)))
        return _DirectoryRules((*own, *lasting, *excludes), _tracked_in(repository, "", shown))

    def _top(self) -> _DirectoryRules:
        if self._all_tracked:
            return _DirectoryRules(tuple(self._sources_in(self._root, "")), lambda path: True)
        repository = locate(self._root)
        # The user opened the folder on purpose, so a rule that ignores all of it does not apply.
        if repository is None or _ignores(repository.top, self._root):
            return _DirectoryRules(tuple(self._sources_in(self._root, "")))
        configuration = self._configuration(repository)
        # git sets this on macOS and Windows.
        self._ignore_case = configuration.get("core.ignorecase", "").lower() in ("true", "yes", "on", "1")
        sources = [*self._sources_in(self._root, "")]
        lead, place, shown = "", self._root, ""
        while place != repository.top:
            lead, place, shown = f"{place.name}/{lead}", place.parent, f"{shown}../"
            sources += self._sources_in(place, shown, lead=lead)
        sources += self._excludes(repository, configuration, lead)
        return _DirectoryRules(tuple(sources), _tracked_in(repository, lead, ""))

    @cached_property
    def _user_settings(self) -> Mapping[str, str]:
        settings: dict[str, str] = {}
        with _logged("the user's settings"):
            settings |= user_settings(time.monotonic() + _GIT_SECONDS)
        return settings

    def _configuration(self, repository: Repository) -> Mapping[str, str]:
        """Return the user's settings of git and the repository's, which may only name a file in it."""
        own: dict[str, str] = {}
        with _logged(f"the settings of {repository.top}"):
            own = repository.settings(time.monotonic() + _GIT_SECONDS)
        file = own.get("core.excludesfile")
        if file is not None and not _is_within(
            repository.top / _expanded(file), repository.top, repository.common
        ):
            logger.warning("%s is not used, because it is outside of the repository that names it", file)
            del own["core.excludesfile"]
        return {**self._user_settings, **own}

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
        user = repository.top / _expanded(configured)
        own = repository.common / "info" / "exclude"
        for path, shown in ((own, ".git/info/exclude"), (user, str(user))):
            if path is own and not _is_within(own, repository.common):
                continue
            if patterns := _read(path, self._ignore_case, follow=path is user):
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


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log that git could not report something."""
    try:
        yield
    except GitError as problem:
        logger.warning("git could not report %s: %s", what, problem)


def _is_within(path: Path, *folders: Path) -> bool:
    """Return whether the path is below one of the folders, also with all links resolved."""
    # A path on another machine must not be resolved, because that would send the user's name there.
    named = Path(os.path.normpath(path))
    if not any(map(named.is_relative_to, folders)):
        return False
    return any(map(Path(os.path.realpath(named)).is_relative_to, folders))


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises RuntimeError without a home folder.


def _tracked_in(repository: Repository, lead: str, inside: str) -> Callable[[str], bool]:
    """Return a function that tells whether a repository tracks a file, or any file in a directory.

    The paths are relative to the workspace folder. `lead` is the workspace folder's path in the repository;
    `inside` is the repository's path in the workspace folder. Both end with `/`.
    """

    @cache
    def tracked() -> Set[str]:
        found: set[str] = set()
        with _logged(f"the files that it tracks in {repository.top}"):
            for path in entries(repository):
                if path.startswith(lead):
                    own = inside + path[len(lead) :]
                    while own and own not in found:
                        found.add(own)
                        own = own.rpartition("/")[0]
        return found

    return lambda path: path in tracked()


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
