"""The terms of an index file, as a team's database stores them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.index.postgres import segment as postgres_segment
from cairn.index.postgres.segment import NAMES, OPERATORS, WORDS, Segment
from cairn.index.sqlite.word_memory import PLACES, counted_places
from cairn.index.store.database import DATABASE_NAME, open_reader

Found = dict[str, dict[int, tuple[int, int]]]
CRANE = (
    "class Crane:\n    def lift(self, load):\n        return load->crane(self.load) if load != 0 else crane\n"
)
FILES = {
    "crane.py": CRANE,
    "copy/crane.py": CRANE,
    "tide.py": "def tide_of(moon):\n    return moon * 2\n\n\n"
    "def crane(moon):\n    return crane(moon) == moon\n",
    "docs/port.md": "# Port\n\nThe crane, the crane and the tide. Ünïcode — 水 crane's.\n",
    "empty.py": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("segment")
    indexed = IndexedFolder(base, FILES)
    # Deleted and changed files must leave no terms.
    indexed.save({"tide.py": FILES["tide.py"] + "\n\ndef ebb():\n    return tide_of(1)\n"})
    indexed.save({"gone.py": "def buoy():\n    return buoy\n"})
    (indexed.root / "gone.py").unlink()
    indexed.index()
    indexed.writer.close()
    return base / "data"


@pytest.fixture
def segment(folder: Path) -> Iterator[Segment]:
    opened = Segment(folder)
    yield opened
    opened.close()


def terms(segment: Segment, kind: int) -> Found:
    found: Found = {}
    for batch in segment.terms(kind):
        begin = 0
        for term, end in zip(batch.terms, batch.ends.tolist(), strict=True):
            columns = (batch.ids, batch.counts, batch.names)
            documents, counts, names = (column[begin:end].tolist() for column in columns)
            assert term not in found
            found[term] = dict(zip(documents, zip(counts, names, strict=True), strict=True))
            begin = end
    assert list(found) == sorted(found, key=str.encode)
    return found


@pytest.mark.parametrize("at_once", [1, 7, 1_000_000])
def test_words_are_counted_as_queries_count_them(
    folder: Path, segment: Segment, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(postgres_segment, "_ROWS_AT_ONCE", at_once)
    db = open_reader(folder / DATABASE_NAME)
    assert db is not None
    expected: Found = {}
    for (term,) in db.execute("SELECT term FROM words"):
        postings = counted_places(*next(db.execute(PLACES, (term,))))
        counts = zip(postings.counts.tolist(), postings.names.tolist(), strict=True)
        expected[str(term)] = dict(zip(postings.ids.tolist(), counts, strict=True))
    found = terms(segment, WORDS)
    assert found == expected
    assert sum(count for count, _ in found["crane"].values()) > len(found["crane"]) > 3
    assert "buoi" not in found


@pytest.mark.parametrize("at_once", [1, 1_000_000])
def test_names_have_all_files_that_share_a_symbol_table(
    segment: Segment, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(postgres_segment, "_ROWS_AT_ONCE", at_once)
    paths = {file.id: file.path for file in segment.files()}
    found = {term: {paths[file] for file in files} for term, files in terms(segment, NAMES).items()}
    assert found["=lift"] == {"crane.py", "copy/crane.py"}
    assert found["crane"] == {"crane.py", "copy/crane.py", "tide.py"}
    assert found["=ebb"] == {"tide.py"}
    assert "=buoy" not in found


def test_operators_have_chunks(segment: Segment) -> None:
    chunks, files = segment.chunk_places()
    paths = {file.id: file.path for file in segment.files()}
    path_of = {int(chunk): paths[int(file)] for chunk, file in zip(chunks, files, strict=True)}
    found = [{path_of[chunk] for chunk in documents} for documents in terms(segment, OPERATORS).values()]
    assert {"tide.py"} in found
    assert {"crane.py", "copy/crane.py"} in found
