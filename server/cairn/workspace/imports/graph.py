"""Finds which files each file imports, from the specs of all files.

A spec that could mean several files equally well means none of them.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from cairn.workspace.imports.places import Places
from cairn.workspace.imports.resolvers import BY_FILE, RESOLVERS, types_in_sight


class _Links:
    """What each file imports, and by which files it is imported."""

    # Tuples and lists, as sets take several times as much.

    def __init__(self) -> None:
        self._imported: dict[str, tuple[str, ...]] = {}
        self.importers: dict[str, list[str]] = defaultdict(list)

    def put(self, path: str, targets: frozenset[str]) -> None:
        """Note what a file imports now."""
        for target in self._imported.get(path, ()):
            self.importers[target].remove(path)
        for target in targets:
            self.importers[target].append(path)
        self._imported[path] = tuple(targets)


class ImportGraph:
    """Which files of a workspace import which."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        """`imports` has every path of the workspace, and what `import_specs` returned for it, () for a file without any."""
        self._places = Places(imports)
        # The files of a folder import much the same: a spec is resolved once a folder.
        self._resolved = cache(self._resolve)
        self._declared = {path: _declarations(specs) for path, specs in imports.items()}
        self._unlinked = dict(imports)
        """The specs of files of which no link is made yet: what one spec means is known without links."""
        self._links = _Links()

    def changed(self, path: str, specs: Sequence[str]) -> bool:
        """Take in that a file of the graph imports something else now.

        False where it cannot be: what the file itself is imported as has changed, which others depend on.
        """
        if self._declared.get(path) != _declarations(specs):
            return False
        self._unlinked[path] = specs
        return True

    def _linked(self) -> _Links:
        if self._unlinked:
            while self._unlinked:
                path, specs = self._unlinked.popitem()
                self._links.put(path, self.imported(path, specs))
            self._resolved.cache_clear()  # what is asked from now on is a file at a time
        return self._links

    def in_degrees(self) -> dict[str, int]:
        """How many other files import each file; files that none imports are left out."""
        return {path: len(importers) for path, importers in self._linked().importers.items() if importers}

    def importers(self, path: str) -> tuple[str, ...]:
        """The files that import the one at `path`, sorted."""
        return tuple(sorted(self._linked().importers.get(path, ())))

    def imported(self, path: str, specs: Sequence[str]) -> frozenset[str]:
        """The other files that one at `path` with these specs imports; it need not be among those of the graph."""
        folder = posixpath.dirname(path)
        targets: set[str] = set()
        for spec in specs:
            tag, _, name = spec.partition(":")
            if name.startswith("~"):
                targets.update(types_in_sight(self._places, path, tag, name[1:].split(","), specs))
            elif tag in RESOLVERS:  # it is no declaration
                targets.update(self._resolved(tag, path if tag in BY_FILE else folder, name))
        return frozenset(targets - {path})

    def resolve(self, path: str, spec: str) -> tuple[str, ...]:
        """The files that one spec means in the file at `path`, those that there are."""
        tag, _, name = spec.partition(":")
        if tag not in RESOLVERS:
            return ()
        return self._resolved(tag, path if tag in BY_FILE else posixpath.dirname(path), name)

    def _resolve(self, tag: str, place: str, name: str) -> tuple[str, ...]:
        return tuple(filter(None, RESOLVERS[tag](self._places, place, name)))


def _declarations(specs: Sequence[str]) -> frozenset[str]:
    return frozenset(spec for spec in specs if spec.startswith("="))
