"""A snapshot in a pool with other revisions and a fork shows none of their content."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject, TeamStore
from tests.index.conformance.workspace import OTHER_ONLY, OTHER_WORDS

from cairn.embedding.static import StaticTable
from cairn.index.postgres import snapshot_words as postgres_words
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.snapshot_catalogue import Numbering, read_snapshot
from cairn.index.queries import file_queries, found_words, name_queries
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.references.graph import ReferenceGraph
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import Deadline, never

ALL, MOST = ChunkFilter(), 1_000
NAMES = ("zzquarantineShip", "GantryXylophone", "zzgantrylift", "zztidelevel")


@pytest.fixture(params=["older", "newer", "fork"])
def other(request: pytest.FixtureRequest, shared_store: tuple[TeamStore, dict[str, Subject]]) -> Subject:
    """Other content of the same pool: another revision of the repository, or another repository."""
    return shared_store[1][request.param]


@pytest.fixture(scope="session")
def original(other_index: object) -> IndexReader:
    """The index file from which the others were published."""
    return SqliteReader(other_index.folder)  # type: ignore[attr-defined]


def numbering(subject: Subject) -> Numbering:
    assert isinstance(subject.reader, PostgresReader)
    return subject.reader.memory.chunk_numbers


def strange_ids(shared: Subject, other: Subject) -> list[int]:
    """Return the ids in the pool of the chunks that `other` has and `shared` does not."""
    return sorted({*numbering(other).ids.tolist()} - {*numbering(shared).ids.tolist()})


def test_the_pool_shares_equal_chunks(shared: Subject, other: Subject) -> None:
    assert strange_ids(shared, other)
    assert {*numbering(shared).ids.tolist()} & {*numbering(other).ids.tolist()} - {0}


def test_snapshots_number_their_chunks_by_place(shared: Subject, other: Subject) -> None:
    for subject in (shared, other):
        assert [*subject.ids.values()] == [*range(1, len(subject.ids) + 1)]
        assert [*subject.ids] == sorted(subject.ids)
    assert (np.diff(numbering(shared).ids) < 0).any(), "the pool has another order"


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_words_of_other_revisions_occur_nowhere(shared: Subject, word: str) -> None:
    reader = shared.reader
    assert reader.word_counts([word], MOST).matching == {word: 0}
    assert len(reader.postings({word: 0})[word].ids) == 0
    assert reader.statistics([word]).frequencies == [0]
    assert reader.keywords([word], ColumnWeights(), MOST, ALL) == []
    assert reader.absent([word]) == [word]
    assert reader.documents([word]) == {}
    assert not reader.is_named(word)
    assert reader.containing(Literal(word), MOST, ALL, Deadline(never)).hits == ()
    assert IndexVocabulary([reader]).unknown([word]) == {word}
    assert IndexVocabulary([reader]).documents([word]) == {word: 0}
    assert len(found_words.find_words(reader, [[word]], MOST).best(MOST)) == 0


def test_words_of_other_revisions_are_not_suggested(shared: Subject) -> None:
    assert shared.reader.stems_starting("zz", Deadline(never)) == {}
    assert shared.reader.stems_starting("zymur", Deadline(never)) == {}
    assert shared.reader.stems_starting("", Deadline(never)).keys().isdisjoint(OTHER_WORDS)
    for typed in ("zymrugy", "gantryxylophnoe"):
        assert IndexVocabulary([shared.reader]).near(typed, 2) == []


@pytest.mark.parametrize("name", NAMES)
def test_names_of_other_revisions_are_defined_nowhere(shared: Subject, name: str) -> None:
    reader = shared.reader
    assert reader.defining([name], MOST, ALL) == []
    assert reader.definitions([name], MOST, MOST) == []
    assert reader.definitions_of([name], MOST) == []
    assert reader.members("Crane", [name], MOST, ALL) == reader.members(name, ["lift"], MOST, ALL) == []
    assert reader.names_matching(name[:5], "") == []
    assert name.lower() not in {each.lower() for each in reader.names_matching("", "%%")}
    assert reader.symbols_with_words([f"={name}"], MOST) == []
    assert ReferenceGraph(reader).named(name) == []
    assert name_queries.names_like(reader, name.lower()) == []


def test_other_revisions_do_not_count_towards_limits(shared: Subject, sqlite: Subject) -> None:
    def paths(subject: Subject, limit: int) -> list[str]:
        return sorted(each.path for each in subject.reader.definitions(["Crane", "lift"], 10, limit))

    assert paths(shared, 2) == paths(sqlite, 2)
    assert len(shared.reader.defining(["Crane"], 2, ALL)) == 2
    assert len(shared.reader.definitions_of(["Crane"], 2)) == 2
    members = shared.reader.members("Crane", ["lift"], 2, ALL)
    assert shared.paths(hit.chunk_id for hit in members) == {"src/harbour/crane.py", "web/src/crane.ts"}


def test_files_of_other_revisions_are_missing(shared: Subject, other: Subject) -> None:
    reader = shared.reader
    for path in (OTHER_ONLY, "ferry/src/ferry.ts", "ferry/package.json"):
        assert reader.page(path) == []
        assert reader.contents([path]) == {}
        assert reader.symbols_at([path]) == []
        assert len(reader.chunks_in([path])) == 0
        assert not file_queries.has_below(reader, path)
    assert not reader.has_language("zig")
    assert len(reader.admitted(ChunkFilter(languages=("zig",)))) == 0  # type: ignore[arg-type]
    ferry = {"zzferry-source", "zzferry-config"}
    assert {each.name for each in reader.stats().collections}.isdisjoint(ferry)
    assert {each.name for each in other.reader.stats().collections} >= ferry
    (stored,) = other.reader.page("ferry/package.json")
    assert reader.files_with_chunk(stored.content_hash) == []
    assert reader.facts().chunks == len(shared.ids)


def test_chunks_of_other_revisions_are_unknown(shared: Subject, other: Subject, table: StaticTable) -> None:
    reader, strange = shared.reader, strange_ids(shared, other)
    vector = table.embed_queries_int8(["a crane lifts"])[0]
    own = [*shared.ids.values()]
    every = [*range(-9, max(strange) + 9)]
    assert not numbering(shared).numbers_of(np.array(strange)).any()
    assert [*reader.chunks(every)] == [*reader.outlines(every)] == own
    assert [*reader.static_similarities(every, vector)] == reader.static_vectors(every)[0].tolist() == own
    known = {number for number, _ in reader.symbols_at([path for path, _ in shared.ids])}
    assert {*reader.symbol_tables(every)} == known
    assert np.count_nonzero(reader.columns().files_of(np.array(every, np.int64))) == len(own)


def test_vectors_of_other_revisions_are_not_compared(
    shared: Subject, other: Subject, table: StaticTable
) -> None:
    vector = table.embed_queries_int8(["keeps a ship with zymurgy in quarantine for days"])[0]
    for only in (ALL, ChunkFilter(types=("code",)), ChunkFilter(hidden=("LICENSE",))):
        found = shared.reader.nearest_static(vector, 200, only)
        assert found
        assert OTHER_ONLY not in shared.paths(hit.chunk_id for hit in found)
    found = other.reader.nearest_static(vector, 2, ALL)
    assert OTHER_ONLY in other.paths(hit.chunk_id for hit in found)


def test_other_revisions_have_their_own_content(other: Subject, original: IndexReader) -> None:
    """Compare their answers with those of the index file from which they were made."""
    mine = Subject("original", original, other.index)
    wanted = [*OTHER_WORDS, "ship", "crane", "handler", "e4711", "shallow", "nowhere"]
    assert mine.ids.keys() == other.ids.keys()

    def answers(subject: Subject) -> list[object]:
        reader = subject.reader
        found = reader.postings(dict.fromkeys(wanted, 0))
        exact = reader.containing(Literal("lift"), MOST, ALL, Deadline(never))
        return [
            reader.word_counts(wanted, MOST),
            {word: sorted(subject.places(each.ids)) for word, each in found.items()},
            reader.absent(wanted),
            reader.stems_starting("zz", Deadline(never)),
            sorted(subject.places(hit.chunk_id for hit in reader.defining([*NAMES, "Crane"], MOST, ALL))),
            sorted(each.path for each in reader.definitions_of(["handler"], MOST)),
            [name.lower() for name in reader.names_matching("", "%z%")],
            sorted(subject.places(hit.chunk_id for hit in exact.hits)),
            sorted(path for _, path in reader.symbols_with_words(["=Crane"], MOST)),
            [(each.name, each.files, each.chunks) for each in reader.stats().collections],
            reader.contents(["LICENSE", OTHER_ONLY]),
            [(each.chunk.text, each.collection) for each in reader.page("src/harbour/crane.py")],
        ]  # fmt: skip

    for one, same in zip(answers(mine), answers(other), strict=True):
        assert same == one


def test_readers_without_permission_get_no_snapshot(
    shared_store: tuple[TeamStore, dict[str, Subject]], shared: Subject
) -> None:
    team, _ = shared_store
    reader = shared.reader
    assert isinstance(reader, PostgresReader)
    team.admit("stranger")
    assert team.store.read("stranger", lambda db: read_snapshot(db, reader.memory.key)) is None


def test_frequent_words_count_once_in_each_chunk(
    shared_store: tuple[TeamStore, dict[str, Subject]], monkeypatch: pytest.MonkeyPatch
) -> None:
    team, subjects = shared_store
    reader = subjects["shared"].reader
    assert isinstance(reader, PostgresReader)
    counted = reader.postings({"ship": 0})["ship"]
    assert counted.counts.max() > 1
    for most, counts in (
        (len(counted.ids), counted.counts),
        (len(counted.ids) - 1, np.ones_like(counted.ids)),
    ):
        monkeypatch.setattr(postgres_words, "COUNTED", most)
        found = team.reader(reader.memory.key).postings({"ship": 0})["ship"]
        assert found.ids.tolist() == counted.ids.tolist()
        assert found.counts.tolist() == counts.tolist()


def test_too_many_words_with_a_prefix_are_not_suggested(
    shared: Subject, other: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reader in (shared.reader, other.reader):
        every = reader.stems_starting("", Deadline(never))
        assert [*every] == sorted(every)
        lists = cast(PostgresReader, reader).word_list().lists
        stored = {word for each in lists for word in each.text.split(b"\n")} - {b""}
        monkeypatch.setattr(postgres_words, "_MOST_STARTING", len(stored))
        assert reader.stems_starting("", Deadline(never)) == every
        monkeypatch.setattr(postgres_words, "_MOST_STARTING", len(stored) - 1)
        assert reader.stems_starting("", Deadline(never)) == {}
        monkeypatch.undo()
