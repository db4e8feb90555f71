"""The workspace as an index file, and the same index published to team stores."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import psycopg
from attrs import define, frozen
from tests.git_repository import GitRepository
from tests.index.conformance.workspace import BINARY, COMMITS, OTHER_REVISION, TEXTS, text_at
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.embedding.static import StaticTable
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.postgres.access import grant
from cairn.index.postgres.lists import Home
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.publishing import Revision, publish
from cairn.index.postgres.repositories import find_home
from cairn.index.postgres.segment import Segment
from cairn.index.postgres.snapshot_catalogue import SnapshotKey, read_snapshot
from cairn.index.postgres.team_schema import prepare
from cairn.index.postgres.transactions import Store
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.word_list import WordListIntake

READER = "suite"
ChunkPlace = tuple[str, int]
"""Path and position of a chunk, which are the same in every index, unlike its id."""


class WorkspaceIndex:
    """The workspace on disk and its index file, which a writer holds open like in a daemon."""

    def __init__(self, base: Path, table: StaticTable, texts: Mapping[str, str], history: bool = False):
        base.mkdir(exist_ok=True)
        self.indexed = IndexedFolder(base, {}, table)
        self.folder = base / "data"
        root = self.root = self.indexed.root
        if history:
            repository = GitRepository(root)
            for number, (subject, paths) in enumerate(COMMITS):
                repository.commit(subject, {path: text_at(path, number) for path in paths})
        for path, data in {**{path: text.encode() for path, text in texts.items()}, **BINARY}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        if history:
            repository.commit("All the rest of the harbour")
        self.indexed.index()
        words = WordListIntake(self.indexed.writer.db)
        words.step()
        while words.is_due:
            words.step()

    def close(self) -> None:
        self.indexed.close()


@define
class TeamStore:
    """A prepared database and its connections."""

    url: str
    store: Store

    @classmethod
    def prepared(cls, url: str) -> TeamStore:
        """Prepare an empty database."""
        prepare(url)
        return cls(url, Store([url]))

    def publish(
        self,
        folder: Path,
        repository: str,
        commit: str,
        pool: int | None = None,
        kept: Sequence[int] = (),
        parts: Mapping[str, bytes] | None = None,
    ) -> SnapshotKey:
        """Publish an index file as a snapshot of a repository that the suite's reader may see."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            home: Home = find_home(connection, repository, "", pool)
            segment = Segment(folder)
            revision = Revision("HEAD", commit, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), {})
            published = publish(connection, home, revision, segment, kept, parts)
            segment.close()
            grant(connection, READER, [home.repository])
        return SnapshotKey(published.snapshot, home.repository, home.pool, home.shard)

    def admit(self, reader: str) -> None:
        """Create a reader who may see nothing yet."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            grant(connection, reader, [])

    def reader(self, key: SnapshotKey) -> PostgresReader:
        memory = self.store.read(READER, lambda db: read_snapshot(db, key))
        assert memory is not None
        return PostgresReader.of(self.store.single_reads(READER), memory)


def other_texts() -> dict[str, str]:
    changed: dict[str, str | None] = {**TEXTS, **OTHER_REVISION}
    return {path: text for path, text in changed.items() if text is not None}


def changed_texts() -> dict[str, str]:
    """Return the files that differ in the other revision, and the manifests of their collections."""
    every = other_texts()
    wanted = {*OTHER_REVISION, "pyproject.toml", "web/package.json", "fleet/go.mod"}
    return {path: text for path, text in every.items() if path in wanted}


def parts_of(folder: Path) -> Mapping[str, bytes]:
    """Return an index file's facts about all its files together, in the form of a publication."""
    segment = Segment(folder)
    try:
        return segment.parts()
    finally:
        segment.close()


@frozen
class Subject:
    """One implementation under test, and the mapping from its ids to places."""

    name: str
    reader: IndexReader
    index: WorkspaceIndex

    @cached_property
    def ids(self) -> Mapping[ChunkPlace, int]:
        """The id of each saved chunk by its place."""
        paths = [path for (path,) in self.reader.select("SELECT path FROM files")]
        by_path = self.reader.saved.chunk_ids(paths)
        return {(path, n): chunk for path, ids in by_path.items() for n, chunk in enumerate(ids)}

    def place(self, chunk: int) -> ChunkPlace:
        return self.places([chunk])[0]

    def places(self, chunks: Iterable[int]) -> list[ChunkPlace]:
        """Return the places of chunks in the given order; fail for a deleted chunk."""
        every = [int(chunk) for chunk in chunks]
        outlines = self.reader.outlines(every)
        return [(outlines[chunk].path, outlines[chunk].position) for chunk in every]

    def paths(self, chunks: Iterable[int]) -> set[str]:
        return {path for path, _ in self.places(chunks)}

    def defining(self, path: str, name: str) -> int:
        """Return the chunk of a file that defines a name."""
        return next(each.id for each in self.reader.saved.page(path) if name in each.chunk.defines)


def overlaid(subject: Subject) -> OverlaidReader:
    """Return the reader under an editor in which no document is open yet."""
    indexed = subject.index.indexed
    overlay = Overlay(subject.index.root, lambda: indexed.settings, indexed.models)
    return OverlaidReader(subject.reader, overlay)
