"""Collections are found: a file belongs to its nearest project and to one of five kinds. Users may name others by glob."""

from __future__ import annotations

import enum
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from attrs import field, frozen

from cairn.text.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES, detect_language
from cairn.workspace.git import locate
from cairn.workspace.ignore_patterns import Selection


class FileKind(enum.StrEnum):
    """What a file is for; the last part of its collection's name."""

    SOURCE = "source"
    DOCS = "docs"
    TESTS = "tests"
    CONFIG = "config"
    EXAMPLES = "examples"


TAGS: dict[FileKind, tuple[str, ...]] = {
    FileKind.SOURCE: ("code",),
    FileKind.DOCS: ("documentation",),
    FileKind.TESTS: ("code", "tests"),
    FileKind.CONFIG: ("configuration",),
    FileKind.EXAMPLES: ("code", "examples"),
}
"""S1 scores the tags `documentation`, `code` and `api`."""

_TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing", "testdata", "e2e"})
_TEST_FILE = re.compile(
    r"^(tests?|test_.*|.*_test|.*_spec|.*\.(test|spec)|.*Tests?|.*TestCase|conftest)\.[A-Za-z0-9]+$"
)
_EXAMPLE_DIRECTORIES = frozenset(
    {"example", "examples", "sample", "samples", "demo", "demos", "benchmark", "benchmarks", "docs_src"}
)
_DOCS_DIRECTORIES = frozenset({"doc", "docs", "documentation", "wiki", "website"})
MANIFESTS = tuple("pyproject.toml setup.cfg package.json Cargo.toml go.mod pom.xml composer.json".split())
"""Files that make their directory a project; where a directory has several, the first names it."""


def file_kind(path: str) -> FileKind:
    """The kind of the file at `path` (relative, with `/`), judged by its directories and its name alone."""
    *directories, name = path.split("/")
    lowered = {directory.lower() for directory in directories}
    language = detect_language(path)
    if lowered & _TEST_DIRECTORIES or _TEST_FILE.match(name):
        return FileKind.TESTS
    if lowered & _EXAMPLE_DIRECTORIES:
        return FileKind.EXAMPLES
    if language in PROSE_LANGUAGES:
        return FileKind.DOCS
    if language in CONFIG_LANGUAGES:
        return FileKind.CONFIG
    return FileKind.DOCS if lowered & _DOCS_DIRECTORIES else FileKind.SOURCE


@frozen
class Projects:
    """The projects of a workspace folder: directory (relative, "" for the root) → name."""

    names: dict[str, str] = field(factory=dict)
    own: tuple[tuple[str, Selection], ...] = ()
    """Collections that the settings name, each with its files; the first that has a file gets it."""
    _nearest: dict[str, str] = field(factory=dict, init=False, eq=False, repr=False)

    def collection(self, path: str) -> str:
        """`<project>-<kind>` for the file at `path`, or the collection of the settings that it is in."""
        for name, selection in self.own:
            if selection.names(path):
                return name
        return f"{self._project(path.rpartition('/')[0])}-{file_kind(path)}"

    def names_still(self, collection: str, path: str) -> bool:
        """Whether `collection`, which was this file's once, still is: projects come and go, its kind stays."""
        if self.own:
            return collection == self.collection(path)
        project, _, kind = collection.rpartition("-")
        return kind in TAGS and project == self._project(path.rpartition("/")[0])

    def _project(self, directory: str) -> str:
        """The name of the nearest project around the directory; kept, since a scan asks for every file."""
        if directory not in self._nearest:
            above = self._project(directory.rpartition("/")[0]) if directory else "workspace"
            self._nearest[directory] = self.names.get(directory, above)
        return self._nearest[directory]


def find_projects(
    root: Path, paths: Iterable[str], own: Mapping[str, Sequence[str]] | None = None
) -> Projects:
    """The projects whose manifests are among `paths`, and the collections that users name: `own`, patterns by name.

    The root is always a project, named by its folder. A linked worktree is named by its repository's folder, so that
    the texts of both, which hold the name, are alike.
    """
    names = {"": _repository_name(root) or root.name or "workspace"}
    manifests = [path.rpartition("/") for path in paths if path.rpartition("/")[2] in MANIFESTS]
    # The first of a directory's manifests comes last here, and so names it.
    for directory, _, name in sorted(manifests, key=lambda found: MANIFESTS.index(found[2]), reverse=True):
        # A manifest without a name (a virtual workspace, tool settings) makes no project.
        if project := _manifest_name(root / directory / name):
            names[directory] = re.sub(r"[^A-Za-z0-9._-]+", "-", project).strip("-")
    return Projects(names, tuple((name, Selection(patterns)) for name, patterns in (own or {}).items()))


def _repository_name(root: Path) -> str:
    """The name of the folder whose repository `root` is a linked worktree of, "" where it is none."""
    repository = locate(root)
    if repository is None or repository.top != root.resolve():
        return ""
    common = repository.common.resolve()
    if repository.own.resolve() == common:
        return ""
    return common.parent.name if common.name == ".git" else common.name.removesuffix(".git")


def _manifest_name(path: Path) -> str:
    """The project's own name without an organisation, "" where the manifest has none or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        name = _READERS[path.suffix](text)
    except (OSError, ValueError, AttributeError, TypeError, ElementTree.ParseError):
        return ""
    return name.rstrip("/").rpartition("/")[2] if isinstance(name, str) else ""


def _toml_name(text: str) -> Any:
    data = tomllib.loads(text)
    poetry = data.get("tool", {}).get("poetry", {})
    return (data.get("project") or data.get("package") or poetry).get("name", "")


def _first(pattern: str) -> Callable[[str], str]:
    """Reads what the pattern's one group finds first."""
    return lambda text: next(iter(re.findall(pattern, text, re.MULTILINE)), "")


_READERS: dict[str, Callable[[str], Any]] = {
    ".toml": _toml_name,
    ".json": lambda text: json.loads(text).get("name", ""),
    ".cfg": _first(r"^\[metadata\][^\[]*?^name\s*=\s*(\S+)"),
    ".xml": lambda text: ElementTree.fromstring(text).findtext("{*}artifactId", "").strip(),
    ".mod": _first(r"^module\s+(\S+?)(?:/v\d+)?(?=\s|\Z)"),
}
