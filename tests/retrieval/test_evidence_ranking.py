"""A query and its variations are ranked in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.errors import QueryCancelledError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import ended_by
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import EVERYTHING, Ranking
from cairn.retrieval.ranking import rank as rank_all
from cairn.retrieval.scoring import evidence
from cairn.settings.tree import SearchSettings

FILES = {
    "pyproject.toml": '[project]\nname = "port"\n',
    "docs/berths.md": "# Berths\n\nEach berth takes one mooring line and a bollard.\n",
    "docs/tides.md": "# Tides\n\nThe moon pulls the water twice a day.\n",
    "docs/fees.md": "# Fees\n\nThe invoice is paid at the customs house.\n",
    "docs/long.md": "# Log\n\n"
    + "".join(f"## Day {n}\n\n{'The mooring was quiet. ' * 120}\n\n" for n in range(6)),
    "src/port/berth.py": "class Berth:\n    '''One mooring place.'''\n\n    def moor(self, ship):\n        self.ship = ship\n",  # noqa: E501
    "tests/test_berth.py": "def test_mooring():\n    assert Berth().moor(1) is None\n",
}
QUESTION, VARIATION = "how is the mooring done", "customs invoice"


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def rank(
    folder: IndexedFolder, *questions: str, meaning: Meaning | None = None, only: ChunkFilter = EVERYTHING
) -> Ranking:
    queries = [
        evolve(understand(text), for_evidence=True, original_wording=questions[0] if n else "")
        for n, text in enumerate(questions)
    ]
    return rank_all([folder.reader], queries, meaning, SearchSettings(), scoring=evidence, only=only)


def collections(folder: IndexedFolder) -> list[str]:
    return [each.name for each in folder.reader.stats().collections]


def found(
    folder: IndexedFolder,
    ranking: Ranking,
    question: int = 0,
    names: Sequence[str] | None = None,
    limit: int = 50,
    per_file: int = 50,
) -> list[tuple[str, int]]:
    """Return path and position of the best chunks for a query, best first."""
    places = ranking.best(question, collections(folder) if names is None else names, limit, per_file)
    fetched = ranking.fetch(places)
    return [(fetched[place].stored.path, fetched[place].stored.chunk.position) for place in places]


@pytest.mark.parametrize("by_meaning", [False, True])
def test_variations_add_results_and_keep_the_first(folder: IndexedFolder, by_meaning: bool) -> None:
    meaning = Meaning(folder.models.table) if by_meaning else None
    alone = rank(folder, QUESTION, meaning=meaning)
    varied = rank(folder, QUESTION, VARIATION, "water of the moon", meaning=meaning)
    own = found(folder, alone)
    assert own
    assert by_meaning or "docs/fees.md" not in dict(own)  # any two texts are somewhat similar
    assert found(folder, varied)[0] == own[0]
    assert found(folder, varied, 1)[0][0] == "docs/fees.md"
    assert found(folder, varied, 2)[0][0] == "docs/tides.md"
    # A chunk that only the question found does not answer a variation.
    assert by_meaning or own[0] not in found(folder, varied, 1)
    assert varied.values.shape == (3, len(varied.candidates.outlines))
    assert (varied.values >= 0).all()


def test_a_variation_never_outweighs_the_question(folder: IndexedFolder) -> None:
    ranking = rank(folder, QUESTION, "mooring")
    assert (ranking.values[1] <= ranking.values[0]).all()
    assert ranking.values[1].any()


def test_ranking_is_repeatable(folder: IndexedFolder) -> None:
    first, second = (rank(folder, QUESTION, VARIATION) for _ in range(2))
    assert np.array_equal(first.values, second.values)
    assert found(folder, first, 1) == found(folder, second, 1)


def test_only_the_given_collections_are_found(folder: IndexedFolder) -> None:
    ranking = rank(folder, QUESTION, VARIATION)
    everywhere = found(folder, ranking)
    assert {path.split("/")[0] for path, _ in everywhere} == {"docs", "src", "tests"}
    for kind, top in (("port-docs", "docs"), ("port-source", "src"), ("port-tests", "tests")):
        assert found(folder, ranking, names=[kind]) == [
            (path, position) for path, position in everywhere if path.startswith(f"{top}/")
        ]
    assert found(folder, ranking, names=["port-docs", "port-source", "port-tests"]) == everywhere
    assert found(folder, ranking, names=[]) == found(folder, ranking, names=["no-such"]) == []


def test_limits_keep_the_best_chunks_of_each_file(folder: IndexedFolder) -> None:
    ranking = rank(folder, QUESTION)
    every = found(folder, ranking)
    assert sum(path == "docs/long.md" for path, _ in every) > 2
    for most in (1, 2):
        some = found(folder, ranking, per_file=most)
        assert max(sum(path == each for path, _ in some) for each, _ in some) == most
        assert some[0] == every[0]
        best_of_long = [place for place in every if place[0] == "docs/long.md"][:most]
        assert [place for place in some if place[0] == "docs/long.md"] == best_of_long
    assert found(folder, ranking, limit=3) == every[:3]
    assert found(folder, ranking, limit=0) == []


def test_a_filter_applies_to_all_queries(folder: IndexedFolder) -> None:
    ranking = rank(folder, QUESTION, VARIATION, only=ChunkFilter(collections=("port-source",)))
    assert [path for path, _ in found(folder, ranking)] == ["src/port/berth.py"]
    assert found(folder, ranking, 1) == []


def test_unsaved_text_belongs_to_its_collection(folder: IndexedFolder) -> None:
    folder.type("docs/new.md", "# Mooring buoys\n\nA mooring buoy is done in orange.\n")
    ranking = rank(folder, QUESTION, VARIATION)
    assert "docs/new.md" in dict(found(folder, ranking, names=["port-docs"]))
    assert "docs/new.md" not in dict(found(folder, ranking, names=["port-source"]))


def test_a_deleted_file_is_missing(folder: IndexedFolder) -> None:
    ranking = rank(folder, QUESTION)
    places = ranking.best(0, collections(folder), 50, 50)
    (folder.root / "docs/berths.md").unlink()
    folder.index()
    fetched = ranking.fetch(places)
    assert 0 < len(fetched) < len(places)
    assert "docs/berths.md" not in {each.stored.path for each in fetched.values()}


def test_unknown_words_find_nothing(folder: IndexedFolder) -> None:
    ranking = rank(folder, "xylophone quartet", "zeppelin")
    assert found(folder, ranking) == found(folder, ranking, 1) == []


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_cancelled_request_ends_soon(folder: IndexedFolder, after: int) -> None:
    calls = count()
    queries, meaning = [understand(QUESTION), understand(VARIATION)], Meaning(folder.models.table)
    with pytest.raises(QueryCancelledError), ended_by(lambda: next(calls) >= after):
        rank_all([folder.reader], queries, meaning, SearchSettings(), scoring=evidence)
