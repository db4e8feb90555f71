"""Words of a real index are known, and similar spellings are found for typing errors."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.index.index_builders import indexed

from cairn.index.queries import known_words
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import IndexWriter
from cairn.retrieval.query import understand

FILES = {
    "src/workspace_pool.py": "def open_connection(ship):\n    # authentication of a harbour master\n    return 1\n",  # noqa: E501
    "src/sessions.py": 'class SessionStore:\n    """Keeps the categories; serializes sessions."""\n',
    "docs/guide.md": "# Guide\n\nAuthenticate as a serializer stops. Categories are serialized and stopped.\n",  # noqa: E501
    "docs/once.md": "# Other\n\nThe master of mas and the barnacle is alone and stops.\n",
}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the time limit, which reading a range of words may exceed on a busy machine."""
    monkeypatch.setattr(known_words, "_LONGEST_MS", 60_000.0)


@pytest.fixture
def vocabulary(reader: IndexReader) -> IndexVocabulary:
    return IndexVocabulary([reader])


@pytest.mark.parametrize(
    ("text", "corrections"),
    [
        ("explain wrkspace", ("wrkspace → workspace",)),
        ("the wokrspace", ("wokrspace → workspace",)),
        ("the owrkspace", ("owrkspace → workspace",)),
        ("opne conection", ("opne → open", "conection → connection")),
        ("authetication", ("authetication → authentication",)),
        ("authenticatoin", ("authenticatoin → authentication",)),  # the error is behind the stem
        ("categoreis", ("categoreis → categories",)),
        ("stoppped", ("stoppped → stopped",)),
        ("serialzes", ("serialzes → serializes",)),
        ("mastre", ("mastre → master",)),
        ("conectionStore", ("conection → connection",)),
        ("guied", ("guied → guide",)),  # the name of one file
        ("workspcae", ("workspcae → workspace",)),  # no chunk has a word with this beginning
        ("barnacel", ()),  # in one chunk only, and in no name
        ("harbor", ()),  # likewise
        ("workspace sessions", ()),
        ("lighthouse", ()),
        ("opener", ()),  # an inflection of "open"
    ],
)
def test_typing_errors_are_corrected_to_words_of_the_index(
    vocabulary: IndexVocabulary, text: str, corrections: tuple[str, ...]
) -> None:
    assert understand(text, vocabulary=vocabulary).corrections == corrections


def test_corrections_follow_changes_of_the_index(writer: IndexWriter, vocabulary: IndexVocabulary) -> None:
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ()
    writer.write([indexed("src/lighthouse.py", "def lamp():\n    return 1\n")], ())
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ("ligthhouse → lighthouse",)
    writer.write([], ["src/lighthouse.py"])
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ()


def test_words_of_any_index_are_known(vocabulary: IndexVocabulary, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with contextlib.closing(IndexWriter(tmp_path / "other")) as other:
        other.write([indexed("a.md", "# wrkspace\n")], ())
    both = IndexVocabulary([*vocabulary.readers, SqliteReader(other.folder)])
    assert understand("wrkspace", vocabulary=both).corrections == ()
    assert understand("conection", vocabulary=both).corrections == ("conection → connection",)


@pytest.mark.parametrize("content", [None, b"no database" * 1000], ids=["no index", "damaged index"])
def test_nothing_is_corrected_without_a_readable_index(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / DATABASE_NAME).write_bytes(content)
    vocabulary = IndexVocabulary([SqliteReader(tmp_path)])
    assert understand("wrkspace", vocabulary=vocabulary).corrections == ()


@pytest.mark.parametrize("text", ["\ud800wrkspace x", "NEAR( wrkspace", "naïve ção", "0 1 2", "a" * 4_000])
def test_any_text_can_be_corrected(vocabulary: IndexVocabulary, text: str) -> None:
    query = understand(text, vocabulary=vocabulary)
    assert query.corrections in ((), ("wrkspace → workspace",))


def test_slow_ranges_of_words_are_skipped(
    vocabulary: IndexVocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_words, "_LONGEST_MS", 0.0)
    assert understand("authetication", vocabulary=vocabulary).corrections == ()
    assert understand("wrkspace", vocabulary=vocabulary).corrections == ("wrkspace → workspace",)


def test_the_vocabulary_counts_chunks_of_words(vocabulary: IndexVocabulary, writer: IndexWriter) -> None:
    assert vocabulary.chunks() == 4
    counted = vocabulary.documents(["serialize", "stopping", "mas", "sessions", "absent", "más"])
    assert counted == {"serialize": 2, "stopping": 2, "mas": 1, "sessions": 1, "absent": 0, "más": 1}
    writer.write([indexed("docs/more.md", "# More\n\nSerialized sessions.\n")], ())
    assert vocabulary.chunks() == 5
    assert vocabulary.documents(["serialize", "sessions"]) == {"serialize": 3, "sessions": 2}
