"""What an import statement says, in one notation for all languages, and helpers to read and resolve it."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

DEFAULT = "default"
"""The member name of a module's default export."""
IN_SIGHT = "~"
"""The name of the module whose members are types that a file may use without an import of their names."""
_REFERENCES = 200
"""The maximum number of types of a file that may be used without an import of their names."""


class Module(NamedTuple):
    """A module as an import or a declaration names it."""

    tag: str
    """The tag selects the resolver. After `=`, it declares the name by which the file itself, or a manifest's
    folder, is imported."""
    name: str
    """The name with `/` between its parts. A name that begins with `./` or `../` is relative to the importing
    file, others are absolute in a language."""
    members: tuple[str, ...] = ()
    """Modules inside the named one or, if there are none, members of it. "" is the module itself."""

    def __str__(self) -> str:
        return f"{self.tag}:{self.name}{'?' if self.members else ''}{','.join(self.members)}"

    @classmethod
    def parse(cls, text: str) -> Module:
        """Return the module of which `text` is the string."""
        tag, _, rest = text.partition(":")
        name, mark, members = rest.partition("?")
        return cls(tag, name, tuple(members.split(",")) if mark else ())


class Import(NamedTuple):
    """A name that an import statement adds to a file."""

    name: str
    """The name as the file writes it; "*" for every name of the module, "" if no name is added."""
    module: Module | None
    """The module; None for the file itself."""
    member: str = ""
    """The name inside the module; "" if the module itself is imported."""


Resolver = Callable[["Places", str, Module], Iterable[str | None]]
"""Returns the files that a module means; None means none. The second argument is the importing file's folder,
or the importing file for `by_file`."""


Names = Callable[[str], Iterator[Import]]
"""Returns the names that an import statement adds to the file."""


class Imports(NamedTuple):
    """How the files of a language import each other."""

    modules: Callable[[str], Iterator[Module]] = lambda _: iter(())
    """A function from a text that begins with a line end to the modules it imports and declares."""
    names: Names = lambda _: iter(())
    namespace: str = ""
    """The pattern of the line that names the package or namespace of the file."""
    resolvers: Mapping[str, Resolver] = {}
    """The resolver of each tag."""
    namespaced: frozenset[str] = frozenset()
    """The tags that name a namespace instead of a file."""
    by_file: frozenset[str] = frozenset()
    """The tags whose names depend on the importing file. Others depend only on its folder."""
    manifests: Mapping[str, Callable[[str], Iterator[Module]]] = {}
    """For names of files that declare the name of their folder, the reader of such a file."""

    def namespace_of(self, text: str) -> str:
        """Return the file's package or namespace, with `/` between its parts; "" for none."""
        match = by_line(self.namespace).search("\n" + text) if self.namespace else None
        return slashed(match[1]) if match else ""


NO_IMPORTS = Imports()

# Patterns have a limited length: a text full of beginnings would otherwise take quadratic time.


@cache
def by_line(pattern: str) -> re.Pattern[str]:
    """Compile `^pattern` for a text that begins with a line end. Searching for a line end is several times
    faster than for `^`: 9 instead of 21 µs per KB for Rust's `use`."""
    return re.compile(r"\n" + pattern)


@cache
def compiled(regex: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed. Most processes read files of few languages, or none."""
    return re.compile(regex)


def statements(pattern: str, text: str) -> Iterator[str]:
    """Yield the import statements of a text that begins with a line end: each match of `^pattern`."""
    return (match[0][1:] for match in by_line(pattern).finditer(text))


def slashed(name: str) -> str:
    """Return `a::b`, `a.b` or `a\\b` as `a/b`."""
    return compiled(r"(?<!\s)\s*+(?:::|[.\\])\s*+").sub("/", name.replace("`", "").strip()).strip("/")


def imported(statement: str, names: Names, text: str) -> Iterator[tuple[str, Module]]:
    """Yield the names and modules in the import statements of a text, which match `^statement`."""
    found = (each for part in statements(statement, text) for each in names(part))
    return ((each.name, each.module) for each in found if each.module is not None)


def pattern(
    tag: str, regex: str, separator: str = "/", *, by_lines: bool = True, relative: bool = False
) -> Callable[[str], Iterator[Module]]:
    """Return a reader of the modules that the group of `regex` names. With `by_lines`, the regular expression
    begins at a line's start. With `relative`, a name is relative to the file."""

    def modules(text: str) -> Iterator[Module]:
        for name in (by_line(regex) if by_lines else compiled(regex)).findall(text):
            name = name.replace(separator, "/")
            if not name.startswith(("./", "../")):
                name = f"{'./' if relative else ''}{name.lstrip('/')}"
            yield Module(tag, name)

    return modules


def by_path(endings: Sequence[str], roots: frozenset[str] | None = None) -> Resolver:
    """Resolve relative names from the file's folder, others by the ends of paths below one of `roots`."""

    def is_root(folder: str) -> bool:
        return roots is None or posixpath.basename(folder).lower() in roots

    def resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
        if module.name.startswith("."):
            return (places.relative(folder, module.name, endings),)
        return (places.absolute(folder, module.name, endings, is_root),)

    return resolve


FILES: Mapping[str, Resolver] = {"file": by_path(("",))}
"""The resolver of the tag `file`, for languages that import files by their paths."""


def imports_of_types(
    tag: str,
    statement: str,
    names: Names,
    *,
    namespace: str,
    foreign: str,
    files: Callable[[str], Iterator[Module]] = lambda _: iter(()),
) -> Imports:
    """Return the imports of a language in which a file sees all types of its namespace. Modules that match
    `foreign` are outside the workspace; `files` reads what is imported by a path."""

    def modules(text: str) -> Iterator[Module]:
        if own := imports.namespace_of(text):
            yield Module(f"={tag}", own)
        for name, module in imported(statement, names, text):
            space = f"{module.name}/*" if name == "*" else module.name
            if not compiled(foreign).match(space):
                yield Module(tag, space)
        yield from files(text)
        # Names that may be types of the same namespace or of a star import.
        if types := tuple(dict.fromkeys(compiled(r"\b[A-Z]\w*").findall(text)))[:_REFERENCES]:
            yield Module(tag, IN_SIGHT, types)

    def resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
        """Resolve a type. `a/b/C` is C of the namespace a/b; `a/b/C/D` is in C's file if D has none."""
        space, _, last = module.name.rpartition("/")
        while space:
            if found := places.file_of(f"{tag}:{space}", last, folder):
                return (found,)
            space, _, last = space.rpartition("/")
        return ()

    imports = Imports(modules, names, namespace, {tag: resolve, **FILES}, frozenset({tag}))
    return imports


_CANDIDATES = 200
"""If more paths end with a name, it counts as ambiguous. This limits the work."""

_COMMON = frozenset({"common", "commonMain"})
"""Folders with declarations that several platforms share."""


def _anywhere(_: str) -> bool:
    return True


class Places:
    """An index of paths, which are relative to the workspace, with `/`; the workspace itself is ""."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        self.paths: Collection[str] = imports.keys()
        self.declared: dict[str, list[str]] = defaultdict(list)
        self.in_folder: dict[str, list[str]] = defaultdict(list)
        self.entries: dict[str, list[str]] = defaultdict(list)
        """The files that the manifest in a folder names as entries of its package, by folder."""
        self.aliases: dict[str, list[str]] = defaultdict(list)
        """The names that settings in a folder give to other folders, by folder, as `@app/*=src/*`."""
        self.types = cache(self._types)
        self.crate_root = cache(self._crate_root)
        self._ending_with = cache(self._find_ending_with)
        self._manifest = cache(lambda name, folder: self.nearest(self.declared[name], folder))
        self._by_end: dict[str, list[str]] = defaultdict(list)
        for path, specs in imports.items():
            rest, _, name = path.rpartition("/")
            self.in_folder[rest].append(path)
            self._by_end[name].append(path)
            if rest:
                self._by_end[f"{rest.rpartition('/')[2]}/{name}"].append(path)
            for spec in specs:
                if spec.startswith("=entry:"):
                    self.entries[rest].append(spec.removeprefix("=entry:"))
                elif spec.startswith("=alias:"):
                    self.aliases[rest].append(spec.removeprefix("=alias:"))
                elif spec.startswith("="):
                    self.declared[spec[1:]].append(path)

    def relative(self, folder: str, name: str, endings: Iterable[str]) -> str | None:
        """Return the file that `name` means from `folder`, with the first ending for which a file exists."""
        joined = f"{folder}/{name}" if folder else name
        if "./" in joined or joined.endswith(".") or "//" in joined:
            joined = posixpath.normpath(joined).removeprefix(".")
        paths = (joined + ending if joined else ending.lstrip("/") for ending in endings)
        return next((path for path in paths if path in self.paths), None)

    def absolute(
        self, folder: str, name: str, endings: Sequence[str], is_root: Callable[[str], bool] = _anywhere
    ) -> str | None:
        """Return the file nearest to `folder` whose path ends with `name` and an ending, below a root."""
        return self.nearest(self._ending_with(name, endings, is_root), folder)

    def is_plain_folder(self, folder: str) -> bool:
        """Return whether a folder is not a Python package. Packages are part of names: `json` is not
        `flask/json`."""
        return (f"{folder}/__init__.py" if folder else "__init__.py") not in self.paths

    def _find_ending_with(
        self, name: str, endings: Sequence[str], is_root: Callable[[str], bool]
    ) -> Sequence[str]:
        """Return the candidates of `absolute`, cached because thousands of files import the same names."""
        name = posixpath.normpath(name)
        for ending in endings:
            end = name + ending
            candidates = self._by_end.get("/".join(end.rsplit("/", 2)[-2:]), ())
            if len(candidates) > _CANDIDATES:
                continue
            fitting = [
                path
                for path in candidates
                if (path == end or path.endswith("/" + end)) and is_root(path[: -len(end)].rstrip("/"))
            ]
            if fitting:
                return fitting
        return ()

    def _types(self, namespace: str) -> Mapping[str, Sequence[str]]:
        """Return the files that declare `namespace` (`tag:name`). The keys are file names without ending."""
        files: dict[str, list[str]] = {}
        for path in self.declared.get(namespace, ()):
            files.setdefault(posixpath.splitext(posixpath.basename(path))[0], []).append(path)
        return files

    def file_of(self, namespace: str, name: str, folder: str) -> str | None:
        """Return the nearest file with the name of a type of the namespace."""
        return self.nearest(self.types(namespace).get(name, ()), folder)

    def _crate_root(self, folder: str) -> str | None:
        """Return the nearest folder at or above `folder` with the root module of a Rust crate."""
        here = f"{folder}/" if folder else ""
        if f"{here}lib.rs" in self.paths or f"{here}main.rs" in self.paths:
            return folder
        return self.crate_root(folder.rpartition("/")[0]) if folder else None

    def folder_of(self, tag: str, name: str, folder: str) -> tuple[str, str] | None:
        """Return the folder whose manifest declares the longest part of `name`, and the rest of the name."""
        part, rest = name, ""
        while part:
            if f"{tag}:{part}" in self.declared:
                manifest = self._manifest(f"{tag}:{part}", folder)
                return (posixpath.dirname(manifest), rest) if manifest is not None else None
            part, _, last = part.rpartition("/")
            rest = f"{last}/{rest}" if rest else last
        return None

    def nearest(self, paths: Sequence[str], folder: str) -> str | None:
        """Return the least deep path of those that share most folders with `folder`; None for a tie."""
        if len(paths) < 2:
            return paths[0] if paths else None
        here = folder.split("/") if folder else []

        def distance(path: str) -> tuple[int, int, bool]:
            there = path.split("/")[:-1]
            return -len(posixpath.commonprefix([here, there])), len(there), _COMMON.isdisjoint(there)

        ranked = sorted((distance(path), path) for path in paths)
        return ranked[0][1] if ranked[0][0] != ranked[1][0] else None
