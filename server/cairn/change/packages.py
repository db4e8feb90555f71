"""The names by which other repositories import a file: its package, module, namespace, or header."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from cairn.index.references.known_symbols import Symbol, SymbolTables
from cairn.index.references.modules import NAMESPACED
from cairn.languages.imports import Module
from cairn.workspace.import_graph import MANIFESTS

_HEADERS = frozenset({"c", "sys"})
_ROOTS = frozenset("include lib libs python src".split())
"""Folders that are not part of the names of what is in them."""
_COMMON = frozenset(
    "app common conftest config core docs examples helpers main models scripts settings setup test tests util"
    " utils".split()
)
"""Names of folders and files in many repositories, which do not tell whose they are."""
_SEPARATORS = {"py": ".", "jvm": ".", "cs": ".", "ex": ".", "php": "\\", "rs": "::"}


@frozen
class Package:
    tag: str
    """The tag of the `Module`s that mean it."""
    name: str
    """The name with `/` between its parts; of a header, the end of its path."""
    own_spec: str = ""
    """What a file of a repository with a copy of the package declares; "" if it declares nothing."""
    own_path: str = ""
    """The end of the path of that file, "" for any path."""

    @property
    def text(self) -> str:
        """A text that the imports of each file have, as JSON, which imports the package."""
        if self.tag in _HEADERS:
            return _inner_json(self.name.rpartition("/")[2]) + '"'
        return f'"{self.tag}:{_inner_json(self.name)}'

    def contains(self, module: Module | None) -> bool:
        if module is None or module.tag != self.tag:
            return False
        if self.tag in _HEADERS:
            return f"/{self.name}".endswith(f"/{module.name.removeprefix('./')}")
        return f"{module.name}/".startswith(f"{self.name}/")


def shown(module: Module) -> str:
    """Return the name of a module as its language writes it."""
    return module.name.replace("/", _SEPARATORS.get(module.tag, "/"))


def packages_of(tables: SymbolTables, symbol: Symbol) -> Sequence[Package]:
    """Return the packages by which other repositories can import a definition."""
    tags = symbol.facts.imports.resolvers.keys() - {"file"}
    path = symbol.path
    if tags & NAMESPACED:
        own = filter(lambda each: each.tag[1:] in tags, _declared(tables, [path]).get(path, ()))
        return [Package(each.tag[1:], each.name, str(each), f"/{_base(path)}") for each in own]
    if tags >= _HEADERS:
        headers = (each.path for each in tables.definitions(symbol.name) if _is_header(each.path))
        return [
            Package(tag, rest, own_path=f"/{_base(rest)}")
            for rest in dict.fromkeys(_below_root(each) for each in headers)
            for tag in sorted(_HEADERS)
        ]
    folders = list(_folders_above(path))
    manifests = _declared(tables, [posixpath.join(each, name) for each in folders for name in MANIFESTS])
    for manifest in sorted(manifests, key=len, reverse=True):
        named = [each for each in manifests[manifest] if each.tag[1:] in tags]
        if named:
            return [_of_manifest(each, manifest, path) for each in named]
    if tags & {"js", "go", "rs", "dart"}:  # Only a manifest makes such a file a package.
        return []
    return list(_by_path(tables, path, tags))


def _of_manifest(declared: Module, manifest: str, path: str) -> Package:
    name, tag = declared.name, declared.tag[1:]
    if tag == "go":
        name = posixpath.normpath(
            f"{name}/{posixpath.relpath(posixpath.dirname(path) or '.', posixpath.dirname(manifest) or '.')}"
        )
    return Package(tag, name, str(declared))


def _by_path(tables: SymbolTables, path: str, tags: Iterable[str]) -> Iterator[Package]:
    """Yield the package of a file that is imported by its path. The outermost folder names it, except that a
    package of Python is named by the outermost folder with an `__init__.py`."""
    inits = tables.reader.contents(f"{each}/__init__.py" for each in _folders_above(path) if each)
    packages = {posixpath.dirname(each) for each in inits}
    outer = posixpath.dirname(path)
    while outer and posixpath.dirname(outer) in packages:
        outer = posixpath.dirname(outer)
    below = path[len(posixpath.dirname(outer)) :].lstrip("/") if outer in packages else _below_root(path)
    top = below.partition("/")[0].partition(".")[0]
    if top and top.lower() not in _COMMON:
        for tag in sorted(tags):
            yield Package(tag, top, own_path=f"/{below}")


def _declared(tables: SymbolTables, paths: Sequence[str]) -> dict[str, list[Module]]:
    """Return what these files declare, by path."""
    sql = "SELECT path, imports FROM files WHERE path IN (SELECT value FROM json_each(?))"
    specs = {path: json.loads(each) for path, each in tables.reader.select_all(sql, (json.dumps(paths),))}
    for path in paths:
        if path in tables.others:
            other = tables.others[path]
            specs[path] = other.imports if other is not None else ()
    return {
        path: [Module.parse(each) for each in every if each.startswith("=")] for path, every in specs.items()
    }


def _folders_above(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path


def _below_root(path: str) -> str:
    """Return the path below the last of the folders on it that are not part of names."""
    parts = path.split("/")
    last = max((place for place, part in enumerate(parts[:-1], 1) if part in _ROOTS), default=0)
    return "/".join(parts[last:])


def _is_header(path: str) -> bool:
    return posixpath.splitext(path)[1].startswith(".h")


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _inner_json(text: str) -> str:
    return json.dumps(text)[1:-1]
