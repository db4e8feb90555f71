"""Assign each file to a collection: by its project and its kind, or by globs in the settings."""

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

from cairn.languages.registry import CONFIG_LANGUAGES, PROSE_LANGUAGES, detect_language
from cairn.workspace.ignore_patterns import Selection
from cairn.workspace.repository import locate


class FileKind(enum.StrEnum):
    """The purpose of a file. It is the last part of the name of the file's collection."""

    SOURCE = "source"
    DOCS = "docs"
    TESTS = "tests"
    CONFIG = "config"
    EXAMPLES = "examples"


TAGS: Mapping[str, tuple[str, ...]] = {
    FileKind.SOURCE: ("code",),
    FileKind.DOCS: ("documentation",),
    FileKind.TESTS: ("code", "tests"),
    FileKind.CONFIG: ("configuration",),
    FileKind.EXAMPLES: ("code", "examples"),
}
"""The tags for which a collection is scored: `documentation`, `code` and `api`."""

_TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing", "testdata", "e2e"})
_TEST_FILE = re.compile(
    r"^(tests?|test_.*|.*_test|.*_spec|.*\.(test|spec)|.*Tests?|.*TestCase|conftest)\.[A-Za-z0-9]+$"
)
TEST_MODULES = frozenset({"test", "tests"})
"""The names of modules of tests inside a file of the source, as in Rust."""
_EXAMPLE_DIRECTORIES = frozenset(
    {"example", "examples", "sample", "samples", "demo", "demos", "benchmark", "benchmarks", "docs_src"}
)
_DOCS_DIRECTORIES = frozenset({"doc", "docs", "documentation", "wiki", "website"})
MANIFESTS = tuple("pyproject.toml setup.cfg package.json Cargo.toml go.mod pom.xml composer.json".split())
"""Files that make their directory a project. If a directory has several, the first of these names it."""


def file_kind(path: str) -> FileKind:
    """Return the kind of the file at `path` (relative, with `/`) by its directories and name alone."""
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


def is_beside(path: str) -> bool:
    """Return whether a file is beside the source: a test, an example, or anything in documents."""
    directories = {directory.lower() for directory in path.split("/")[:-1]}
    is_document = bool(directories & _DOCS_DIRECTORIES)
    return is_document or file_kind(path) in (FileKind.TESTS, FileKind.EXAMPLES, FileKind.DOCS)


@frozen
class Projects:
    """The names of a workspace folder's projects, by directory (relative, "" for the root)."""

    names: dict[str, str] = field(factory=dict)
    own: tuple[tuple[str, Selection], ...] = ()
    """The collections of the settings. A file belongs to the first that selects it."""
    _nearest: dict[str, str] = field(factory=dict, init=False, eq=False, repr=False)

    def collection(self, path: str) -> str:
        """Return the collection of the settings that selects the file at `path`, else `<project>-<kind>`."""
        for name, selection in self.own:
            if selection.names(path):
                return name
        return f"{self._project(path.rpartition('/')[0])}-{file_kind(path)}"

    def is_current_collection(self, collection: str, path: str) -> bool:
        """Return whether a file's earlier `collection` is still right. Only its project may change."""
        if self.own:
            return collection == self.collection(path)
        project, _, kind = collection.rpartition("-")
        return kind in TAGS and project == self._project(path.rpartition("/")[0])

    def _project(self, directory: str) -> str:
        if directory not in self._nearest:
            above = self._project(directory.rpartition("/")[0]) if directory else "workspace"
            self._nearest[directory] = self.names.get(directory, above)
        return self._nearest[directory]


def find_projects(
    root: Path, paths: Iterable[str], own: Mapping[str, Sequence[str]] | None = None
) -> Projects:
    """Return the projects with manifests among `paths`, and the collections of the settings, `own`.

    The root is always a project, named by its folder. A linked worktree is named by its repository's folder,
    so that both embed the same texts, which contain the name.
    """
    names = {"": _repository_name(root) or root.name or "workspace"}
    manifests = [path.rpartition("/") for path in paths if path.rpartition("/")[2] in MANIFESTS]
    # The first of a directory's manifests is the last one here, and so names it.
    for directory, _, name in sorted(manifests, key=lambda found: MANIFESTS.index(found[2]), reverse=True):
        if project := _manifest_name(root / directory / name):
            names[directory] = re.sub(r"[^A-Za-z0-9._-]+", "-", project).strip("-")
    return Projects(names, tuple((name, Selection(patterns)) for name, patterns in (own or {}).items()))


def _repository_name(root: Path) -> str:
    """Return the name of the repository's folder if `root` is a linked worktree, else ""."""
    repository = locate(root)
    if repository is None or repository.top != root.resolve():
        return ""
    common = repository.common
    if repository.own == common:
        return ""
    return common.parent.name if common.name == ".git" else common.name.removesuffix(".git")


def _manifest_name(path: Path) -> str:
    """Return the project's name without an organisation; "" if the manifest has none or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        name = _READERS[path.suffix](text)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, ElementTree.ParseError):
        return ""
    return name.rstrip("/").rpartition("/")[2] if isinstance(name, str) else ""


def _toml_name(text: str) -> Any:
    data = tomllib.loads(text)
    poetry = data.get("tool", {}).get("poetry", {})
    return (data.get("project") or data.get("package") or poetry).get("name", "")


def _first(pattern: str) -> Callable[[str], str]:
    return lambda text: next(iter(re.findall(pattern, text, re.MULTILINE)), "")


_READERS: dict[str, Callable[[str], Any]] = {
    ".toml": _toml_name,
    ".json": lambda text: json.loads(text).get("name", ""),
    ".cfg": _first(r"^\[metadata\][^\[]*?^name\s*=\s*(\S+)"),
    ".xml": lambda text: ElementTree.fromstring(text).findtext("{*}artifactId", "").strip(),
    ".mod": _first(r"^module\s+(\S+?)(?:/v\d+)?(?=\s|\Z)"),
}
