"""Garbage collection deletes only what no ref needs, and readers go on meanwhile."""

from __future__ import annotations

import datetime
import threading
from pathlib import Path

import psycopg
import pytest
from tests.git_repository import GitRepository
from tests.team.git_repositories import (
    assert_equal_to_checkout,
    bulk_counts,
    count,
    harbour,
    index,
    many_files,
    open_snapshot,
    try_open_snapshot,
)

from cairn.errors import InvalidRequestError
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.transactions import Store
from cairn.team.garbage import collect_garbage, remove_repository

NOW = datetime.timedelta(0)


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return harbour(tmp_path / "harbour", **many_files(10))


def test_latest_snapshots_of_refs_stay_and_others_go(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    repository.git("branch", "old")
    index(store, repository, "old")
    repository.write({"src/harbour/tides.py": "def new_harbour(): pass\n"})
    repository.commit("No tides at berths")
    index(store, repository)
    repository.write(many_files(4))
    repository.git("rm", "--quiet", "src/fleet/ship_9.py")
    repository.commit("Fewer ships")
    index(store, repository)
    assert collect_garbage(store).snapshots == 0  # A server may still read it.
    found = collect_garbage(store, NOW)
    assert (found.snapshots, found.files, found.chunks, found.pools) == (1, 0, 0, 0)
    repository.git("branch", "--quiet", "-D", "old")
    found = collect_garbage(store, NOW, gone_refs=True)
    assert (found.refs, found.snapshots) == (1, 1)
    assert found.files == found.chunks == 3  # Only the first commit had them.
    assert_equal_to_checkout(store, repository, "main", tmp_path)
    again = collect_garbage(store, NOW, gone_refs=True)
    assert (again.refs, again.snapshots, again.files, again.segments) == (0, 0, 0, 0)


def test_store_after_garbage_is_as_if_indexed_once(store: str, repository: GitRepository) -> None:
    for number in range(3):
        repository.write({f"src/fleet/ship_{each}.py": f"def sail_{number}(): pass\n" for each in range(10)})
        repository.commit(f"Sails {number}")
        index(store, repository)
    found = collect_garbage(store, NOW)
    assert (found.snapshots, found.files, found.repositories_compacted) == (2, 20, 1)
    assert found.segments >= 2
    kept = bulk_counts(store)
    remove_repository(store, "harbour", older_than=NOW)
    assert not any(bulk_counts(store).values())
    assert count(store, "SELECT sum(chunks) FROM cairn.shards") == 0
    assert count(store, "SELECT count(*) FROM cairn.pools") == 0
    index(store, repository)
    assert bulk_counts(store) == kept


def test_removed_fork_leaves_what_the_other_has(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    fork = repository.clone(tmp_path / "fork")
    fork.write({"own.py": "def new_harbour(): pass\n"})
    fork.commit("Own berths")
    index(store, fork)
    repository.write({"later.py": "def later(): pass\n"})
    repository.commit("Later")
    index(store, repository)
    found = remove_repository(store, "harbour", older_than=NOW)
    assert (found.files, found.pools) == (1, 0)
    assert count(store, "SELECT count(*) FROM cairn.pools WHERE unswept") == 0
    assert_equal_to_checkout(store, fork, "main", tmp_path, "fork")
    with pytest.raises(InvalidRequestError, match="not in the store"):
        remove_repository(store, "harbour")
    assert index(store, repository).files_read == 1


def test_repository_deleted_by_hand_is_swept(store: str, repository: GitRepository, tmp_path: Path) -> None:
    index(store, repository)
    index(store, repository.clone(tmp_path / "fork"))
    with psycopg.connect(store) as owner:
        owner.execute("DELETE FROM cairn.repositories WHERE name = 'fork'")
    assert count(store, "SELECT count(*) FROM cairn.pools WHERE unswept") == 1
    collect_garbage(store, NOW)
    assert count(store, "SELECT count(*) FROM cairn.pools WHERE unswept") == 0
    for table in ("holdings", "segments", "terms"):
        assert count(store, f"SELECT count(DISTINCT repository) FROM cairn.{table}") == 1
    assert_equal_to_checkout(store, repository, "main", tmp_path)


def test_repository_that_is_gone_keeps_its_refs(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    repository.folder.rename(tmp_path / "elsewhere")
    found = collect_garbage(store, NOW, gone_refs=True)
    assert found.refs == 0
    assert "harbour" in found.problems[0]


def test_readers_go_on_while_lists_are_merged(
    store: str, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.index.postgres.lists.MOST_SEGMENTS", 1)
    index(store, repository)
    connections = Store([store], connections=3)

    def berths(reader: PostgresReader) -> set[tuple[str, int]]:
        numbers = reader.postings({"berth": 0})["berth"].ids.tolist()
        return {(each.path, each.chunk.position) for each in reader.chunks(numbers).values()}

    reader = open_snapshot(store, connections, "harbour", "main")
    expected = berths(reader)
    assert expected
    answers: list[bool] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            fresh = try_open_snapshot(store, connections, "harbour", "main")
            if fresh is not None:  # Otherwise the snapshot got a new id just now.
                answers.append(berths(fresh) == expected)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for number in range(5):
            text = "".join(f"LINE_{line} = {number}\n" for line in range(3))
            repository.write({f"src/fleet/log_{each}.py": text for each in range(30)})
            repository.commit(f"Log {number}")
            index(store, repository)
            collect_garbage(store)
    finally:
        done.set()
        asking.join()
    assert answers
    assert all(answers)
    assert count(store, "SELECT count(*) FROM cairn.retired_lists") > 0
    # A reader that was opened before uses the retired lists.
    assert berths(reader) == expected
    connections.close()
