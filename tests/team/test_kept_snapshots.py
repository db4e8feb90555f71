"""What a process keeps of a snapshot goes with it."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

from tests.team.git_repositories import harbour, index, snapshot_reader
from tests.team.team_server import TeamStore

from cairn.embedding.packaged import load_packaged
from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.meaning import StaticMeaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import SearchSettings


def test_nothing_keeps_a_snapshot_that_is_forgotten(postgres: str, tmp_path: Path) -> None:
    store = TeamStore.prepared(postgres)
    index(store.url, harbour(tmp_path / "harbour"))
    settings = SearchSettings()
    with snapshot_reader(store.url, "harbour", "main") as reader:
        query = understand("moor a ship at a free berth", None, IndexVocabulary([reader]), settings)
        found = rank([reader], [query], StaticMeaning(load_packaged()), settings).results(
            5, settings.diversity
        )
        assert found
        memory = ref(reader.memory)
    del reader, found, query
    gc.collect()
    assert memory() is None
