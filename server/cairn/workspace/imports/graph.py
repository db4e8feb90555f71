"""Resolve the specs of all files into a graph of imports.

A spec that could equally mean several files means none of them.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from cairn.workspace.imports.places import Places
from cairn.workspace.imports.resolvers import BY_FILE, RESOLVERS, types_in_sight


class _Links:
    """The imports of each file, in both directions."""

    # Tuples and lists, because sets take several times the memory.

    def __init__(self) -> None:
        self._imported: dict[str, tuple[str, ...]] = {}
        self.importers: dict[str, list[str]] = defaultdict(list)

    def put(self, path: str, targets: frozenset[str]) -> None:
        for target in self._imported.get(path, ()):
            self.importers[target].remove(path)
        for target in targets:
            self.importers[target].append(path)
        self._imported[path] = tuple(targets)


class ImportGraph:
    """The graph of imports between the files of a workspace."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        """Create the graph. `imports` maps every path of the workspace to the result of `import_specs`."""
        self._places = Places(imports)
        # Files of a folder share imports, so each spec is resolved once per folder.
        self._resolved = cache(self._resolve)
        self._declared = {path: _declarations(specs) for path, specs in imports.items()}
        self._unlinked = dict(imports)
        """The specs of the files that are not in the links yet. Resolving a single spec needs no links."""
        self._links = _Links()

    def changed(self, path: str, specs: Sequence[str]) -> bool:
        """Replace the specs of a file in the graph. Return False if its declarations have changed: other
        files depend on those, so the graph must be made again."""
        if self._declared.get(path) != _declarations(specs):
            return False
        self._unlinked[path] = specs
        return True

    def _linked(self) -> _Links:
        if self._unlinked:
            while self._unlinked:
                path, specs = self._unlinked.popitem()
                self._links.put(path, self.imported(path, specs))
            self._resolved.cache_clear()
        return self._links

    def in_degrees(self) -> dict[str, int]:
        """Return the number of other files that import each file. Files with zero are left out."""
        return {path: len(importers) for path, importers in self._linked().importers.items() if importers}

    def importers(self, path: str) -> tuple[str, ...]:
        """Return the files that import the file at `path`, sorted."""
        return tuple(sorted(self._linked().importers.get(path, ())))

    def imported(self, path: str, specs: Sequence[str]) -> frozenset[str]:
        """Return the other files that `path` imports with these specs. The graph need not contain `path`."""
        folder = posixpath.dirname(path)
        targets: set[str] = set()
        for spec in specs:
            tag, _, name = spec.partition(":")
            if name.startswith("~"):
                targets.update(types_in_sight(self._places, path, tag, name[1:].split(","), specs))
            elif tag in RESOLVERS:
                targets.update(self._resolved(tag, path if tag in BY_FILE else folder, name))
        return frozenset(targets - {path})

    def resolve(self, path: str, spec: str) -> tuple[str, ...]:
        """Return the existing files that a spec means in the file at `path`."""
        tag, _, name = spec.partition(":")
        if tag not in RESOLVERS:
            return ()
        return self._resolved(tag, path if tag in BY_FILE else posixpath.dirname(path), name)

    def _resolve(self, tag: str, place: str, name: str) -> tuple[str, ...]:
        return tuple(filter(None, RESOLVERS[tag](self._places, place, name)))


def _declarations(specs: Sequence[str]) -> frozenset[str]:
    return frozenset(spec for spec in specs if spec.startswith("="))
