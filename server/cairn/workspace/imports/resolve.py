"""Counts how many files import each file, from the specs of all files.

A spec that could mean several files equally well means none of them.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence

from cairn.workspace.imports.places import Places
from cairn.workspace.imports.resolvers import BY_FILE, RESOLVERS, types_in_sight


def in_degrees(imports: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many other files import each file; files that none imports are left out.

    `imports` has every path of the workspace, and what `import_specs` returned for it, () for a file without any.
    """
    places = Places(imports)
    # The files of a folder import much the same: a spec is resolved once a folder.
    resolved: dict[tuple[str, str], tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for path, specs in imports.items():
        folder = posixpath.dirname(path)
        targets: set[str] = set()
        for spec in specs:
            tag, _, name = spec.partition(":")
            resolver = RESOLVERS.get(tag)
            if resolver is None:  # a declaration
                continue
            if name.startswith("~"):
                targets.update(types_in_sight(places, path, tag, name[1:].split(","), specs))
                continue
            key = (path if tag in BY_FILE else folder, spec)
            found = resolved.get(key)
            if found is None:
                found = resolved[key] = tuple(resolver(places, path, name))
            targets.update(found)
        targets.discard(path)
        counts.update(targets)
    return dict(counts)
