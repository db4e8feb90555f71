"""Every chunk gets its vector in the order of importance, and no chunk is embedded twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.index.index_builders import MadeUpModels, functions, indexed, numbers, small_table

from cairn.embedding.packaged import PackagedModel
from cairn.index.indexing.folder_state import Progress
from cairn.index.reader.filters import ChunkFilter
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.meta import static_key
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors import vector_intake as vectors_module
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.index.vectors.vector_store import StaticRecipe, VectorStore, Waiting
from cairn.settings.tree import EmbeddingSettings

SETTINGS = EmbeddingSettings()
ALL = ChunkFilter()
DESCRIBED = PackagedModel("small", Path(), 8, "0" * 64)


class Desk:
    """An index and the objects that make its vectors."""

    def __init__(self, folder: Path, models: MadeUpModels | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.writer = IndexWriter(folder)
        self.models = models or MadeUpModels()
        self.progress = Progress()
        self.open_paths: set[str] = set()
        self.vectors = VectorIntake(
            self.writer, self.models, lambda: self.open_paths, self.progress.embedded_texts
        )
        self.vectors.select(SETTINGS)

    def write(self, *files: IndexedFile) -> list[int]:
        ids = self.writer.write(files, ())
        self.vectors.added(ids, SETTINGS)
        return ids

    def step(self) -> bool:
        return self.vectors.step(SETTINGS)

    def finish(self, settings: EmbeddingSettings = SETTINGS) -> None:
        while self.vectors.step(settings):
            pass

    def embedded(self) -> list[str]:
        """Return the files of the embedded texts, in that order."""
        return [text.splitlines()[0].replace(" / ", "/") for text in self.models.embedded]

    def waiting(self) -> int:
        return len(VectorStore(self.writer.db).without_static())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with a user's own model."""
    desk = Desk(tmp_path)
    yield desk
    desk.writer.close()


@pytest.fixture
def fast_desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with a table."""
    desk = Desk(tmp_path, MadeUpModels(None, small_table()))
    yield desk
    desk.writer.close()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use pages of one chunk, so that the order shows."""
    monkeypatch.setattr(vectors_module, "_SLOW_PAGE", 1)


# --- a user's own model ------------------------------------------------------------------------------


def test_open_files_and_entry_points_are_embedded_first(desk: Desk, one_by_one: None) -> None:
    desk.open_paths = {"src/open.py"}
    paths = ("tests/ships.py", "src/rest.py", "src/main.py", "src/open.py")
    desk.write(*(indexed(path, "def moor():\n    pass\n") for path in paths))
    desk.finish()
    assert desk.embedded() == ["src/open", "src/main", "src/rest", "tests/ships"]


def test_new_chunks_and_opened_files_move_to_the_front(desk: Desk, one_by_one: None) -> None:
    paths = [f"src/{name}.py" for name in "abcd"]
    desk.write(*(indexed(path, "def moor():\n    pass\n") for path in paths))
    desk.step()
    desk.write(indexed("src/new.py", "def sail():\n    pass\n"))
    desk.vectors.put_first(desk.writer.chunk_ids(["src/a.py", "src/d.py"]))
    desk.finish()
    assert desk.embedded() == ["src/a", "src/d", "src/new", "src/b", "src/c"]
    assert desk.waiting() == 0


def test_slow_model_embeds_a_few_texts_a_step_and_none_twice(desk: Desk) -> None:
    chunks = len(desk.write(functions("src/a.py", 30)))
    assert desk.models.embedded == []
    assert desk.step()
    done = len(desk.models.embedded)
    assert 0 < done < 10
    assert desk.waiting() == desk.writer.facts().static_queued == desk.progress.queued == chunks - done
    desk.finish()
    assert len(desk.models.embedded) == len(set(desk.models.embedded)) == chunks
    facts = desk.writer.facts()
    assert (desk.waiting(), facts.static_queued, facts.static, desk.progress.queued) == (0, 0, 1, 0)
    assert desk.progress.texts_per_second > 0


def test_removed_chunks_are_not_embedded(desk: Desk) -> None:
    desk.write(functions("src/a.py", 40), functions("src/b.py", 40, word="tide"))
    desk.step()
    desk.writer.write((), ["src/b.py"])
    desk.finish()
    assert set(desk.embedded()) == {"src/a"}
    assert (desk.writer.facts().static_queued, desk.writer.facts().static) == (0, 1)


def test_save_does_not_search_all_chunks_for_missing_vectors(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(functions("src/a.py", 20))
    desk.finish()
    looks: list[int] = []
    waiting = VectorStore.without_static

    def counted(store: VectorStore) -> list[Waiting]:
        looks.append(1)
        return waiting(store)

    monkeypatch.setattr(VectorStore, "without_static", counted)
    for name in "bcd":
        desk.write(indexed(f"src/{name}.py", f"def {name}():\n    pass\n"))
        desk.finish()
    desk.vectors.select(SETTINGS)  # as the next process does
    desk.write(indexed("src/e.py", "def e():\n    pass\n"))
    desk.finish()
    assert looks == []
    assert (desk.waiting(), desk.writer.facts().static) == (0, 1)


def test_another_model_embeds_every_chunk_again(desk: Desk) -> None:
    chunks = len(desk.write(functions("src/a.py", 5)))
    desk.finish()
    desk.models.name, desk.models.table = None, small_table()
    desk.vectors.select(SETTINGS)
    assert (desk.vectors.is_slow, desk.waiting(), desk.writer.facts().static) == (False, chunks, 0)
    desk.finish()
    assert (desk.waiting(), desk.writer.facts().static_key) == (0, static_key("small"))


def test_nothing_is_embedded_without_a_model(desk: Desk) -> None:
    desk.write(functions("src/a.py", 4))
    for desk.models.name, settings in ((None, SETTINGS), ("m", None)):
        desk.vectors.select(settings)
        assert not desk.step()
        facts = desk.writer.facts()
        assert (facts.has_static, facts.static, facts.static_queued) == (0, 0, 0)
    assert desk.models.embedded == []


def test_other_processes_make_vectors_only_by_the_code_model(desk: Desk) -> None:
    class Described(MadeUpModels):
        def packaged(self) -> PackagedModel:
            return DESCRIBED

    assert desk.vectors.recipe(SETTINGS) is None
    desk.vectors._models = Described()
    assert desk.vectors.recipe(SETTINGS) is None
    desk.vectors._models = Described(None)
    assert desk.vectors.recipe(SETTINGS) == StaticRecipe(DESCRIBED.folder, SETTINGS)


# --- the code model ----------------------------------------------------------------------------------


def test_save_gets_vectors_immediately(fast_desk: Desk) -> None:
    desk = fast_desk
    ids = desk.write(
        indexed("a.md", "# Ship\n\nA ship has a rope.\n"), indexed("b.md", "# Tide\n\nThe tide.\n")
    )
    assert desk.writer.facts().static_queued == 0
    query = small_table().embed_int8(["tide"], 8)[0]
    hits = SqliteReader(desk.writer.folder).nearest_static(query, 2, ALL)
    assert [hit.chunk_id for hit in hits] == ids[::-1]


def test_save_keeps_the_count_of_missing_vectors(fast_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "_AT_ONCE", 10)
    monkeypatch.setattr(vectors_module, "_PAGE", 16)
    desk = fast_desk
    desk.write(functions("a.py", 40))
    for number in range(3):
        desk.write(functions(f"b{number}.py", 5))
        assert desk.writer.facts().static_queued == desk.waiting() > 0
        assert desk.step()
        assert desk.writer.facts().static_queued == desk.waiting()
    desk.finish()
    facts = desk.writer.facts()
    assert (facts.static_queued, facts.static, desk.waiting()) == (0, 1, 0)
    assert len(numbers(desk.writer.db, f"SELECT rowid FROM {STATIC_TABLE}")) == facts.chunks == 55


def test_next_process_makes_missing_vectors(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    VectorStore(writer.db).use_static("small", 8, f"{SETTINGS.code_tokens}/{SETTINGS.text_tokens}")
    writer.write([functions("a.py", 8)], ())
    writer.close()
    desk = Desk(tmp_path, MadeUpModels(None, small_table()))
    desk.write(functions("b.py", 2))
    assert desk.writer.facts().static_queued == 8
    desk.finish()
    assert desk.waiting() == 0
    desk.writer.close()


def test_index_is_complete_with_its_announced_vectors(tmp_path: Path) -> None:
    class Described(MadeUpModels):
        def packaged(self) -> PackagedModel:
            return DESCRIBED

    models = Described(name=None, table=small_table(DESCRIBED.id, DESCRIBED.dimension))
    desk = Desk(tmp_path, models)
    desk.vectors.select(None)
    desk.vectors.announce(SETTINGS)
    desk.write(functions("src/a.py", 3))
    desk.writer.note(scanned=1)
    facts = desk.writer.facts()
    assert (facts.has_static, facts.static_queued, facts.complete) == (1, 3, False)
    desk.vectors.select(SETTINGS)
    assert desk.step()
    assert not desk.step()
    facts = desk.writer.facts()
    assert (facts.static_queued, facts.complete) == (0, True)
    assert facts.static_key == static_key(DESCRIBED.id)
    desk.vectors.announce(None)
    assert desk.writer.facts().complete
    assert not desk.writer.facts().has_static
    desk.writer.close()


def test_other_token_limits_replace_the_vectors(fast_desk: Desk) -> None:
    desk = fast_desk
    desk.write(functions("src/a.py", 3))
    for tokens in (64, 1):
        settings = EmbeddingSettings(code_tokens=tokens)
        desk.vectors.select(settings)
        desk.finish(settings)
        assert (desk.waiting(), desk.writer.facts().static) == (0, 1)
        desk.vectors.select(settings)
        assert desk.writer.facts().static == 1
    desk.vectors.select(SETTINGS)
    assert (desk.waiting(), desk.writer.facts().static) == (3, 0)
