"""The same workspace behind each implementation of IndexReader, indexed once for all tests.

`alone` is a snapshot with a pool of its own. `shared` is the same snapshot in a pool with an older revision,
a newer one of which only the changed files were indexed, and a fork; content that only those have must stay
invisible. `remote` is that snapshot as another machine reads it: its catalogue and all answers pass the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from tests.index.conformance.indexes import (
    Subject,
    TeamStore,
    WorkspaceIndex,
    changed_texts,
    other_texts,
    overlaid,
    parts_of,
)
from tests.index.conformance.workspace import OTHER_REVISION, TEXTS
from tests.postgres import new_database, postgres_server

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.remote.messages import dumps, loads
from cairn.index.remote.packed_catalogue import packed_catalogue, unpacked_catalogue
from cairn.index.remote.remote_reader import RemoteReader, read
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.team.trial import LocalServer

__all__ = ["postgres_server"]

IMPLEMENTATIONS = ("sqlite", "shared", "remote")


@pytest.fixture(scope="session")
def table() -> StaticTable:
    return load_packaged()


@pytest.fixture(scope="session")
def workspace_index(tmp_path_factory: pytest.TempPathFactory, table: StaticTable) -> Iterator[WorkspaceIndex]:
    folder = tmp_path_factory.mktemp("conformance")
    with closing(WorkspaceIndex(folder, table, TEXTS, history=True)) as index:
        yield index


@pytest.fixture(scope="session")
def other_index(tmp_path_factory: pytest.TempPathFactory, table: StaticTable) -> Iterator[WorkspaceIndex]:
    with closing(WorkspaceIndex(tmp_path_factory.mktemp("other"), table, other_texts())) as index:
        yield index


@pytest.fixture(scope="session")
def changed_index(tmp_path_factory: pytest.TempPathFactory, table: StaticTable) -> Iterator[WorkspaceIndex]:
    with closing(WorkspaceIndex(tmp_path_factory.mktemp("changed"), table, changed_texts())) as index:
        yield index


@pytest.fixture(scope="session")
def sqlite(workspace_index: WorkspaceIndex) -> Subject:
    return Subject("sqlite", SqliteReader(workspace_index.folder), workspace_index)


@pytest.fixture(scope="session")
def alone(postgres_server: LocalServer, workspace_index: WorkspaceIndex) -> Iterator[Subject]:
    with new_database(postgres_server) as url:
        team = TeamStore.prepared(url)
        key = team.publish(workspace_index.folder, "harbour", "a" * 40)
        yield Subject("alone", team.reader(key), workspace_index)
        team.store.close()


@pytest.fixture(scope="session")
def shared_store(
    postgres_server: LocalServer,
    workspace_index: WorkspaceIndex,
    other_index: WorkspaceIndex,
    changed_index: WorkspaceIndex,
) -> Iterator[tuple[TeamStore, dict[str, Subject]]]:
    with new_database(postgres_server) as url:
        team = TeamStore.prepared(url)
        older = team.publish(other_index.folder, "harbour", "0" * 40)
        key = team.publish(workspace_index.folder, "harbour", "a" * 40)
        fork = team.publish(other_index.folder, "fork", "f" * 40, pool=key.pool)
        memory = team.reader(key).memory
        unchanged = memory.file_numbers.ids_of(
            number for number, file in memory.files.items() if file.path not in OTHER_REVISION
        )
        newer = team.publish(
            changed_index.folder, "harbour", "b" * 40, kept=unchanged, parts=parts_of(other_index.folder)
        )
        subjects = {
            "newer": Subject("newer", team.reader(newer), other_index),
            "shared": Subject("shared", team.reader(key), workspace_index),
            "older": Subject("older", team.reader(older), other_index),
            "fork": Subject("fork", team.reader(fork), other_index),
        }
        yield team, subjects
        team.store.close()


@pytest.fixture(scope="session")
def shared(shared_store: tuple[TeamStore, dict[str, Subject]]) -> Subject:
    return shared_store[1]["shared"]


@pytest.fixture(scope="session")
def remote(shared: Subject) -> Subject:
    reader = cast(PostgresReader, shared.reader)

    def ask(name: str, given: list[Any]) -> Any:
        return loads(dumps(read(reader, loads(dumps([name, given])))))

    memory = unpacked_catalogue(reader.memory.key.id, packed_catalogue(reader.memory))
    return Subject("remote", RemoteReader.of(ask, memory), shared.index)


@pytest.fixture(params=IMPLEMENTATIONS)
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each implementation in turn. `alone` is only compared with `sqlite`."""
    found: Subject = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["alone", "shared", "remote"])
def snapshot(request: pytest.FixtureRequest) -> Subject:
    """Each snapshot in turn, for comparison with `sqlite`."""
    found: Subject = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def editor(subject: Subject) -> Iterator[OverlaidReader]:
    """Each implementation under an editor without open documents."""
    reader = overlaid(subject)
    yield reader
    reader.overlay.close()
