"""The imports of a workspace's files, and the number of files that import each one.

`read_imports` reads the imports of one file's text, and `ImportGraph` resolves those of all files. A module
that could equally be several files is none of them.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice

from cairn.languages.imports import IN_SIGHT, Module, Places
from cairn.languages.registry import LANGUAGES, facts_of

_CHARACTERS = 200_000
"""The maximum number of characters read: imports are at the top, and generated files are long."""
_MODULES = 400
"""The maximum number of imports per file."""

_IMPORTS = [each.imports for each in LANGUAGES.values()]
MANIFESTS = {name: reader for each in _IMPORTS for name, reader in each.manifests.items()}
_RESOLVERS = {tag: resolver for each in _IMPORTS for tag, resolver in each.resolvers.items()}
_BY_FILE = {tag for each in _IMPORTS for tag in each.by_file}


def read_imports(path: str, language: str, text: str) -> tuple[str, ...]:
    """Return the file's imports and declarations as strings of `Module`s, in order and without duplicates.
    `path` is relative to the workspace, with `/`."""
    read = MANIFESTS.get(path.rpartition("/")[2], facts_of(language).imports.modules)
    return tuple(map(str, islice(dict.fromkeys(read("\n" + text[:_CHARACTERS])), _MODULES)))


class ImportGraph:
    """The graph of imports between the files of a workspace."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        """Create the graph. `imports` maps every path of the workspace to the result of `read_imports`."""
        self._places = Places(imports)
        # Files of a folder share imports, so each spec is resolved once per folder.
        self._resolved = cache(self._resolve)
        self._declared = {path: _declarations(specs) for path, specs in imports.items()}
        self._unlinked = dict(imports)
        """The specs of the files that are not in the links yet. Resolving a single spec needs no links."""
        # Tuples and lists, because sets take several times the memory.
        self._imported: dict[str, tuple[str, ...]] = {}
        self._importers: dict[str, list[str]] = defaultdict(list)

    def changed(self, path: str, specs: Sequence[str]) -> bool:
        """Replace the specs of a file in the graph. Return False if its declarations have changed: other
        files depend on those, so the graph must be made again."""
        if self._declared.get(path) != _declarations(specs):
            return False
        self._unlinked[path] = specs
        return True

    def _linked(self) -> Mapping[str, Sequence[str]]:
        """Return the importers of each file, after linking all files."""
        while self._unlinked:
            path, specs = self._unlinked.popitem()
            for target in self._imported.get(path, ()):
                self._importers[target].remove(path)
            targets = self._imported[path] = tuple(self.imported(path, specs))
            for target in targets:
                self._importers[target].append(path)
            if not self._unlinked:
                self._resolved.cache_clear()
        return self._importers

    def in_degrees(self) -> dict[str, int]:
        """Return the number of other files that import each file. Files with zero are left out."""
        return {path: len(importers) for path, importers in self._linked().items() if importers}

    def importers(self, path: str) -> tuple[str, ...]:
        """Return the files that import the file at `path`, sorted."""
        return tuple(sorted(self._linked().get(path, ())))

    def imported(self, path: str, specs: Sequence[str]) -> frozenset[str]:
        """Return the other files that `path` imports with these specs. The graph need not contain `path`."""
        targets: set[str] = set()
        modules = list(map(Module.parse, specs))
        for module in modules:
            if module.name == IN_SIGHT:
                targets.update(_types_in_sight(self._places, path, module, modules))
            else:
                targets.update(self.resolve(path, module))
        return frozenset(targets - {path})

    def resolve(self, path: str, module: Module) -> tuple[str, ...]:
        """Return the existing files that a module means in the file at `path`."""
        if module.tag not in _RESOLVERS:
            return ()
        return self._resolved(path if module.tag in _BY_FILE else posixpath.dirname(path), module)

    def _resolve(self, place: str, module: Module) -> tuple[str, ...]:
        return tuple(filter(None, _RESOLVERS[module.tag](self._places, place, module)))


def _types_in_sight(places: Places, path: str, types: Module, modules: Iterable[Module]) -> Iterable[str]:
    """Yield the files of types that a file may use by bare name, of its own and of starred namespaces."""
    spaces = [each.name for each in modules if each.tag == f"={types.tag}"]
    spaces += [each.name[:-2] for each in modules if each.tag == types.tag and each.name.endswith("/*")]
    folder = posixpath.dirname(path)
    left = set(types.members)
    for space in (f"{types.tag}:{space}" for space in spaces):
        seen = left & places.types(space).keys()
        left -= seen
        yield from filter(None, (places.file_of(space, name, folder) for name in seen))


def _declarations(specs: Sequence[str]) -> frozenset[str]:
    return frozenset(spec for spec in specs if spec.startswith("="))
