"""The words of a real index: which it holds, and which are spelled almost like a given one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.index.index_builders import indexed

from cairn.index.queries import known_words
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import IndexWriter
from cairn.retrieval.query import understand

FILES = {
    "src/workspace_pool.py": "def open_connection(ship):\n    # authentication of the harbour master\n    return ship\n",
    "src/sessions.py": 'class SessionStore:\n    """Keeps the categories; serializes sessions."""\n',
    "docs/guide.md": "# Guide\n\nAuthenticate before a serializer stops. Categories are serialized and stopped.\n",
    "docs/once.md": "# Other\n\nThe master of mas and the barnacle is alone and stops.\n",
}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a range of words may take longer than questions wait for it."""
    monkeypatch.setattr(known_words, "_LONGEST_MS", 60_000.0)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    writer.write([indexed(path, text) for path, text in FILES.items()], ())
    yield writer
    writer.close()


@pytest.fixture
def vocabulary(writer: IndexWriter, tmp_path: Path) -> IndexVocabulary:
    return IndexVocabulary([SqliteReader(tmp_path)])


def test_a_word_is_known_in_any_inflection_and_within_identifiers_and_paths(
    vocabulary: IndexVocabulary,
) -> None:
    words = ["session", "connections", "store", "guides", "barnacle", "wrkspace", "connexion", "guides"]
    assert vocabulary.unknown(words) == {"wrkspace", "connexion"}
    assert not vocabulary.unknown([])


@pytest.mark.parametrize(
    ("text", "corrections"),
    [
        ("explain wrkspace", ("wrkspace → workspace",)),
        ("the wokrspace", ("wokrspace → workspace",)),
        ("the owrkspace", ("owrkspace → workspace",)),
        ("opne conection", ("opne → open", "conection → connection")),
        ("authetication", ("authetication → authentication",)),
        ("authenticatoin", ("authenticatoin → authentication",)),  # the error is in what a stem lacks
        ("categoreis", ("categoreis → categories",)),
        ("stoppped", ("stoppped → stopped",)),
        ("serialzes", ("serialzes → serializes",)),
        ("mastre", ("mastre → master",)),
        ("conectionStore", ("conection → connection",)),
        ("guied", ("guied → guide",)),  # the name of one file
        ("workspcae", ("workspcae → workspace",)),  # no chunk has a word that begins like it
        ("barnacel", ()),  # in one chunk only, and nothing is called so
        ("harbor", ()),  # likewise
        ("workspace sessions", ()),
        ("lighthouse", ()),
        ("opener", ()),  # from "open"
    ],
)
def test_typing_errors_are_repaired_to_words_of_the_index(
    vocabulary: IndexVocabulary, text: str, corrections: tuple[str, ...]
) -> None:
    assert understand(text, vocabulary=vocabulary).corrections == corrections


def test_what_is_learned_and_forgotten_is_followed(writer: IndexWriter, vocabulary: IndexVocabulary) -> None:
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ()
    writer.write([indexed("src/lighthouse.py", "def lamp():\n    return 1\n")], ())
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ("ligthhouse → lighthouse",)
    writer.write([], ["src/lighthouse.py"])
    assert understand("ligthhouse", vocabulary=vocabulary).corrections == ()


def test_a_word_of_any_of_several_indexes_is_known(vocabulary: IndexVocabulary, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    writer = IndexWriter(other)
    writer.write([indexed("a.md", "# wrkspace\n")], ())
    writer.close()
    both = IndexVocabulary([*vocabulary.readers, SqliteReader(other)])
    assert understand("wrkspace", vocabulary=both).corrections == ()
    assert understand("conection", vocabulary=both).corrections == ("conection → connection",)


def test_without_an_index_nothing_is_repaired(tmp_path: Path) -> None:
    vocabulary = IndexVocabulary([SqliteReader(tmp_path / "none")])
    assert understand("wrkspace", vocabulary=vocabulary).corrections == ()


def test_a_damaged_index_leaves_the_question_as_it_is(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"no database" * 1000)
    vocabulary = IndexVocabulary([SqliteReader(tmp_path)])
    assert understand("wrkspace", vocabulary=vocabulary).corrections == ()


@pytest.mark.parametrize("text", ["\ud800wrkspace x", "NEAR( wrkspace", "naïve ção", "0 1 2", "a" * 4_000])
def test_any_text_can_be_compared_with_the_words_of_an_index(vocabulary: IndexVocabulary, text: str) -> None:
    query = understand(text, vocabulary=vocabulary)
    assert query.corrections in ((), ("wrkspace → workspace",))


def test_a_range_that_takes_too_long_is_given_up(
    vocabulary: IndexVocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_words, "_LONGEST_MS", 0.0)
    assert understand("authetication", vocabulary=vocabulary).corrections == ()
    assert understand("wrkspace", vocabulary=vocabulary).corrections == ("wrkspace → workspace",)


def test_chunks_that_hold_a_word_are_counted(vocabulary: IndexVocabulary, writer: IndexWriter) -> None:
    assert vocabulary.chunks() == 4
    counted = vocabulary.documents(["serialize", "stopping", "mas", "sessions", "absent", "más"])
    assert counted == {"serialize": 2, "stopping": 2, "mas": 1, "sessions": 1, "absent": 0, "más": 1}
    writer.write([indexed("docs/more.md", "# More\n\nSerialized sessions.\n")], ())
    assert vocabulary.chunks() == 5
    assert vocabulary.documents(["serialize", "sessions"]) == {"serialize": 3, "sessions": 2}
