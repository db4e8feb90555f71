"""A reader gets the same answers whether or not a pool has forks that the reader may not see."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from attrs import frozen
from click.testing import CliRunner
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR
from tests.postgres import execute
from tests.team.git_repositories import index, many_files
from tests.team.shared_town import still
from tests.team.team_server import own_store

from cairn.chunking.model import content_key
from cairn.cli.team import team
from cairn.engine.runner import answer
from cairn.engine.stored import StoredEngine
from cairn.errors import InvalidRequestError
from cairn.index.postgres.transactions import Store
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights
from cairn.index.remote.messages import ANSWERS, dumps
from cairn.team.garbage import remove_repository
from cairn.team.team_store import OwnedStore
from cairn.team.trial import LocalServer

GUESSED = {"src/harbour/berths_vault.py": "def open_vault(berth):\n    return berth.moor_ship('the guess')\n"}
"""A file that the hidden fork has too, or so the reader of the other repository guesses."""
TOWN = {
    **{path: text for path, text in HARBOUR.items() if path != "pyproject.toml"},
    **many_files(12),
    # A hidden fork of this name must not change this collection.
    "web/package.json": '{"name": "vault"}\n',
    "web/quay.js": "export function moorShip(Ship) {\n  return Ship;\n}\n",
    "docs/tides.md": "# Tides\n\nShips wait for high water before they are moored.\n",
}
SHIPS = ["hoist_3", "moor_ship", "open_vault", "MoorShip", "sail_4"]
PLACE = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 4}}
VAULT = {"uri": "cairn-team:///harbour/src/harbour/berths_vault.py"}
QUERIES: list[tuple[str, Any]] = [
    *(("search", {"query": query, "explain": True, "limit": 30}) for query in (
        "moor a ship", "hoist rope", "ship", "moorship", "high water tides", '"rope * 3"', "anchor vault",
        "who opens the vault", "hoist_", "berhts",
    )),
    ("discover", {"query": "how are ships moored at berths"}),
    *(("references", {"symbol": symbol, "depth": 2}) for symbol in SHIPS),
    ("related", {"textDocument": VAULT, "range": PLACE}),
    ("context", {"textDocument": VAULT, "range": PLACE}),
    ("fetchPage", {"path": "src/harbour/berths_vault.py"}),
    ("collections", {}),
    ("status", {}),
    ("filterCollections", {"query": "ships"}),
    ("expandQueries", {"query": "moor ships"}),
]  # fmt: skip
FORKS = {"hidden": "harbour", "vault": "vault"}
NUMBERS, PATHS = list(range(-2, 80)), sorted(TOWN)
ARGUMENTS: Mapping[str, list[Any]] = {
    "containing": [Literal("ship"), 5, ChunkFilter(), 1e4, []],
    "proposed": [[Literal("ship")], ChunkFilter()],
    "stems_starting": ["s", 1e4],
    "word_counts": [["ship", "rope", "vault"], 99],
    "postings": [{"ship": 0, "rope": 0, "return rope": 0}],
    "keywords": [["ship", "rope", "berth"], ColumnWeights(), 9, ChunkFilter()],
    "statistics": [["ship", "vault"]],
    "admitted": [ChunkFilter(languages=("python",))],
    "definitions": [SHIPS, 50, 2],
    "names_matching": ["m", "moor%"],
    "nearest_static": [np.ones(256, np.int8), 20, ChunkFilter()],
    "symbols_naming": [["ship"], 3],
    "absent": [["ship", "xylophone"]],
    "documents": [["ship", "rope"]],
    "is_named": ["vault"],
    "chunks": [NUMBERS],
    "outlines": [NUMBERS],
    "leading_chunks": [PATHS, 2, ChunkFilter()],
    "opening_chunks": [PATHS, 9, ChunkFilter()],
    "chunk_ids": [PATHS],
    "between": ["src/harbour/berths.py", 2, 9],
    "files_with_chunk": [content_key(TOWN["web/package.json"])],
    "defining": [SHIPS, 9, ChunkFilter()],
    "members": ["Berth", SHIPS, 9, ChunkFilter()],
    "definitions_of": [SHIPS, 3],
    "packed_tables": [NUMBERS],
    "static_similarities": [NUMBERS, np.ones(256, np.int8)],
    "static_vectors": [NUMBERS],
}


@frozen
class Answers:
    """All that a server of a store answers to the reader of the repository `harbour`."""

    methods: list[Any]
    """The answers by index in QUERIES."""
    reads: Mapping[str, bytes]
    catalogue: bytes
    located: Mapping[str, Any]


@pytest.fixture(scope="module")
def worlds(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """The answers in three stores.

    In all but `alone`, a fork was indexed first. `hidden` has the same name at the end of its URL, and
    `vault` has that of a manifest of the repository.
    """
    folder = tmp_path_factory.mktemp("forks")
    own = GitRepository(folder / "own" / "harbour", TOWN)
    forks = {world: own.clone(folder / world / name) for world, name in FORKS.items()}
    for fork in forks.values():
        fork.write({**GUESSED, "src/aaa.py": "def moorship(ship):\n    return ship\n"})
        fork.commit("Nobody may know of this")
    own.write({**GUESSED, "src/harbour/zone.py": "def MOOR_SHIP(rope):\n    return rope\n"})
    commit = own.commit("A guess")
    found: dict[str, Answers] = {}
    for world in ("alone", "hidden", "vault"):
        with own_store(postgres_server, folder) as store:
            if world != "alone":
                index(store.url, forks[world], name="secret")
            read = index(store.url, own, name="harbour").files_read
            shared = world == "hidden"
            assert (read < len(TOWN)) == shared, world
            store.reader("ada", "harbour")
            engine = StoredEngine(Store([store.server_url]))
            found[world] = all_answers(engine, commit)
            engine.stop()
    return found


def all_answers(engine: StoredEngine, commit: str) -> Answers:
    located = engine.locate("ada", [commit])
    assert located is not None
    number = cast(int, located["snapshot"])

    def read(name: str) -> bytes:
        answer = engine.read("ada", number, dumps([name, ARGUMENTS[name]]))
        assert answer is not None
        return answer

    def method(name: str, params: Any) -> Any:
        with engine.asked("ada", "") as asked:
            return still(answer(asked, name, params))

    catalogue = engine.catalogue("ada", number)
    assert catalogue is not None
    return Answers(
        [method(*query) for query in QUERIES],
        {name: read(name) for name in ARGUMENTS},
        zlib.decompress(catalogue),
        located,
    )


def timeless(data: Any) -> bytes:
    """The data without the times at which the repository itself was indexed."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return re.sub(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", b"T", text)


@pytest.mark.parametrize("world", ["hidden", "vault"])
def test_hidden_fork_changes_no_answer(worlds: dict[str, Answers], world: str) -> None:
    every = zip(QUERIES, worlds["alone"].methods, worlds[world].methods, strict=True)
    for query, alone, shared in every:
        assert timeless(shared) == timeless(alone), query


@pytest.mark.parametrize("world", ["hidden", "vault"])
def test_hidden_fork_changes_nothing_that_a_clone_reads(worlds: dict[str, Answers], world: str) -> None:
    alone, shared = worlds["alone"], worlds[world]
    for name in ANSWERS:
        assert shared.reads[name] == alone.reads[name], name
        assert alone.reads[name] not in (b"[]", b'{"map":[]}'), name
    assert timeless(shared.catalogue) == timeless(alone.catalogue)
    for name in alone.located.keys() - {"snapshot"}:
        assert timeless(shared.located[name]) == timeless(alone.located[name])


def test_catalogue_has_no_time_before_the_snapshot(worlds: dict[str, Answers]) -> None:
    for each in worlds.values():
        times = set(re.findall(rb"20\d\d-\d\d-\d\dT[0-9:]{8}\+00:00", each.catalogue))
        assert times == {str(each.located["indexed_at"])[:19].encode() + b"+00:00"}


def test_numbers_of_snapshots_are_random(worlds: dict[str, Answers]) -> None:
    numbers = {cast(int, each.located["snapshot"]) for each in worlds.values()}
    assert len(numbers) == len(worlds)
    assert max(numbers) > 1_000_000


# --- repositories that are apart -------------------------------------------------------------------------


def pools(url: str) -> dict[str, int]:
    rows: Any = execute(url, "SELECT name, pool FROM cairn.repositories")
    return dict(rows)


def test_repository_apart_shares_no_row_with_earlier_and_later_forks(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    first, second, third = (repository.clone(tmp_path / name) for name in ("first", "second", "third"))
    everything = index(store, repository).files
    assert index(store, first, apart=True).files_read == everything
    assert index(store, second).files_read == 0
    assert index(store, third, apart=True).files_read == everything
    found = pools(store)
    assert found["harbour"] == found["second"]
    assert len({*found.values()}) == 3
    first.write({"pier.py": "PIER = 1\n"})
    first.commit("A pier")
    assert index(store, first).files_read == 1, "it stays apart without the option"
    second.git("pull", "--quiet", str(first.folder), "main")
    assert index(store, second).files_read == 1, "the pier is not shared"
    assert index(store, third, apart=True).is_new is False


def test_lone_repository_can_be_set_apart_but_not_one_with_forks(
    store: str, repository: GitRepository, tmp_path: Path
) -> None:
    index(store, repository)
    index(store, repository, apart=True)
    fork, twin = repository.clone(tmp_path / "fork"), repository.clone(tmp_path / "twin")
    assert index(store, fork).files_read == index(store, twin).files == 6
    assert len({*pools(store).values()}) == 2
    with pytest.raises(InvalidRequestError, match=r"cairn team remove fork.*again with --apart"):
        index(store, fork, apart=True)
    remove_repository(store, "fork")
    assert index(store, fork, apart=True).files_read == 6
    assert len({*pools(store).values()}) == 3


def test_command_sets_repositories_apart(store: str, repository: GitRepository) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_STORE_URL", store)
        assert CliRunner().invoke(team, ["index", "--apart", str(repository.folder)]).exit_code == 0
        listed = CliRunner().invoke(team, ["repositories"])
    assert listed.output.strip().endswith("  apart")
    assert OwnedStore(store).repositories()[0].apart
