"""Finds which files each file imports, from the specs of all files.

A spec that could mean several files equally well means none of them.
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from cairn.workspace.imports.places import Places
from cairn.workspace.imports.resolvers import BY_FILE, RESOLVERS, types_in_sight


def in_degrees(imports: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many other files import each file; files that none imports are left out.

    `imports` has every path of the workspace, and what `import_specs` returned for it, () for a file without any.
    """
    resolver = _Resolver(imports)
    counts: Counter[str] = Counter()
    for path, specs in imports.items():
        counts.update(resolver.targets(path, specs))
    return dict(counts)


class ImportGraph:
    """Which files of a workspace import which."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        """`imports` as for `in_degrees`."""
        self._resolver = _Resolver(imports)
        self._declared = {path: _declarations(specs) for path, specs in imports.items()}
        self._targets = {path: self._resolver.targets(path, specs) for path, specs in imports.items()}
        self._importers: dict[str, set[str]] = defaultdict(set)
        for path, targets in self._targets.items():
            for target in targets:
                self._importers[target].add(path)

    def changed(self, path: str, specs: Sequence[str]) -> bool:
        """Take in that a file of the graph imports something else now.

        False where it cannot be: what the file itself is imported as has changed, which others depend on.
        """
        if self._declared.get(path) != _declarations(specs):
            return False
        targets = self._resolver.targets(path, specs)
        for target in self._targets[path] - targets:
            self._importers[target].discard(path)
        for target in targets:
            self._importers[target].add(path)
        self._targets[path] = targets
        return True

    def importers(self, path: str) -> tuple[str, ...]:
        """The files that import the one at `path`, sorted."""
        return tuple(sorted(self._importers.get(path, ())))

    def imported(self, path: str, specs: Sequence[str]) -> frozenset[str]:
        """The files that one at `path` with these specs imports; it need not be among those of the graph."""
        return frozenset(self._resolver.targets(path, specs))


def _declarations(specs: Sequence[str]) -> frozenset[str]:
    return frozenset(spec for spec in specs if spec.startswith("="))


class _Resolver:
    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        self._places = Places(imports)
        self._resolved: dict[tuple[str, str], tuple[str, ...]] = {}
        """The files of a folder import much the same: a spec is resolved once a folder."""

    def targets(self, path: str, specs: Sequence[str]) -> set[str]:
        """The other files that the one at `path` imports."""
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
        targets.discard(path)
        return targets
