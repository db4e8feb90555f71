"""Finds which files each file imports, from the specs of all files.

A spec that could mean several files equally well means none of them.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence

from cairn.workspace.imports.places import Places
from cairn.workspace.imports.resolvers import BY_FILE, RESOLVERS, types_in_sight


class ImportGraph:
    """Which files of a workspace import which."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        """`imports` has every path of the workspace, and what `import_specs` returned for it, () for a file without any."""
        self._places = Places(imports)
        self._resolved: dict[tuple[str, str], tuple[str, ...]] = {}
        """The files of a folder import much the same: a spec is resolved once a folder."""
        self._declared = {path: _declarations(specs) for path, specs in imports.items()}
        self._imported: dict[str, frozenset[str]] = {}
        self._importers: dict[str, set[str]] = defaultdict(set)
        for path, specs in imports.items():
            self._link(path, specs)

    def changed(self, path: str, specs: Sequence[str]) -> bool:
        """Take in that a file of the graph imports something else now.

        False where it cannot be: what the file itself is imported as has changed, which others depend on.
        """
        if self._declared.get(path) != _declarations(specs):
            return False
        for target in self._imported[path]:
            self._importers[target].discard(path)
        self._link(path, specs)
        return True

    def _link(self, path: str, specs: Sequence[str]) -> None:
        self._imported[path] = self.imported(path, specs)
        for target in self._imported[path]:
            self._importers[target].add(path)

    def in_degrees(self) -> dict[str, int]:
        """How many other files import each file; files that none imports are left out."""
        return {path: len(importers) for path, importers in self._importers.items() if importers}

    def importers(self, path: str) -> tuple[str, ...]:
        """The files that import the one at `path`, sorted."""
        return tuple(sorted(self._importers.get(path, ())))

    def imported(self, path: str, specs: Sequence[str]) -> frozenset[str]:
        """The other files that one at `path` with these specs imports; it need not be among those of the graph."""
        folder = posixpath.dirname(path)
        targets: set[str] = set()
        for spec in specs:
            tag, _, name = spec.partition(":")
            resolver = RESOLVERS.get(tag)
            if resolver is None:  # a declaration
                continue
            if name.startswith("~"):
                targets.update(types_in_sight(self._places, path, tag, name[1:].split(","), specs))
                continue
            key = (path if tag in BY_FILE else folder, spec)
            found = self._resolved.get(key)
            if found is None:
                found = self._resolved[key] = tuple(filter(None, resolver(self._places, key[0], name)))
            targets.update(found)
        return frozenset(targets - {path})


def _declarations(specs: Sequence[str]) -> frozenset[str]:
    return frozenset(spec for spec in specs if spec.startswith("="))
