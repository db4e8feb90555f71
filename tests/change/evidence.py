"""Evidence about changes of an indexed folder, which has the state before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cairn.change.definitions import touched_definitions
from cairn.change.evidence import Evidence
from cairn.index.references.graph import ReferenceGraph
from cairn.workspace.diff import Change
from tests.change.changes import file_change
from tests.git_repository import GitRepository
from tests.retrieval.indexed_folder import IndexedFolder

Open = Callable[[Mapping[str, str]], IndexedFolder]


def evidence_of(folder: IndexedFolder, after: Mapping[str, str | None]) -> Evidence:
    """Return the evidence about a change of files to these texts; None removes a file."""
    files = []
    for path, text in after.items():
        known = folder.root / path
        before = known.read_text(encoding="utf-8") if known.exists() else None
        files.append(file_change(path, before, text, is_applied=False))
    subjects = touched_definitions(files)
    return Evidence(folder.reader, ReferenceGraph(folder.reader), Change(tuple(files)), subjects)


def commit(folder: IndexedFolder, *commits: Mapping[str, str]) -> None:
    """Commit the files as they are, then further texts one commit after another, and index all of them."""
    repository = GitRepository(folder.root)
    repository.commit("First berths")
    for number, files in enumerate(commits):
        repository.commit(f"Change {number}", files)
    folder.index()
