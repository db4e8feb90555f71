"""Text is found verbatim: operators, messages, parts of names, in any case or in one case only."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import apsw
import pytest
from attrs import evolve
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.index.index_builders import indexed

from cairn.chunking.model import Chunk, content_key
from cairn.errors import OutOfTimeError, QueryCancelledError
from cairn.index.overlay.overlay import UnsavedReader
from cairn.index.reader.exact import ExactMatches, Literal
from cairn.index.reader.exact import look as look_at
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.reader.word_list import (
    FEW_NEW,
    WordList,
    WordListIntake,
    Words,
    is_of_use,
    read_word_list,
    stable_part,
)
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import Deadline, ended_by, never
from cairn.index.store.keyword_columns import operator_words
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.protocol.search_messages import ChunkType

ALL = ChunkFilter()

FILES = {
    "web/app.ts": "const load = (id) => cache?.[id] ?? fetchItem(id);\nif (a !== b) { run(); }\n",
    "web/plain.ts": "function handle(request) { return request.id == 1; }\n",
    "src/lib.rs": 'let v = iter.collect::<Vec<_>>();\nlet s = "caf\u00e9 au lait";\n',
    "src/io.c": 'fprintf(stderr, "cannot open %s: %d\\n", path, errno);\nint x = a->b;\n',
    "src/server.py": 'def handleRequest(x):\n    return HANDLER["NEAR (a OR b)"] + \'*^"\'\n',
    "src/other.py": "# cannot open the generalizations of relational_hopping\nHANDLEREQUEST = 1\n",
}


def store_words(writer: IndexWriter) -> None:
    """Store the word list, as the indexing thread does after enough changes."""
    intake = WordListIntake(writer.db)
    intake.step()
    while intake._walk is not None:
        intake.step()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    with contextlib.closing(IndexWriter(tmp_path)) as writer:
        yield writer


@pytest.fixture(params=["with a word list", "without"])
def reader(writer: IndexWriter, request: pytest.FixtureRequest) -> IndexReader:
    writer.write([indexed(path, text) for path, text in FILES.items()], ())
    if request.param == "with a word list":
        store_words(writer)
    return SqliteReader(writer.folder)


def look(
    reader: IndexReader,
    literal: str,
    *,
    case: bool = False,
    word: bool = False,
    limit: int = 50,
    only: ChunkFilter = ALL,
    deadline_ms: float = float("inf"),
    cancelled: Callable[[], bool] = never,
    first: Iterable[int] = (),
) -> ExactMatches:
    deadline = Deadline(cancelled, deadline_ms)
    return reader.containing(Literal(literal, case, word), limit, only, deadline, first)


def paths(reader: IndexReader, literal: str, **how: object) -> list[str]:
    found = look(reader, literal, **how)  # type: ignore[arg-type]
    stored = reader.chunks(hit.chunk_id for hit in found.hits)
    return [stored[hit.chunk_id].path for hit in found.hits]


@pytest.mark.parametrize(
    ("literal", "found"),
    [
        ("=>", ["web/app.ts"]),
        ("?.", ["web/app.ts"]),
        ("??", ["web/app.ts"]),
        ("!==", ["web/app.ts"]),
        ("==", ["web/app.ts", "web/plain.ts"]),
        ("::<", ["src/lib.rs"]),
        ("::<Vec<_>>()", ["src/lib.rs"]),
        ("collect::<", ["src/lib.rs"]),
        ("->b", ["src/io.c"]),
        ("%s", ["src/io.c"]),
        ("{ }", []),
        (") {", ["web/app.ts", "web/plain.ts"]),
        (" { ", ["web/app.ts", "web/plain.ts"]),
        ("cannot open %s: %d", ["src/io.c"]),
        ("cannot open", ["src/io.c", "src/other.py"]),
        ('%d\\n", path', ["src/io.c"]),
        ("nnot open %s: %", ["src/io.c"]),
        ("andleRequ", ["src/server.py", "src/other.py"]),
        ("handlerequest", ["src/server.py", "src/other.py"]),
        ("def handleReq", ["src/server.py"]),
        ("ef handleRequest(x)", ["src/server.py"]),
        ("generalizatio", ["src/other.py"]),
        ("eneralization", ["src/other.py"]),
        ("izatio", ["src/other.py"]),
        ("relational_hopp", ["src/other.py"]),
        ("al_hop", ["src/other.py"]),
        ("caf\u00e9 au", ["src/lib.rs"]),
        ("CAF\u00c9", ["src/lib.rs"]),
        ("cafe", []),
        ("NEAR (a OR b)", ["src/server.py"]),
        ('"NEAR', ["src/server.py"]),
        ("'*^\"'", ["src/server.py"]),
        ('open "" %s', []),
        ("a OR b", ["src/server.py"]),
        ("fetchItem(id);\nif (a", ["web/app.ts"]),
        ("open the generalizations of", ["src/other.py"]),
        ("open the generalization of", []),
        ("=>>", []),
        ("handleRequests", []),
        ("x\0y", []),
        ("", []),
        ("  \n", []),
    ],
)
def test_literals_are_found_verbatim(reader: IndexReader, literal: str, found: list[str]) -> None:
    assert sorted(paths(reader, literal)) == sorted(found)


@pytest.mark.parametrize(
    ("literal", "case", "word", "found"),
    [
        ("HANDLEREQUEST", False, False, {"src/other.py": 1.0, "src/server.py": 0.9}),
        ("handleRequest", False, False, {"src/server.py": 1.0, "src/other.py": 0.9}),
        ("handleRequest", True, False, {"src/server.py": 1.0}),
        ("andleRequ", True, False, {"src/server.py": 0.8}),
        ("andleRequ", False, False, {"src/server.py": 0.8, "src/other.py": 0.7}),
        ("andleRequ", False, True, {}),
        ("handle", False, False, {"web/plain.ts": 1.0, "src/server.py": 0.8, "src/other.py": 0.7}),
        ("handle", False, True, {"web/plain.ts": 1.0}),
        ("HANDLE", True, True, {}),
        ("Cannot Open", False, True, {"src/io.c": 0.9, "src/other.py": 0.9}),
        ("Cannot Open", True, False, {}),
        ("relational", False, True, {}),
        ("?.", True, True, {"web/app.ts": 1.0}),
    ],
)
def test_scores_depend_on_case_and_word_boundaries(
    reader: IndexReader, literal: str, case: bool, word: bool, found: dict[str, float]
) -> None:
    hits = look(reader, literal, case=case, word=word).hits
    stored = reader.chunks(hit.chunk_id for hit in hits)
    assert {stored[hit.chunk_id].path: hit.score for hit in hits} == found
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_changes_of_the_index_are_found(writer: IndexWriter, reader: IndexReader) -> None:
    assert paths(reader, "andleRequ", case=True) == ["src/server.py"]
    writer.write([indexed("src/new.py", "def rehandleRequests(): a =>> b\n")], ["src/server.py"])
    assert paths(reader, "andleRequ", case=True) == ["src/new.py"]
    assert paths(reader, "=>>") == ["src/new.py"]
    store_words(writer)
    assert paths(reader, "andleRequ", case=True) == ["src/new.py"]


def test_nothing_is_found_without_an_index(tmp_path: Path) -> None:
    assert look(SqliteReader(tmp_path), "=>") == ExactMatches()


# --- time -------------------------------------------------------------------------------------------


@pytest.fixture
def many(writer: IndexWriter) -> IndexReader:
    """2,000 chunks, of which only the last one has ` }`."""
    chunks = tuple(piece(n, f"word_{n} = [ {n} ]" * 30) for n in range(1_999))
    writer.write([file_of("a.py", (*chunks, piece(1_999, "{ }")))], ())
    return SqliteReader(writer.folder)


def piece(position: int, text: str) -> Chunk:
    return Chunk(position, position, position + 1, text, ChunkType.CODE, "python")


def file_of(path: str, chunks: tuple[Chunk, ...]) -> IndexedFile:
    return IndexedFile(FileRecord(path, 1, 0, content_key(path), "p-source"), "source", True, chunks)


def test_literals_without_proposals_are_searched_everywhere(many: IndexReader) -> None:
    found = look(many, " }")
    assert (len(found.hits), found.cut) == (1, False)


def test_a_passed_deadline_returns_the_hits_so_far(
    many: IndexReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look(many, " }", deadline_ms=0.0)
    assert (found.hits, found.cut) == ((), True)
    first = [hit.chunk_id for hit in look(many, " }").hits]
    clock = itertools.chain([False], itertools.repeat(True))  # the deadline passes after `first`
    monkeypatch.setattr(Deadline, "__call__", lambda _: next(clock))
    assert look(many, "] word", first=first, limit=1_000).cut


def test_keyword_queries_distinguish_timeout_and_cancellation(many: IndexReader) -> None:
    words = [f"word_{n}" for n in range(1_000)]
    with pytest.raises(OutOfTimeError), ended_by(Deadline(never, 0.0)):
        many.keywords(words, ColumnWeights(), 10, ALL)
    with pytest.raises(QueryCancelledError), ended_by(Deadline(lambda: True, 0.0)):
        many.keywords(words, ColumnWeights(), 10, ALL)
    with ended_by(Deadline(never, 60_000.0)):
        assert many.keywords(words, ColumnWeights(), 10, ALL)


# --- any text ---------------------------------------------------------------------------------------

_PIECES = st.one_of(
    st.sampled_from(
        (
            "handleRequest generalizations hopping abilities relational happiness x_y __init__ controllers"
            " flies conflating sensational agreed CamelCaseName 0x1f Stra\u00dfe na\u00efve"
            " \u03a3\u03b1\u03c2 \u65e5\u672c"
        ).split()
    ),
    st.sampled_from(
        ["=>", "?.", "!==", "::<>", "(", ")", "->", ' "', "'", "%s", "\\n", "*", "^", " AND ", " - "]
    ),
    st.sampled_from([" ", "\n", "\t", "  ", "\u00a0", "e\u0301", "\u2014"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4),
)
_TEXTS = st.lists(_PIECES, min_size=1, max_size=12).map("".join).filter(lambda text: len(text.strip()) > 1)


@st.composite
def parts(draw: st.DrawFn) -> tuple[list[str], str]:
    """Draw texts of chunks, and a part of the last one."""
    texts = draw(st.lists(_TEXTS, min_size=1, max_size=4))
    start = draw(st.integers(0, len(texts[-1]) - 2))
    return texts, texts[-1][start : draw(st.integers(start + 2, len(texts[-1])))]


def reader_of(texts: list[str], stored: bool, walked: int | None = None) -> tuple[IndexWriter, IndexReader]:
    """Index these texts; with `stored`, their word list, the words of all but the first `walked` as a second
    list."""
    writer = IndexWriter.in_memory(f"exact-{next(_NAMES)}")
    for first, part in ((0, texts[:walked]), (len(texts[:walked]), texts[len(texts[:walked]) :])):
        chunks = tuple(piece(first + n, text) for n, text in enumerate(part))
        if chunks:
            writer.write([file_of(f"{first}.py", chunks)], ())
            if stored:
                store_words(writer)
    return writer, UnsavedReader(lambda: writer.db, threading.RLock())


_NAMES = itertools.count()


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(parts(), st.booleans(), st.booleans(), st.sampled_from([None, 1]))
@example((["=> handleRequestconflating"], "> handleRequestconflatin"), True, True, None)
@example((["=> handleRequestallowabling"], "> handleRequestallowablin"), True, True, None)
def test_every_part_of_a_text_is_found(
    drawn: tuple[list[str], str], case: bool, stored: bool, walked: int | None
) -> None:
    texts, literal = drawn
    writer, reader = reader_of(texts, stored, walked)
    if stored:  # the list covers all chunks, so that only the list proposes parts of words
        assert read_word_list(writer.db, WordList()).upto == len(texts)
    found = {hit.chunk_id - 1 for hit in look(reader, literal, case=case).hits}
    having = {n for n, text in enumerate(texts) if literal in text}
    if literal.isspace():
        assert not found
    elif case:
        assert found == having
    else:
        assert having <= found
        assert all(literal.casefold() in texts[n].casefold() for n in found)
    writer.db.close(True)


@settings(max_examples=100)
@given(parts().filter(lambda drawn: all(text.isascii() for text in drawn[0])), st.booleans())
def test_whole_words_are_found_like_by_a_regex(drawn: tuple[list[str], str], stored: bool) -> None:
    texts, literal = drawn
    writer, reader = reader_of(texts, stored)
    before = r"(?<!\w)" if re.match(r"\w", literal) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", literal) else ""
    wanted = re.compile(before + re.escape(literal) + after, re.IGNORECASE)
    having = {n for n, text in enumerate(texts) if wanted.search(text)} if literal.strip() else set()
    assert {hit.chunk_id - 1 for hit in look(reader, literal, word=True).hits} == having
    writer.db.close(True)


_UNSPACED = st.lists(
    st.sampled_from(
        "停 靠 规则 船 ﾌ ﾌﾟﾗ プ ー 객 ᄋ\u1175 여 เรื อ ข้า ខ្ម 港 々 a 1 _ . é , \u200b \u2003".split(" ")
    ),
    min_size=1,
    max_size=9,
).map("".join)


@settings(max_examples=400)
@given(st.lists(_UNSPACED, min_size=1, max_size=4), st.data(), st.booleans(), st.booleans())
def test_every_part_of_a_text_without_spaces_is_found(
    texts: list[str], data: st.DataObject, stored: bool, word: bool
) -> None:
    begin = data.draw(st.integers(0, len(texts[0])))
    literal = texts[0][begin : data.draw(st.integers(begin, len(texts[0])))]
    writer, reader = reader_of(texts, stored)
    found = {hit.chunk_id - 1 for hit in look(reader, literal, word=word).hits}
    wanted = Literal(literal, word=word)
    having = {n for n, text in enumerate(texts) if literal.strip() and look_at(wanted, text, 0, 0)}
    assert found == having
    writer.db.close(True)


# --- the word list ----------------------------------------------------------------------------------

_STEMMED = (
    "generalizations relational conditional hopping falling controlling rolling filing sensibilities"
    " happiness electricity hopefulness callousness analogies digitizer conformably radically differently"
    " vileness feudalism decisiveness triplicate formative formalize adjustable irritant replacement"
    " adoption communism effective activate angularity homologous bowdlerize probate rate controllers roll"
    " agreed plastered motoring conflated troubled sized tanned hissing fizzed failing happy sky ponies"
    " ties caresses cats feed bled sing"
).split()


@pytest.mark.parametrize("word", _STEMMED)
def test_any_part_of_a_word_finds_its_stem(word: str) -> None:
    db = apsw.Connection(":memory:")
    tokens = db.fts5_tokenizer("porter", [])(word.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
    stem = str(tokens[0][2])
    words = word_list("\n".join(["", *sorted(("anchor", stem, "zebra")), ""]).encode())
    for start, end in itertools.combinations(range(len(word) + 1), 2):
        part = word[start:end]
        found = words.terms_with(part, begins=start == 0, limit=10)
        assert found is None or stem in found, part
        if len(stable_part(part)) >= 3:
            assert found is not None


def word_list(*texts: bytes) -> WordList:
    return WordList(tuple(Words(upto, text) for upto, text in enumerate(texts, 1)))


def test_short_or_very_common_parts_find_nothing() -> None:
    words = word_list(b"\nanchor\nanchorag\nrope\n", b"\nanchor\n")
    assert words.terms_with("an", begins=True, limit=10) is None
    assert words.terms_with("ancho", begins=True, limit=1) is None
    assert words.terms_with("ncho", begins=False, limit=2) == ["anchor", "anchorag"]
    assert words.terms_with("ncho", begins=True, limit=2) == []
    assert WordList().terms_with("ncho", begins=False, limit=2) is None


def test_the_word_list_is_updated_after_many_changes(writer: IndexWriter) -> None:
    intake = WordListIntake(writer.db)
    assert not intake.is_due
    known = WordList()
    first = 8 * FEW_NEW
    for name, word, count, uptos in [
        ("a.py", "word", first, [first]),
        ("b.py", "term", FEW_NEW + 1, [first, first + FEW_NEW + 1]),
        ("c.py", "name", 2 * FEW_NEW, [first + 3 * FEW_NEW + 1]),  # more than a quarter of all is new
    ]:
        writer.write([file_of(name, tuple(piece(n, f"{word}_{n}") for n in range(count)))], ())
        assert intake.is_due
        assert read_word_list(writer.db, known) is known
        steps = 0
        while intake.is_due:
            intake.step()
            steps += 1
        assert steps > 1
        before, known = known, read_word_list(writer.db, known)
        assert [each.upto for each in known.lists] == uptos
        assert known.terms_with(f"{word[1:]}_77", begins=False, limit=1_000)
        assert known.terms_with("ord_77", begins=False, limit=1_000)
        assert len(known.lists) == 1 or known.lists[0] is before.lists[0], "the list was read again"


def test_the_word_list_is_unused_after_too_many_changes(writer: IndexWriter) -> None:
    writer.write([file_of("a.py", tuple(piece(n, f"word_{n}") for n in range(10)))], ())
    store_words(writer)
    known = read_word_list(writer.db, WordList())
    assert is_of_use(writer.db, known)
    writer.write([file_of("b.py", tuple(piece(n, f"term_{n}") for n in range(2 * FEW_NEW + 1)))], ())
    assert not is_of_use(writer.db, known)


def test_operator_words_are_pairs_of_characters() -> None:
    assert operator_words("a !== b != c") == sorted([b"!=".hex(), b"!==".hex(), b"==".hex()])
    assert operator_words("a + b_c(d)  -") == []
    assert operator_words("f({ })") == operator_words("f({})")
    assert operator_words("\u2192\u2190") == ["\u2192\u2190".encode().hex()]


def test_a_moved_chunk_keeps_its_operators(writer: IndexWriter) -> None:
    one = piece(0, "a =>> b")
    writer.write([file_of("a.py", (one,))], ())
    moved = file_of("a.py", (piece(0, "new"), evolve(one, position=1)))
    writer.write([evolve(moved, record=evolve(moved.record, content_hash=content_key("new")))], ())
    assert [hit.chunk_id for hit in look(SqliteReader(writer.folder), "=>>").hits] == [1]
