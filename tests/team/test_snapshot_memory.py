"""The memory of a snapshot is freed once no reader uses it."""

from __future__ import annotations

import gc
from weakref import ref

from tests.git_repository import GitRepository
from tests.team.git_repositories import index, snapshot_reader

from cairn.embedding.packaged import load_packaged
from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import SearchSettings


def test_no_cache_keeps_an_evicted_snapshot(store: str, repository: GitRepository) -> None:
    index(store, repository)
    settings = SearchSettings()
    with snapshot_reader(store, "harbour", "main") as reader:
        query = understand("moor a ship at a free berth", None, IndexVocabulary([reader]), settings)
        found = rank([reader], [query], Meaning(load_packaged()), settings).results(5, settings.diversity)
        assert found
        memory = ref(reader.memory)
    del reader, found, query
    gc.collect()
    assert memory() is None
