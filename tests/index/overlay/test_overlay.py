"""Queries see the unsaved text of open documents in place of the indexed text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.index.index_builders import MadeUpModels
from tests.retrieval import searching

from cairn.chunking.model import content_key
from cairn.embedding.static import StaticTable, entry_type
from cairn.embedding.word_pieces import WordPieces
from cairn.errors import OutOfTimeError
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.intake import Intake
from cairn.index.overlay import overlay as overlay_module
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.queries.file_queries import files_at, files_by_path
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.queries.name_queries import important_names
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import MAX_NEIGHBOURS
from cairn.index.reader.records import ColumnWeights, Hit, StoredChunk
from cairn.index.references.known_symbols import SymbolTables
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import Deadline, ended_by, never
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.settings.tree import EmbeddingSettings, IndexSettings, Settings

ALL = ChunkFilter()
WEIGHTS = ColumnWeights(text=1.0, identifiers=1.0, symbol=2.5)
NAMES = ColumnWeights(text=0.0, identifiers=0.0, symbol=1.0)
MODEL = "m@1"

SHIPS = "def moor_ship(berth):\n    return berth.rope\n"
MEANINGS = ({"ship", "vessel", "boat"}, {"tide", "water", "moon"}, {"crane", "lift", "hoist"})
"""Words that have the same direction in the static table of these tests."""


def small_table(table_id: str = "small") -> StaticTable:
    words = sorted(word for group in MEANINGS for word in group)
    entries = np.zeros(len(words), entry_type(8))
    for axis, group in enumerate(MEANINGS):
        for word in group:
            entries["scale"][words.index(word)] = entries["query_scale"][words.index(word)] = 1 / 127
            entries["vector"][words.index(word), axis] = 127
    return StaticTable(table_id, entries, WordPieces(words))


class Desk:
    """A folder, its index, and an editor with documents open over it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "port"
        self.root.mkdir()
        (base / "data").mkdir()
        self.settings = Settings()
        self.table = small_table()
        self.models = MadeUpModels(None, self.table)
        self.writer = IndexWriter(base / "data")
        self.static = VectorIntake(self.writer, self.models, lambda: ())
        self.static.select(EmbeddingSettings())
        self.intake = Intake(
            self.root,
            self.writer,
            Progress(),
            never,
            lambda: None,
            on_written=lambda ids: self.static.added(ids, self.settings.embedding),
        )
        self.overlay = Overlay(self.root, lambda: self.settings, self.models)
        self.reader = OverlaidReader(SqliteReader(base / "data"), self.overlay)

    def save(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text.encode())

    def index(self) -> None:
        self.intake.reconcile(self.settings.index)
        while self.static.step(self.settings.embedding):
            pass

    def type(self, path: str, text: str) -> None:
        self.overlay.changed(path, text)
        self.reader.show_unsaved()

    def close(self, path: str) -> None:
        self.overlay.closed(path)
        self.reader.show_unsaved()

    def stored(self, hits: list[Hit]) -> list[StoredChunk]:
        stored = self.reader.chunks(hit.chunk_id for hit in hits)
        return [stored[hit.chunk_id] for hit in hits]

    def words(self, *words: str, limit: int = 10, only: ChunkFilter = ALL) -> list[str]:
        return [s.path for s in self.stored(self.reader.keywords(words, WEIGHTS, limit, only))]

    def defining(self, *names: str) -> list[str]:
        return [s.path for s in self.stored(self.reader.defining(names, 10, ALL))]

    def meaning(self, word: str, limit: int = 1, only: ChunkFilter = ALL) -> list[str]:
        vector = self.table.embed_int8([word], 10)[0]
        return [s.path for s in self.stored(self.reader.nearest_static(vector, limit, only))]

    def scores(self, path: str, words: Sequence[str], weights: ColumnWeights) -> list[float]:
        """Return the scores of the chunks of a file, in its order."""
        hits = {hit.chunk_id: hit.score for hit in self.reader.keywords(words, weights, 1_000, ALL)}
        return [hits[stored.id] for stored in self.reader.page(path) if stored.id in hits]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.save("pyproject.toml", '[project]\nname = "port"\n')
    desk.save("ships.py", SHIPS)
    desk.save("guide.md", "# Guide\n\nThe crane will hoist and lift.\n")
    desk.index()
    yield desk
    desk.overlay.close()
    desk.writer.close()


# --- what is found ----------------------------------------------------------------------------------


def test_unsaved_chunks_equal_those_after_a_save(desk: Desk) -> None:
    desk.type("ships.py", "# ropes\n\n" + SHIPS)
    (before,) = desk.reader.page("ships.py")
    desk.save("ships.py", "# ropes\n\n" + SHIPS)
    desk.index()
    desk.reader.show_unsaved()
    (after,) = desk.reader.page("ships.py")
    assert before.id < 0 < after.id
    assert (before.chunk, before.collection, before.kind) == (after.chunk, after.collection, after.kind)
    assert (before.chunk.end_line, before.content_hash) == (4, content_key("# ropes\n\n" + SHIPS))


def test_a_saved_document_stays_unsaved_text_while_the_index_is_older(desk: Desk) -> None:
    desk.type("ships.py", "def unload(): pass\n")
    desk.save("ships.py", "def unload(): pass\n")
    desk.reader.show_unsaved()
    assert desk.defining("unload") == ["ships.py"]
    desk.index()
    desk.reader.show_unsaved()
    assert desk.defining("unload") == ["ships.py"]
    assert desk.overlay.hidden == ()


def test_an_open_document_outlives_changes_of_its_file(desk: Desk) -> None:
    desk.type("ships.py", SHIPS)
    desk.save("ships.py", "def from_another_branch(): pass\n")
    desk.index()
    desk.reader.show_unsaved()
    assert desk.defining("moor_ship") == ["ships.py"]
    assert desk.defining("from_another_branch") == []


def test_every_visible_change_raises_the_generation(desk: Desk) -> None:
    seen = [desk.reader.generation()]
    desk.type("ships.py", SHIPS)
    assert [desk.reader.generation()] == seen
    steps: list[Callable[[], None]] = [
        lambda: desk.type("ships.py", "one\n"),
        lambda: desk.type("ships.py", "two\n"),
        lambda: desk.type("new.md", "# New\n"),
        lambda: desk.close("ships.py"),
        lambda: desk.close("new.md"),
    ]
    for step in steps:
        step()
        seen.append(desk.reader.generation())
    assert seen == sorted(set(seen))


def test_a_new_document_belongs_to_its_project(desk: Desk) -> None:
    desk.save("lib/package.json", '{"name": "winches"}')
    desk.type("lib/src/winch.js", "function winchRope() { return 1 }\n")
    (stored,) = desk.stored(desk.reader.defining(["winchRope"], 1, ALL))
    assert stored.collection == "winches-source"
    assert "winches-source" in [collection.name for collection in desk.reader.stats().collections]
    assert desk.words("winch", only=ChunkFilter(collections=("winches-source",))) == ["lib/src/winch.js"]


def test_new_documents_have_important_names(desk: Desk) -> None:
    desk.type("lamps.py", "def kindle():\n    return 1\n")
    desk.type("ships.py", "def unload():\n    return 1\n")
    found = important_names(desk.reader, 10)
    assert [(name.path, name.name) for name in found] == [("lamps.py", "kindle"), ("ships.py", "unload")]


# --- whole files ------------------------------------------------------------------------------------


def search(desk: Desk, text: str) -> list[str]:
    return [ranked.stored.path for ranked in searching.search([desk.reader], text)]


def test_search_finds_words_of_unsaved_text(desk: Desk) -> None:
    assert search(desk, "where is the lighthouse lit") == []
    desk.type("ships.py", SHIPS + "\n\ndef light(lighthouse):\n    return lighthouse\n")
    assert search(desk, "where is the lighthouse lit") == ["ships.py"]
    desk.close("ships.py")
    assert search(desk, "where is the lighthouse lit") == []


@pytest.mark.parametrize(
    "question",
    ["lamps/lighthouse.py", "lighthouse.py", "the files in lamps/", "how do lamps work", "lighthouse"],
)
def test_search_finds_new_documents_by_path(desk: Desk, question: str) -> None:
    desk.type("lamps/lighthouse.py", "def kindle():\n    return 1\n")
    assert search(desk, question)[:1] == ["lamps/lighthouse.py"]
    desk.close("lamps/lighthouse.py")
    assert "lamps/lighthouse.py" not in search(desk, question)


def test_path_queries_rank_saved_and_unsaved_files_alike(desk: Desk) -> None:
    desk.type("lamps/lighthouse.py", "def kindle():\n    return 1\n")
    desk.type("ships.py", SHIPS + "# changed\n")
    for fragment in ("lamps/lighthouse.py", "ships.py"):
        (found,) = files_at(desk.reader, [fragment], 5)
        assert found == fragment
    assert files_at(desk.reader, ["*.py"], 1) == ["ships.py"]
    assert files_by_path(desk.reader, '"ship" OR "lighthouse"', 5) == [
        "ships.py",
        "lamps/lighthouse.py",
    ]


def test_search_by_path_shows_unsaved_text(desk: Desk) -> None:
    desk.type("ships.py", "def unload():\n    pass\n")
    (ranked,) = searching.search([desk.reader], "ships.py", limit=1)
    assert ranked.stored.chunk.text == "def unload():\n    pass\n"
    desk.type("ships.py", KEY)
    assert search(desk, "ships.py") == []


def test_the_folder_name_stands_for_a_missing_project_name(desk: Desk) -> None:
    (desk.root / "pyproject.toml").unlink()
    desk.type("a/b/c.md", "# Deep\n")
    assert desk.reader.page("a/b/c.md")[0].collection == "port-docs"


# --- excluded files --------------------------------------------------------------------------------

KEY = "-----BEGIN PRIVATE KEY-----\nrope secret\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".env", "SECRET=rope\n"),
        ("deploy/id_rsa", "secret rope\n"),
        ("build.log", "secret rope\n"),
        ("drafts/plan.md", "secret rope\n"),
        ("node_modules/a/b.js", "secret rope\n"),
        ("keys.txt", KEY),
        (".mcp.json", '{"rope": {"API_KEY": "m0untainLake7secret"}}\n'),
        ("linked.md", "secret rope\n"),
    ],
)
def test_excluded_documents_are_never_found(desk: Desk, path: str, text: str) -> None:
    desk.save(".gitignore", "*.log\ndrafts/\n")
    (desk.root / "linked.md").symlink_to(desk.root / "guide.md")
    desk.type(path, text)
    assert desk.words("secret") == []
    assert desk.reader.page(path) == []
    assert desk.words("rope") == ["ships.py"]


@pytest.mark.parametrize("text", [KEY, "rope = 1\n" * 125_001, "rope\0\1\2\3\4\n", "// @generated\nrope()\n"])
def test_content_that_excludes_a_file_hides_its_old_text(desk: Desk, text: str) -> None:
    desk.type("ships.py", text)
    assert desk.words("rope") == []
    assert desk.reader.page("ships.py") == []


def test_an_open_document_with_a_nul_is_found_as_its_saved_file(desk: Desk) -> None:
    text = f"{SHIPS}END = '\0'\ndef cast_off(): pass\n"
    desk.type("ships.py", text)
    shown = text.replace("\0", "\N{SYMBOL FOR NULL}")
    assert desk.defining("cast_off") == ["ships.py"]
    assert desk.overlay.text_of("ships.py") == shown
    desk.save("ships.py", text)
    assert desk.overlay.text_of("ships.py") == shown
    assert desk.defining("cast_off") == ["ships.py"]


def test_documents_beyond_the_size_limit_keep_their_saved_text(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay_module, "MOST_CHARACTERS", 60)
    desk.type("ships.py", "def oldest_change(): pass\n")
    desk.type("guide.md", "# The second change\n")
    desk.type("new.md", "# The newest of the changes\n")
    assert desk.defining("oldest_change", "moor_ship") == ["ships.py"]
    assert sorted(desk.words("change")) == ["guide.md", "new.md"]
    (warning,) = desk.overlay.warnings
    assert "ships.py" in warning
    assert "guide.md" not in warning
    desk.close("guide.md")
    assert desk.defining("oldest_change") == ["ships.py"]
    assert desk.overlay.warnings == ()


# --- limits and scores ------------------------------------------------------------------------------


BODY = "    x = 1\n" * 90


@pytest.mark.parametrize("hidden", [20, MAX_NEIGHBOURS + 20])
def test_many_hidden_chunks_do_not_displace_neighbours(desk: Desk, hidden: int) -> None:
    desk.save("many.py", "".join(f"def moon_{n}():\n    '''moon'''\n{BODY}\n\n" for n in range(hidden)))
    desk.save("few.md", "# Few\n\nmoon crane ship\n")
    desk.index()
    assert len(desk.reader.page("many.py")) >= hidden
    assert desk.meaning("moon")[0] == "many.py"
    desk.type("many.py", "nothing = 1\n")
    assert desk.meaning("moon") == ["few.md"]


def test_unsaved_chunks_score_as_after_a_save(desk: Desk) -> None:
    queries = (
        ["berths"], ["number", "berth"], ["newest word"], ["neverseen"], ["open_berth", "berth"], ["sluice"],
        ["newest", "berth", "neverseen", "missing"],
    )  # fmt: skip
    for n in range(300):
        head = f"def {'berth' if n % 3 else 'crane'}_{n}():\n    '''Number {n} of the newest.'''\n"
        desk.save(f"src/part{n}.py", head + "    pass\n" * (n % 7))
    desk.index()
    text = "def open_berth():\n    '''The newest word of a berth, neverseen.'''\n\n\nclass Sluice:\n    newest = 1\n"  # noqa: E501

    def scores() -> list[list[float]]:
        both = (WEIGHTS, NAMES)
        return [desk.scores("src/part7.py", words, weights) for words in queries for weights in both]

    desk.type("src/part7.py", text)
    unsaved = scores()
    desk.save("src/part7.py", text)
    desk.index()
    desk.close("src/part7.py")
    for before, after in zip(unsaved, scores(), strict=True):
        assert after
        # One of 300 chunks with a word changes its weight by 0.3 %.
        assert before == pytest.approx(after, rel=0.01)


def test_unsaved_chunks_score_like_equal_saved_ones(desk: Desk) -> None:
    for n in range(100):
        topic = "berth" if n % 3 == 1 else "crane"
        desk.save(f"a{n:02}.md", f"# Part {n}\n\nSome words about {topic} {n}.\n")
    desk.index()
    desk.type("a07.md", "# Part 7\n\nSome words about berth 7 !\n")
    unsaved, saved = (desk.scores(path, ["berth"], WEIGHTS) for path in ("a07.md", "a10.md"))
    assert unsaved[0] > 0.5
    assert unsaved == pytest.approx(saved, rel=1e-9)


def test_counting_words_ends_at_the_deadline(desk: Desk) -> None:
    words = [f"berth{n}" for n in range(500)]
    desk.save("berths.md", "# Berths\n\n" + " ".join(words))
    desk.index()
    with pytest.raises(OutOfTimeError), ended_by(Deadline(never, 0.0)):
        desk.reader.statistics(words)
    assert set(desk.reader.statistics(words).frequencies) == {1}


def test_unsaved_text_is_found_without_an_index(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    overlay = Overlay(tmp_path / "root", Settings, MadeUpModels(None, small_table()))
    reader = OverlaidReader(SqliteReader(tmp_path / "no data"), overlay)
    overlay.changed("a.md", "# Sluice\n\nIt opens.\n")
    reader.show_unsaved()
    (hit,) = reader.keywords(["sluice"], WEIGHTS, 5, ALL)
    assert hit.score > 0
    assert reader.chunks([hit.chunk_id])[hit.chunk_id].path == "a.md"
    overlay.close()


# --- vectors ----------------------------------------------------------------------------------------


def test_a_later_static_table_applies_to_unsaved_text(desk: Desk) -> None:
    desk.static.select(None)
    desk.type("ships.py", "'''moon water'''\n")
    assert desk.meaning("tide") == []
    desk.static.select(EmbeddingSettings())
    desk.index()
    desk.reader.show_unsaved()
    assert desk.meaning("tide") == ["ships.py"]


def test_unsaved_text_has_no_vector_beside_another_table(desk: Desk) -> None:
    desk.save("guide.md", "# Tides\n\nmoon and water\n")
    desk.index()
    desk.models.table = small_table("small@2")
    desk.type("ships.py", "# moon water\n")
    ids = {s.path: s.id for path in ("ships.py", "guide.md") for s in desk.reader.page(path)}
    vector = desk.table.embed_queries_int8(["tide"])[0]
    assert set(desk.reader.static_similarities(list(ids.values()), vector)) == {ids["guide.md"]}


# --- robustness -------------------------------------------------------------------------------------


@given(
    text=st.text(st.characters(exclude_characters="\0"), min_size=1)
    | st.sampled_from(["\ud800", "a\udfff\r\nb"])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_contain_any_text_completely(desk: Desk, text: str) -> None:
    desk.type("notes.txt", text)
    shown = "".join(stored.chunk.text for stored in desk.reader.page("notes.txt"))
    storable = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert shown == (storable if text.strip() else "")


def test_threads_see_complete_documents_during_changes(desk: Desk) -> None:
    versions = [
        "".join(f"# Part {part}\n\n{f'Words of rope {version}. ' * 60}\n\n" for part in range(4))
        for version in range(3)
    ]
    done = threading.Event()
    vector = desk.table.embed_int8(["crane"], 10)[0]

    def look() -> list[str]:
        problems = []
        while not done.is_set():
            desk.reader.show_unsaved()
            for _ in range(5):
                page = "".join(stored.chunk.text for stored in desk.reader.page("guide.md"))
                if page not in versions:
                    problems.append(page)
            hits = desk.reader.keywords(["rope", "crane"], WEIGHTS, 20, ALL)
            if not hits:
                problems.append("nothing found")
            desk.reader.chunks(hit.chunk_id for hit in hits)
            desk.reader.nearest_static(vector, 5, ALL)
            desk.reader.static_similarities([hit.chunk_id for hit in hits], vector)
            if SymbolTables(desk.reader).top("crane.py") is None:
                problems.append("no symbols")
        return problems

    desk.type("guide.md", versions[0])
    desk.type("crane.py", SHIPS)
    with ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(look) for _ in range(4)]
        turns = 0
        enough = desk.overlay.generation + 60
        while desk.overlay.generation < enough and not any(future.done() for future in looking):
            turns += 1
            desk.overlay.changed("guide.md", versions[turns % 3])
            desk.overlay.changed("crane.py", SHIPS + f"# {turns}\n")
            if turns % 50 == 0:
                desk.save("ships.py", SHIPS + f"# {turns}\n")
                desk.index()
        done.set()
        assert [problem for future in looking for problem in future.result()] == []


def test_found_chunks_stay_readable_after_a_change(desk: Desk) -> None:
    changes: list[Callable[[], None]] = [
        lambda: desk.type("ships.py", SHIPS + "# lock\n"),
        lambda: desk.close("ships.py"),
    ]
    for change in changes:
        desk.type("ships.py", SHIPS + "# sluice\n")
        hits = desk.reader.keywords(["sluice"], WEIGHTS, 5, ALL)
        change()
        (stored,) = desk.stored(hits)
        assert stored.chunk.text == SHIPS + "# sluice\n"


def test_symbols_stay_readable_after_a_change(desk: Desk) -> None:
    desk.type("ships.py", SHIPS + "# sluice\n")
    ((number, _),) = desk.reader.symbols_at(["ships.py"])
    desk.type("ships.py", SHIPS + "# lock\n")
    ((source, _, ids),) = desk.reader.by_source([number])
    assert source.symbol_tables(ids)


def test_a_closed_overlay_ignores_documents(desk: Desk) -> None:
    desk.type("ships.py", "def unload(): pass\n")
    desk.overlay.close()
    desk.overlay.close()
    desk.type("guide.md", "# Unload\n")
    assert desk.words("unload") == []
    assert desk.defining("moor_ship") == ["ships.py"]


def test_settings_exclude_open_documents(desk: Desk) -> None:
    desk.type("ships.py", "def unload(): pass\n")
    desk.settings = Settings(index=IndexSettings(exclude=("ships.py",)))
    desk.index()
    desk.reader.show_unsaved()
    assert desk.defining("unload", "moor_ship") == []


def test_the_vocabulary_contains_unsaved_words(desk: Desk) -> None:
    vocabulary = IndexVocabulary([desk.reader])
    assert vocabulary.unknown(["lighthouse", "crane"]) == {"lighthouse"}
    desk.type("lamps.py", "def lighthouse():\n    return 1\n")
    assert vocabulary.unknown(["lighthouse", "crane"]) == frozenset()
    assert [known.text for known in vocabulary.near("ligthhouse", 1)] == ["lighthouse"]
    desk.close("lamps.py")
    assert vocabulary.unknown(["lighthouse"]) == {"lighthouse"}
