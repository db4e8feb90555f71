"""Git repositories for tests, and the comparison of a stored snapshot with an index of the same checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from attrs import evolve
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.intake import Intake
from cairn.index.indexing.links import count_links, store_links
from cairn.index.postgres.access import grant
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.snapshot_catalogue import SnapshotKey, read_snapshot
from cairn.index.postgres.transactions import Store
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.settings.layers import Layers
from cairn.settings.tree import EmbeddingSettings
from cairn.team.commit_indexing import IndexResult, index_repository

READER = "tester"
_TABLES = {
    "imports": "SELECT path, in_degree FROM file_imports ORDER BY path",
    "copies": "SELECT path, original, share FROM copies ORDER BY path",
    "history": "SELECT path, count, last_time, length(touches) FROM file_history ORDER BY path",
    "files": """SELECT path, size, hex(content_hash), is_text, kind, collection, chunks, imports
                FROM files ORDER BY path""",
}


_SUBJECTS = """SELECT f.path FROM subjects_fts s JOIN files f ON f.id = s.rowid
    WHERE subjects_fts MATCH 'berths'"""


def many_files(count: int, folder: str = "src/fleet") -> dict[str, str]:
    """Source files that import one another, each with words of its own."""
    return {
        f"{folder}/ship_{number}.py": f'"""Ship {number} of the fleet."""\n\n'
        f"from fleet.ship_{(number + 1) % count} import sail_{number}\n\n\n"
        f"def hoist_{number}(rope):\n    return rope * {number} + anchor_{number % 7}\n"
        for number in range(count)
    }


def harbour(folder: Path, **more: str) -> GitRepository:
    return GitRepository(folder, HARBOUR | more)


def index(
    url: str, repository: GitRepository | str | Path, ref: str | None = None, **given: Any
) -> IndexResult:
    source = str(repository.folder if isinstance(repository, GitRepository) else repository)
    return index_repository(url, source, ref, **given)


@contextmanager
def snapshot_reader(url: str, name: str, ref: str) -> Iterator[PostgresReader]:
    """Read the snapshot of a ref as a reader who sees only that repository."""
    store = Store([url], connections=2)
    try:
        yield open_snapshot(url, store, name, ref)
    finally:
        store.close()


def open_snapshot(url: str, store: Store, name: str, ref: str) -> PostgresReader:
    found = try_open_snapshot(url, store, name, ref)
    assert found is not None
    return found


def try_open_snapshot(url: str, store: Store, name: str, ref: str) -> PostgresReader | None:
    """Return None where the snapshot gets another id between the lookup and the reading."""
    reader = f"{READER}-{name.replace('/', '-')}"
    with psycopg.connect(url, autocommit=True) as owner:
        row = owner.execute(
            """SELECT s.id, s.repository, s.pool, s.shard FROM cairn.repositories r
               JOIN cairn.refs f ON f.repository = r.id JOIN cairn.snapshots s ON s.id = f.snapshot
               WHERE r.name = %s AND f.ref = %s""",
            (name, ref),
        ).fetchone()
        assert row is not None, f"{name} {ref} is not in the store"
        key = SnapshotKey(*row)
        grant(owner, reader, [key.repository])
    memory = store.read(reader, lambda db: read_snapshot(db, key))
    return PostgresReader.of(store.single_reads(reader), memory) if memory is not None else None


def content_of(reader: IndexReader, words: Iterable[str], names: Iterable[str]) -> dict[str, Any]:
    """Return the content of an index, without the ids that differ between two."""
    tables = {name: [tuple(row) for row in reader.select(query)] for name, query in _TABLES.items()}
    pages = {row[0]: reader.page(row[0]) for row in tables["files"]}
    place = {stored.id: (path, stored.chunk.position) for path, page in pages.items() for stored in page}
    ids = np.array(sorted(place), np.int64)
    tokens = reader.columns().tokens_of(ids)
    postings = reader.postings(dict.fromkeys(words, 0))
    vector_ids, vectors = reader.static_vectors(ids.tolist())
    return {
        **tables,
        "pages": {path: [evolve(stored, id=0) for stored in page] for path, page in pages.items()},
        "tokens": {place[number]: int(count) for number, count in zip(ids.tolist(), tokens, strict=True)},
        "postings": {
            word: {
                (place[number], int(count), int(named))
                for number, count, named in zip(found.ids.tolist(), found.counts, found.names, strict=True)
            }
            for word, found in postings.items()
        },
        "symbols": {name: {path for _, path in reader.symbols_with_words([name], 100)} for name in names},
        "defined": {
            name: {(place[each.chunk_id], each.name) for each in reader.definitions([name], 100, 100)}
            for name in names
        },
        "vectors": {
            place[number]: vector.astype(int)
            for number, vector in zip(vector_ids.tolist(), vectors, strict=True)
        },
        "subjects": sorted(path for (path,) in reader.select(_SUBJECTS)),
    }


def assert_equal_to_checkout(
    url: str, repository: GitRepository, ref: str, scratch: Path, name: str = "harbour"
) -> dict[str, Any]:
    """Assert that a stored snapshot equals an index of a fresh checkout of the commit. Return its content."""
    commit = repository.git("rev-parse", ref)
    checkout = scratch / f"checkout-{name.replace('/', '-')}-{commit[:12]}" / name.rpartition("/")[2]
    if not checkout.exists():
        repository.clone(checkout).git("checkout", "--quiet", "--detach", commit)
    local = _index_of(checkout, checkout.parent / "index")
    with snapshot_reader(url, name, ref) as reader:
        words = sorted(_words(local))
        names = ["berth", "moor_ship", "high_water", "hoist_3", "new_harbour", "_owner"]
        there, here = content_of(reader, words, names), content_of(local, words, names)
    assert here["pages"]
    mine, theirs = here.pop("vectors"), there.pop("vectors")
    for part, expected in here.items():
        assert there[part] == expected, part
    assert theirs.keys() == mine.keys()
    # The number of texts that are embedded at once may change how a number of a vector is rounded.
    assert all(np.abs(vector - mine[place]).max() <= 1 for place, vector in theirs.items())
    return there


def _words(reader: IndexReader) -> set[str]:
    rows = reader.select("SELECT term FROM words ORDER BY doc DESC LIMIT 120")
    frequent = {str(term) for (term,) in rows if str(term).isalpha() and len(str(term)) > 2}
    return frequent | {"berth", "nowhere_at_all"}


def _index_of(checkout: Path, folder: Path) -> SqliteReader:
    """Index the folder by the steps of the indexing thread."""
    folder.mkdir(exist_ok=True)
    embedding = EmbeddingSettings()
    writer = IndexWriter(folder)
    static = VectorIntake(writer, SharedModel(embedding), frozenset)
    static.announce(embedding)
    Intake(checkout, writer, Progress(), lambda: False, lambda: None).reconcile(
        Layers().of(checkout).settings.index
    )
    static.select(embedding)
    while static.step(embedding):
        pass
    store_links(writer.db, count_links(writer.db))
    GitHistory(writer.db, checkout).update(lambda: False)
    writer.close()
    return SqliteReader(folder)


def count(url: str, query: str) -> int:
    with psycopg.connect(url, autocommit=True) as owner:
        row = owner.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])


def bulk_counts(url: str) -> dict[str, int]:
    """Count the rows of the large tables."""
    tables = "files holdings chunks vectors definitions segments terms snapshots snapshot_parts".split()
    return {table: count(url, f"SELECT count(*) FROM cairn.{table}") for table in tables}
