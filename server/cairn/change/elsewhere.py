"""Find what depends on changed definitions in other repositories, by their packages and names.

Only files whose imports name the package of a changed definition are looked at. Each of their imports is
resolved in the changed repository, as it was before the change: such an import leads to the definition, also
through an `__init__.py` or an index file that exports it again.
"""

from __future__ import annotations

import json
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from cairn.change.dependents import Dependent, States
from cairn.change.importing_file import ImportingFile, Wanted
from cairn.change.packages import Package, packages_of
from cairn.change.touched import Touched
from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.packed_table import words_of
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import Symbol
from cairn.index.store.deadline import check_end
from cairn.languages.imports import Module
from cairn.protocol.change_messages import ChangeKind

_MOST_WANTED = 200
"""The maximum number of changed definitions that are looked for."""
_FEWEST_SHARED = 5
"""The minimum length of what the names of several packages have in common, with the colon before it."""
_MOST_FILES = 5_000
"""The maximum number of files with a name, of which those that import its package are looked at."""
_MOST_EDGES = 400
"""The maximum number of references to one definition in one repository."""

_KINDS = frozenset(
    {ChangeKind.REMOVED, ChangeKind.RENAMED, ChangeKind.MOVED, ChangeKind.SIGNATURE, ChangeKind.BODY}
)


def wanted_elsewhere(states: States, touched: Sequence[Touched]) -> list[Wanted]:
    """Return the changed definitions that other repositories can use."""
    graph, found = states.before, list[Wanted]()
    for each in touched:
        if each.kind not in _KINDS or len(found) >= _MOST_WANTED:
            continue
        check_end()
        members = each.members if each.kind is ChangeKind.MOVED else ()
        for place in (*([each.before] if each.before else []), *members):
            symbol = graph.symbol(place)
            if symbol is None or symbol.definition.is_private or symbol.kind in ("impl", "extension"):
                continue
            owner = graph.resolver.types.of_member(symbol) or _module_around(symbol)
            one = Wanted(each, symbol, owner, ())
            if one.shown.name.startswith("_") or (owner is not None and owner.name.startswith("_")):
                continue
            if packages := packages_of(graph.tables, one.shown):
                found.append(evolve(one, packages=packages))
    return found


def texts_of(wanted: Iterable[Wanted]) -> list[str]:
    """Return few texts, one of which the imports of each file have that can use any of the definitions."""
    by_tag: defaultdict[str, list[str]] = defaultdict(list)
    for text in dict.fromkeys(package.text for each in wanted for package in each.packages):
        by_tag[text.partition(":")[0]].append(text)
    found: list[str] = []
    for tag, texts in by_tag.items():
        shared = posixpath.commonprefix(texts)
        is_distinctive = len(shared) >= len(tag) + _FEWEST_SHARED
        found += [shared] if is_distinctive else texts
    return found


def dependents_elsewhere(
    states: States, wanted: Sequence[Wanted], others: Iterable[tuple[str, IndexReader]]
) -> Iterator[Dependent]:
    """Yield what depends on the definitions in other repositories, given by their URIs and readers."""
    by_package: defaultdict[Package, list[Wanted]] = defaultdict(list)
    for each in wanted:
        for package in each.packages:
            by_package[package].append(each)
    for uri, reader in others:
        check_end()
        graph = ReferenceGraph(reader)
        for package, every in by_package.items():
            files = _importing(reader, package)
            if files and not _has_own(reader, package):
                for each in every:
                    found = _in_repository(states, each, package, graph, files)
                    yield from (evolve(one, folder=uri) for one in found[:_MOST_EDGES])


def _importing(reader: IndexReader, package: Package) -> set[str]:
    sql = "SELECT path, imports FROM files WHERE instr(imports, ?)"
    rows = reader.select_all(sql, (package.text,))
    return {
        path
        for path, specs in rows
        if any(package.contains(Module.parse(each)) for each in json.loads(specs))
    }


def _has_own(reader: IndexReader, package: Package) -> bool:
    """Whether a repository has a copy of the package, which is then the one that its files import."""
    sql = """SELECT 1 FROM files WHERE instr(imports, ?) AND substr('/' || path, -length(?)) = ? LIMIT 1"""
    spec = json.dumps(package.own_spec) if package.own_spec else ""
    return bool(reader.select_all(sql, (spec or "[", package.own_path, package.own_path)))


def _in_repository(
    states: States, wanted: Wanted, package: Package, graph: ReferenceGraph, files: set[str]
) -> list[Dependent]:
    name, owner = wanted.shown.name, wanted.owner
    lookups = [words_of(name)]
    if owner is not None:  # An heir may only define the name.
        lookups.append([*words_of(owner.name), *(f"={word}" for word in words_of(name))])
    rows = [row for words in lookups for row in graph.tables.reader.symbols_with_words(words, _MOST_FILES)]
    paths = sorted(files.intersection(path for _, path in rows))
    graph.tables.read(paths)
    found: list[Dependent] = []
    for path in paths:
        check_end()
        file = graph.tables.top(path)
        if file is not None and file.family == wanted.symbol.family:
            found += ImportingFile(states, wanted, package, graph, file).dependents()
    return sorted(found, key=lambda each: -each.confidence)


def _module_around(symbol: Symbol) -> Symbol | None:
    """Return the module in its file that has a function as a member, as in Elixir."""
    around = symbol.at(symbol.parent)
    is_member = symbol.kind in CALLABLE and symbol.parent != TOP_LEVEL
    return around if is_member and around.kind == "module" else None
