"""Every chunk gets its vectors in the order of importance, and no text is embedded twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index.index_builders import MadeUpModels, functions, indexed, numbers, small_table, twins

from cairn.embedding.packaged import PackagedModel
from cairn.embedding.shared import SharedModel
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.intake import Intake
from cairn.index.reader.filters import ChunkFilter
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME, PREVIOUS_NAME
from cairn.index.store.deadline import never
from cairn.index.store.meta import static_key
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors import vector_intake as vectors_module
from cairn.index.vectors.vector_intake import StaticIntake, VectorIntake
from cairn.index.vectors.vector_store import VectorStore, Waiting
from cairn.settings.tree import EmbeddingSettings, IndexSettings

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
        self.problems: list[str | None] = []
        self.open_paths: set[str] = set()
        embedded, open_paths = self.progress.embedded_texts, lambda: self.open_paths
        self.vectors = VectorIntake(self.writer, self.models, open_paths, embedded, self.problems.append)
        self.vectors.select_model(SETTINGS)
        self.static = StaticIntake(self.writer, self.models, open_paths)
        self.static.select_table(SETTINGS)

    def write(self, *files: IndexedFile) -> list[int]:
        ids = self.writer.write(files, ())
        self.static.added(ids, SETTINGS)
        self.vectors.put_first(ids)
        return ids

    def step(self, interrupted: Callable[[], bool] = never) -> bool:
        return self.vectors.step(SETTINGS, interrupted, lambda: None)

    def finish(self) -> None:
        while self.step():
            pass

    def finish_static(self, settings: EmbeddingSettings = SETTINGS) -> None:
        while self.static.step(settings):
            pass

    def embedded(self) -> list[str]:
        """Return the files of the embedded texts, in that order."""
        return [text.splitlines()[0].replace(" / ", "/") for text in self.models.embedded]

    def waiting(self) -> int:
        return len(VectorStore(self.writer.db).waiting(self.writer.facts().model_id))

    def without_static(self) -> int:
        return len(VectorStore(self.writer.db).without_static())


def embedded_elsewhere(base: Path, *files: IndexedFile) -> None:
    """Create the index of another folder, with vectors."""
    other = Desk(base / "workspaces" / "other")
    other.write(*files)
    other.finish()
    other.writer.close()


def after(steps: int) -> Callable[[], bool]:
    """Return an `interrupted` that becomes true after this many steps."""
    left = iter([False] * steps)
    return lambda: next(left, True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "workspaces" / "here")
    yield desk
    desk.writer.close()


@pytest.fixture
def static_desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, MadeUpModels(table=small_table()))
    yield desk
    desk.writer.close()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use pages of one chunk, so that the order shows."""
    monkeypatch.setattr(vectors_module, "_PAGE", 1)


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
    desk.vectors.put_first(desk.writer.chunk_ids(["src/d.py"]))
    desk.finish()
    assert desk.embedded() == ["src/a", "src/d", "src/new", "src/b", "src/c"]


def test_interrupted_page_is_embedded_once(desk: Desk) -> None:
    chunks = len(desk.write(functions("src/a.py", 100)))
    assert desk.step(after(1))
    done = len(desk.models.embedded)
    assert 0 < done < chunks
    assert desk.waiting() == desk.writer.facts().queued == chunks - done
    assert desk.step(after(0))
    assert len(desk.models.embedded) == done
    desk.finish()
    assert len(desk.models.embedded) == len(set(desk.models.embedded)) == chunks
    assert desk.waiting() == 0


def test_interrupted_page_keeps_its_place_and_is_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "_PAGE", 20)
    monkeypatch.setattr(vectors_module, "_TEXTS_A_STEP", 8)
    first, second = functions("src/a.py", 20), functions("src/b.py", 20, word="tide")
    desk.write(first, second)
    desk.step(after(1))
    assert (set(desk.embedded()), desk.writer.facts().queued) == ({"src/a"}, desk.waiting())
    desk.step()
    assert desk.embedded().count("src/a") == 20
    assert desk.writer.facts().queued == desk.waiting() == 12


def test_removed_chunks_are_not_embedded(desk: Desk) -> None:
    desk.write(functions("src/a.py", 40), functions("src/b.py", 40, word="tide"))
    desk.step(after(0))
    desk.writer.write((), ["src/b.py"])
    desk.finish()
    assert set(desk.embedded()) == {"src/a"}
    assert (desk.writer.facts().queued, desk.writer.facts().embedded) == (0, 1)


def test_every_text_is_embedded_once(desk: Desk) -> None:
    desk.write(functions("src/a.py", 3), twins("src/b.py"))
    desk.finish()
    done = desk.writer.facts()
    assert (done.embedded, done.queued, desk.progress.queued) == (1, 0, 0)
    assert not desk.step()
    desk.writer.write((), ["src/a.py"])
    desk.write(functions("src/a.py", 3))
    desk.finish()
    assert len(desk.models.embedded) == 4


def test_save_does_not_search_all_chunks_for_missing_vectors(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(functions("src/a.py", 20))
    desk.finish()
    looks: list[int] = []
    waiting = VectorStore.waiting

    def counted(store: VectorStore, model_id: int) -> list[Waiting]:
        looks.append(model_id)
        return waiting(store, model_id)

    monkeypatch.setattr(VectorStore, "waiting", counted)
    for name in "bcd":
        desk.write(indexed(f"src/{name}.py", f"def {name}():\n    pass\n"))
        desk.finish()
    assert looks == []
    assert (desk.waiting(), desk.writer.facts().embedded) == (0, 1)
    desk.vectors.select_model(SETTINGS)  # as the next process does
    desk.write(indexed("src/e.py", "def e():\n    pass\n"))
    looks.clear()
    desk.finish()
    assert looks == []
    assert (desk.waiting(), desk.writer.facts().embedded) == (0, 1)


def test_opening_embedded_files_queues_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "_PAGE", 20)
    desk.write(functions("src/a.py", 40))
    desk.finish()
    desk.vectors.put_first(desk.writer.chunk_ids(["src/a.py"]))
    desk.write(functions("src/b.py", 40, word="tide"))
    desk.step(after(1))
    assert desk.writer.facts().queued == desk.waiting()


def test_progress_counts_the_remaining_chunks(desk: Desk) -> None:
    chunks = len(desk.write(functions("src/a.py", 100)))
    seen: list[int] = []
    while desk.vectors.step(SETTINGS, never, lambda: seen.append(desk.progress.queued)):
        pass
    assert seen == sorted(seen, reverse=True)
    assert chunks > seen[0] > seen[-1] == 0
    assert desk.progress.texts_per_second > 0


def test_vectors_of_other_folders_are_copied(desk: Desk, tmp_path: Path) -> None:
    embedded_elsewhere(tmp_path, functions("src/a.py", 5), twins("src/b.py"))
    desk.write(functions("src/a.py", 6), twins("src/b.py"))
    desk.finish()
    assert len(desk.models.embedded) == 1
    texts = VectorStore(desk.writer.db).texts(numbers(desk.writer.db, "SELECT id FROM chunks"))
    made = MadeUpModels().embed([text.text for text in texts], 0)
    reader = SqliteReader(desk.writer.folder)
    for text, vector in zip(texts, made, strict=True):
        similar = reader.similarities([text.chunk_id], vector, "m@000000000000")
        assert similar[text.chunk_id] == pytest.approx(1, abs=1e-6)


def test_copied_vectors_count_as_embedded(desk: Desk, tmp_path: Path) -> None:
    embedded_elsewhere(tmp_path, twins("src/b.py"))
    desk.write(functions("src/a.py", 6), twins("src/b.py"))
    desk.step(after(0))
    assert desk.writer.facts().queued == desk.waiting() == 6


def test_copied_vectors_are_those_of_the_selected_model(desk: Desk, tmp_path: Path) -> None:
    embedded_elsewhere(tmp_path, functions("src/a.py", 5))
    desk.write(functions("src/b.py", 2))
    desk.step(after(0))
    desk.write(functions("src/a.py", 5))
    desk.models.name = "another"
    desk.vectors.select_model(SETTINGS)
    desk.finish()
    assert len(desk.models.embedded) == 7


def test_vectors_of_the_previous_index_are_copied(tmp_path: Path) -> None:
    folder = tmp_path / "workspaces" / "here"
    old = Desk(folder)
    old.write(functions("src/a.py", 4))
    old.finish()
    old.writer.db.pragma("user_version", 1)
    old.writer.close()
    new = Desk(folder)
    assert (folder / PREVIOUS_NAME).exists()
    new.write(functions("src/a.py", 4))
    new.finish()
    assert new.models.embedded == []
    assert new.waiting() == 0
    assert not (folder / PREVIOUS_NAME).exists()
    assert (folder / DATABASE_NAME).exists()
    new.writer.close()


def test_broken_model_is_reported_and_not_used(desk: Desk) -> None:
    desk.write(functions("src/a.py", 40))
    desk.step(after(1))
    done = len(desk.models.embedded)
    desk.models.broken = True
    assert not desk.step()
    assert not desk.vectors.has_model
    assert desk.problems[-1] == "The model is broken. Install it again."
    assert desk.writer.facts().model_id == 0
    desk.models.broken = False
    desk.vectors.select_model(SETTINGS)
    assert desk.problems[-1] is None
    desk.finish()
    assert len(desk.models.embedded) == len(set(desk.models.embedded)) == 40 > done


def test_nothing_is_embedded_without_a_model(desk: Desk) -> None:
    desk.write(functions("src/a.py", 4))
    desk.models.name = None
    assert not desk.step()
    facts = desk.writer.facts()
    assert (desk.vectors.has_model, facts.model_id, facts.embedded) == (False, 0, 0)
    desk.models.name = "m"
    desk.vectors.select_model(None)
    assert not desk.step()
    assert desk.models.embedded == []


def test_save_gets_static_vectors_immediately(static_desk: Desk) -> None:
    desk = static_desk
    ids = desk.write(
        indexed("a.md", "# Ship\n\nA ship has a rope.\n"), indexed("b.md", "# Tide\n\nThe tide.\n")
    )
    assert desk.writer.facts().static_queued == 0
    query = small_table().embed_int8(["tide"], 8)[0]
    hits = SqliteReader(desk.writer.folder).nearest_static(query, 2, ALL, never)
    assert [hit.chunk_id for hit in hits] == ids[::-1]


def test_save_keeps_the_count_of_missing_static_vectors(
    static_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_module, "_STATIC_AT_ONCE", 10)
    monkeypatch.setattr(vectors_module, "_PAGE", 16)
    desk = static_desk
    desk.write(functions("a.py", 40))
    for number in range(3):
        desk.write(functions(f"b{number}.py", 5))
        assert desk.writer.facts().static_queued == desk.without_static() > 0
        assert desk.static.step(SETTINGS)
        assert desk.writer.facts().static_queued == desk.without_static()
    desk.finish_static()
    facts = desk.writer.facts()
    assert (facts.static_queued, facts.static, desk.without_static()) == (0, 1, 0)
    assert len(numbers(desk.writer.db, f"SELECT rowid FROM {STATIC_TABLE}")) == facts.chunks == 55


def test_next_process_makes_missing_static_vectors(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    VectorStore(writer.db).use_static("small", 8, f"{SETTINGS.code_tokens}/{SETTINGS.text_tokens}")
    writer.write([functions("a.py", 8)], ())
    writer.close()
    desk = Desk(tmp_path, MadeUpModels(table=small_table()))
    desk.write(functions("b.py", 2))
    assert desk.writer.facts().static_queued == 8
    desk.finish_static()
    assert desk.without_static() == 0
    desk.writer.close()


def test_index_is_complete_with_its_announced_static_vectors(tmp_path: Path) -> None:
    class Described(MadeUpModels):
        def packaged(self) -> PackagedModel:
            return DESCRIBED

    models = Described(name=None, table=small_table(DESCRIBED.id, DESCRIBED.dimension))
    desk = Desk(tmp_path, models)
    desk.static.select_table(None)
    desk.static.announce(SETTINGS)
    desk.write(functions("src/a.py", 3))
    desk.writer.note(scanned=1)
    facts = desk.writer.facts()
    assert (facts.has_static, facts.static_queued, facts.complete) == (1, 3, False)
    desk.static.select_table(SETTINGS)
    assert desk.static.step(SETTINGS)
    assert not desk.static.step(SETTINGS)
    facts = desk.writer.facts()
    assert (facts.static_queued, facts.complete) == (0, True)
    assert facts.static_key == static_key(DESCRIBED.id)
    desk.static.announce(None)
    assert desk.writer.facts().complete
    assert not desk.writer.facts().has_static
    desk.writer.close()


def test_other_token_limits_replace_static_vectors(static_desk: Desk) -> None:
    desk = static_desk
    desk.write(functions("src/a.py", 3))
    for tokens in (64, 1):
        settings = EmbeddingSettings(code_tokens=tokens)
        desk.static.select_table(settings)
        desk.finish_static(settings)
        assert (desk.without_static(), desk.writer.facts().static) == (0, 1)
        desk.static.select_table(settings)
        assert desk.writer.facts().static == 1
    desk.static.select_table(SETTINGS)
    assert (desk.without_static(), desk.writer.facts().static) == (3, 0)


def test_no_chunk_waits_without_a_static_table(desk: Desk) -> None:
    desk.write(functions("src/a.py", 3))
    assert not desk.static.step(SETTINGS)
    assert (desk.writer.facts().has_static, desk.writer.facts().static) == (0, 0)


def test_installed_model_and_table_find_text_by_meaning(
    model_data_dir: Path, workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    writer, models = IndexWriter(folder), SharedModel(SETTINGS)
    Intake(workspace, writer, Progress(), never, lambda: None).reconcile(IndexSettings())
    static = StaticIntake(writer, models, lambda: ())
    static.select_table(SETTINGS)
    while static.step(SETTINGS):
        pass
    vectors = VectorIntake(writer, models, lambda: (), lambda *embedded: None, lambda problem: None)
    vectors.select_model(SETTINGS)
    while vectors.step(SETTINGS, never, lambda: None):
        pass
    facts, reader = writer.facts(), SqliteReader(folder)
    assert (facts.embedded, facts.static, facts.queued, facts.static_queued) == (1, 1, 0, 0)

    embedder, table = models.embedder(), models.static_table()
    assert embedder is not None
    assert table is not None
    question = "when does the sea rise"
    near = reader.nearest(embedder.embed_queries([question])[0], embedder.model.id, 1, ALL, never)
    assert reader.chunks([near[0].chunk_id])[near[0].chunk_id].path == "src/harbour/tides.py"
    near = reader.nearest_static(table.embed_int8([question], 64)[0], 3, ALL, never)
    found = {stored.path for stored in reader.chunks(hit.chunk_id for hit in near).values()}
    assert "src/harbour/tides.py" in found

    texts = VectorStore(writer.db).texts(numbers(writer.db, "SELECT id FROM chunks"))
    for text in texts:
        tokens = SETTINGS.code_tokens if text.is_code else SETTINGS.text_tokens
        made = np.asarray(embedder.embed([text.text], tokens)[0])
        stored = reader.similarities([text.chunk_id], made, embedder.model.id)
        assert stored[text.chunk_id] == pytest.approx(1, abs=1e-4)
    writer.close()
