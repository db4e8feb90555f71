"""Which package of a workspace a question is about: by the name of its folder and by what its manifest says that it is.

A manifest's description is one sentence that somebody wrote to tell the package from others. Over 31 questions about two
workspaces of 15 and 25 packages the right one came nearest in meaning for 17, among the first three for 23; by the folder's name
alone for 11 and 17, with the README's first lines for 11 and 17.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.introductions import DESCRIPTION
from cairn.retrieval.query import Query
from cairn.workspace.collections import MANIFESTS, FileKind, file_kind

_FEWEST = 7
"""A workspace of fewer has a main one, which most questions are about."""
_NOISE = 0.1
"""Cosines that differ by less say nothing: with them, a question about ripgrep's core lost its facts to `crates/cli`."""
_MOST = 2_000
"""Packages of a folder that are compared: 8 ms."""
_CHUNKS = 4
"""Of a manifest: its description stands near the top."""
_TOKENS = 64
_SEPARATORS = re.compile(r"[\W_]+")


@frozen
class Package:
    """What an index knows of a package."""

    folder: str
    project: str
    """What its collections are called, without their kinds."""
    card: str
    """Its folder and its description."""


@frozen
class Packages:
    """How much a question is about each package of a folder, 0 to 1."""

    by_folder: Mapping[str, float] = field(factory=dict)
    by_project: Mapping[str, float] = field(factory=dict)

    def around(self, path: str) -> float:
        """That of the nearest package around the file at `path`; 0 where there is none."""
        folder = path
        while folder := folder.rpartition("/")[0]:
            if (relevance := self.by_folder.get(folder)) is not None:
                return relevance
        return 0.0


def packages_asked_about(
    readers: Sequence[IndexReader], query: Query, table: StaticTable | None
) -> list[Packages]:
    """For each index its packages: how much nearer in meaning each is to the question than they usually are, by more than chance.

    There is nothing to tell without the static `table`, or where there are fewer than seven packages.
    """
    known = [reader.remembered("packages", partial(_packages, reader.saved)) for reader in readers]
    if table is None or not query.terms or sum(map(len, known)) < _FEWEST:
        return [Packages() for _ in readers]
    asked = table.embed_queries([query.meant or query.text])[0]
    cosines = [_vectors(tuple(each.card for each in some), table) @ asked for some in known]
    usual = np.median(np.concatenate(cosines))
    found = []
    for some, near in zip(known, cosines, strict=True):
        pairs = list(zip(some, np.maximum(near - usual - _NOISE, 0.0).tolist(), strict=True))
        found.append(
            Packages({each.folder: value for each, value in pairs}, {p.project: value for p, value in pairs})
        )
    return found


def _packages(reader: IndexReader) -> Sequence[Package]:
    """The packages below the index's folder; those of tests and examples are none."""
    manifests = [path for (path,) in reader.select(_SELECT_MANIFESTS, (json.dumps(MANIFESTS),))]
    ids = [chunk for chunks in reader.chunk_ids(manifests).values() for chunk in chunks[:_CHUNKS]]
    stored = reader.chunks(ids)
    described: dict[str, tuple[str, str]] = {}
    for each in (stored[chunk] for chunk in ids if chunk in stored):
        folder = each.path.rpartition("/")[0]
        project, description = described.get(folder, ("", ""))
        found = None if description else DESCRIPTION.search(each.chunk.text)
        if file_kind(f"{folder}/code.c") is FileKind.SOURCE:
            described[folder] = (
                project or each.collection.rpartition("-")[0],
                description or (found[found.lastindex or 0].strip() if found else ""),
            )
    return [
        Package(folder, project, f"{_SEPARATORS.sub(' ', folder)}. {description}")
        for folder, (project, description) in sorted(described.items())[:_MOST]
    ]


@lru_cache(maxsize=8)
def _vectors(texts: Sequence[str], table: StaticTable) -> NDArray[np.float32]:
    """float32[texts, dimension], of unit length."""
    return table.embed(texts, _TOKENS)


_SELECT_MANIFESTS = """
    SELECT f.path FROM json_each(?) name JOIN files f ON f.path GLOB '*/' || name.value ORDER BY name.key, f.path"""
