"""Over each reader, unsaved text is found, and the text that it replaces is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject
from tests.index.conformance.workspace import CRANE, TEXTS

from cairn.embedding.static import StaticTable
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries import file_queries, found_words, name_queries, relations
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Deadline, never

ALL, MOST, WEIGHTS = ChunkFilter(), 100, ColumnWeights()
CRANE_PATH, NEW, GONE = "src/harbour/crane.py", "src/harbour/sluice.py", "src/harbour/tide.py"
TYPED = CRANE.replace("class Crane", "class Davit").replace("E4711", "E9999").replace("heavier", "zzheftier")
SLUICE = '''"""The sluice between harbour and river."""

from harbour.crane import Davit


def zzopen_sluice(hour):
    """Open the gates of the sluice, when the levels are equal."""
    return Davit(hour).lift(hour)


def handler(event):
    """Handles an event of the sluice."""
    return zzopen_sluice(event.hour)
'''

Type = Callable[..., None]


@pytest.fixture
def typing(editor: OverlaidReader) -> Type:
    def show(documents: Mapping[str, str] | None = None) -> None:
        every = {CRANE_PATH: TYPED, NEW: SLUICE, GONE: ""} if documents is None else documents
        for path, text in every.items():
            editor.overlay.changed(path, text)
        editor.show_unsaved()

    return show


def paths(reader: OverlaidReader, ids: object) -> list[str]:
    every = [int(each) for each in ids]  # type: ignore[attr-defined]
    outlines = reader.outlines(every)
    assert set(outlines) == set(every)
    assert all((each < 0) == (outlines[each].path in reader.hidden) for each in every)
    return [outlines[each].path for each in every]


def hits(reader: OverlaidReader, found: list) -> list[str]:  # type: ignore[type-arg]
    return paths(reader, [hit.chunk_id for hit in found])


def test_without_open_documents_answers_are_those_of_the_index(
    editor: OverlaidReader, subject: Subject
) -> None:
    editor.show_unsaved()
    assert not editor.has_unsaved
    assert editor.facts() == subject.reader.facts()
    assert editor.page("LICENSE") == subject.reader.page("LICENSE")
    here, there = (each.keywords(["ship"], WEIGHTS, 5, ALL) for each in (editor, subject.reader))
    assert here == there


def test_open_documents_equal_to_their_files_change_nothing(editor: OverlaidReader, typing: Type) -> None:
    typing({CRANE_PATH: CRANE, "README.md": TEXTS["README.md"]})
    assert not editor.has_unsaved
    assert editor.chunk_ids([CRANE_PATH])[CRANE_PATH][0] > 0


def test_unsaved_text_hides_saved_text(editor: OverlaidReader, typing: Type) -> None:
    typing()
    assert set(editor.hidden) == {CRANE_PATH, NEW, GONE}
    assert editor.has_unsaved
    assert [each.chunk.text for each in editor.page(NEW)] == [SLUICE.rstrip("\n")] or editor.page(NEW)
    assert all(each.id < 0 for each in (*editor.page(NEW), *editor.page(CRANE_PATH)))
    assert "class Davit" in editor.page(CRANE_PATH)[0].chunk.text
    assert editor.page(GONE) == []
    assert editor.between(CRANE_PATH, 0, 500) == editor.page(CRANE_PATH)
    assert editor.between(GONE, 0, 500) == []
    ids = editor.chunk_ids([CRANE_PATH, NEW, GONE, "LICENSE"])
    assert set(ids) == {CRANE_PATH, NEW, "LICENSE"}
    assert all(each < 0 for each in (*ids[CRANE_PATH], *ids[NEW]))
    assert editor.neighbours([(GONE, 0)], 5) == {}
    every = [each for found in ids.values() for each in found]
    assert set(editor.chunks(every)) == set(editor.outlines(every)) == set(every)
    assert editor.chunks([-10_000]) == {}


def test_words_of_unsaved_text_are_found(editor: OverlaidReader, typing: Type) -> None:
    typing()
    found = editor.postings({"zzheftier": 0, "davit": 0, "moon": 0, "sluice": 0})
    assert paths(editor, found["zzheftier"].ids) == [CRANE_PATH]
    assert set(paths(editor, found["davit"].ids)) == {CRANE_PATH, NEW}
    assert set(paths(editor, found["sluice"].ids)) == {NEW}
    assert hits(editor, editor.keywords(["zzheftier"], WEIGHTS, 5, ALL)) == [CRANE_PATH]
    assert hits(editor, editor.keywords(["moon"], WEIGHTS, 5, ALL)) == []
    assert editor.absent(["zzheftier", "davit", "sluice", "qqqq"]) == ["qqqq"]
    assert editor.documents(["davit", "sluic"]) == {"davit": 2, "sluic": 1}
    assert editor.is_named("davit")
    assert set(editor.stems_starting("zzheft", Deadline(never))) == {"zzheftier"}
    columns = editor.columns()
    own = np.array(editor.chunk_ids([NEW])[NEW], np.int64)
    assert (columns.files_of(own) < 0).all()
    assert (columns.tokens_of(own) > 0).all()
    best = found_words.find_words(editor, [["sluice"], ["moon"], ["handles"]], MOST).best(MOST)
    assert NEW in paths(editor, best)
    assert GONE not in paths(editor, best)


def test_literals_in_unsaved_text_are_found(editor: OverlaidReader, typing: Type) -> None:
    typing()

    def found(text: str, limit: int = MOST) -> set[str]:
        matches = editor.containing(Literal(text), limit, ALL, Deadline(never))
        return set(paths(editor, [hit.chunk_id for hit in matches.hits]))

    assert found("E9999: cargo exceeds") == {CRANE_PATH}
    assert found("E4711") == set()
    assert found("class Crane") == {"web/src/crane.ts"}
    assert found("zzopen_sluice(event") == {NEW}
    assert GONE not in found("hour")
    first = editor.chunk_ids([NEW])[NEW]
    matches = editor.containing(Literal("sluice"), 0, ALL, Deadline(never), first)
    assert {hit.chunk_id for hit in matches.hits} == set(first)


def test_names_of_unsaved_text_are_defined(editor: OverlaidReader, typing: Type) -> None:
    typing()
    assert set(hits(editor, editor.defining(["Davit", "zzopen_sluice"], MOST, ALL))) == {CRANE_PATH, NEW}
    assert hits(editor, editor.defining(["tide_level"], MOST, ALL)) == []
    assert hits(editor, editor.defining(["Crane"], MOST, ALL)) == ["web/src/crane.ts"]
    assert hits(editor, editor.members("Davit", ["lift"], MOST, ALL)) == [CRANE_PATH]
    handlers = {each.path for each in editor.definitions(["handler"], MOST, MOST)}
    others = {"src/harbour/berth.py", "legacy/berth.py", "web/src/client.ts", "fleet/main.go"}
    assert handlers == {*others, CRANE_PATH, NEW}
    cranes = {each.path for each in editor.definitions_of(["Crane", "Davit"], MOST)}
    assert cranes == {"web/src/crane.ts", CRANE_PATH}
    assert editor.names_matching("davit", "") == ["Davit"]
    assert name_queries.names_like(editor, "zzopen") == ["zzopen_sluice"]
    own = editor.chunk_ids([NEW])[NEW]
    assert {outline.path for outline in editor.outlines(own).values()} == {NEW}
    assert set(editor.outlines(own)) == set(own)


def test_symbol_tables_of_unsaved_text_are_read(editor: OverlaidReader, typing: Type) -> None:
    typing()
    (number, path), (other, _) = editor.symbols_at([NEW, "native/winch.c"])[::-1]
    assert (path, number < 0 < other) == (NEW, True)
    assert editor.symbol_tables([number])[number].language == "python"
    assert {path for _, path in editor.symbols_with_words(["=Davit"], MOST)} == {CRANE_PATH}
    assert {path for _, path in editor.symbols_with_words(["=tide_level"], MOST)} == set()
    graph = ReferenceGraph(editor)
    (davit,) = graph.named("Davit.lift")
    assert {edge.path for edge in graph.callers([davit], MOST).found} >= {NEW}
    assert graph.named("tide_level") == []


def test_vectors_of_unsaved_text_are_compared(
    editor: OverlaidReader, typing: Type, table: StaticTable
) -> None:
    typing()
    vector = table.embed_queries_int8(["open the gates of the sluice between harbour and river"])[0]
    found = editor.nearest_static(vector, 3, ALL)
    assert NEW in hits(editor, found)
    every = editor.nearest_static(vector, 200, ALL)
    assert GONE not in hits(editor, every)
    own = editor.chunk_ids([NEW, CRANE_PATH])
    ids = [each for found in own.values() for each in found]
    assert set(editor.static_similarities(ids, vector)) == set(ids)
    known, rows = editor.static_vectors([*ids, 10_000_000, -10_000])
    assert set(known.tolist()) == set(ids)
    assert len(rows) == len(ids)
    assert relations.passage_vector(editor, ids).static is not None


def test_filters_apply_to_unsaved_text(editor: OverlaidReader, typing: Type) -> None:
    typing()
    python = editor.admitted(ChunkFilter(languages=("python",), paths=("src/harbour/",)))
    assert python is not None
    assert (np.diff(python) > 0).all()
    own = [each for found in editor.chunk_ids([NEW, CRANE_PATH]).values() for each in found]
    assert set(own) <= set(python.tolist())
    passing = found_words.passing_chunks(editor, ChunkFilter(paths=("src/harbour/",)))
    assert passing is not None
    assert not set(paths(editor, passing)) & {GONE}
    go = ChunkFilter(languages=("go",))
    assert hits(editor, editor.keywords(["sluice"], WEIGHTS, MOST, go)) == []
    assert hits(editor, editor.defining(["handler"], MOST, go)) == ["fleet/main.go"]
    assert editor.containing(Literal("E9999"), MOST, go, Deadline(never)).hits == ()
    assert NEW in paths(editor, editor.leading_chunks([NEW, GONE, "LICENSE"], 1, ALL))
    assert GONE not in paths(editor, editor.leading_chunks([NEW, GONE, "LICENSE"], 1, ALL))


def test_hidden_chunks_do_not_count_towards_limits(
    editor: OverlaidReader, typing: Type, subject: Subject
) -> None:
    """Hide the best saved chunks by unsaved text without the words."""
    saved = subject.reader
    ranked = [hit.chunk_id for hit in saved.defining(["handler"], MOST, ALL)]
    order = [subject.place(chunk)[0] for chunk in ranked]
    typing(dict.fromkeys(order[:4], "x = 1\n"))
    assert hits(editor, editor.defining(["handler"], 2, ALL)) == order[4:]
    assert {each.path for each in editor.definitions(["handler"], 2, 2)} == set(order[4:])
    typing({path: text for path, text in TEXTS.items() if path in order} | {"src/pilots.py": "x = 1\n"})
    shallow = editor.keywords(["ships", "shallow"], WEIGHTS, 3, ALL)
    assert len(shallow) == 3
    matches = editor.containing(Literal("ships"), 3, ALL, Deadline(never))
    assert len(matches.hits) == 3


def test_hidden_definitions_do_not_make_a_name_too_frequent(editor: OverlaidReader, typing: Type) -> None:
    assert editor.definitions_of(["handler"], 5) == []
    typing({GONE: "x = 1\n"})
    assert {each.path for each in editor.definitions_of(["handler"], 5)} == {CRANE_PATH, "web/src/client.ts"}


def test_limits_apply_to_saved_and_unsaved_text_together(editor: OverlaidReader, typing: Type) -> None:
    typing()
    assert len(editor.defining(["handler"], 3, ALL)) == 3
    assert len(editor.definitions(["handler"], 3, MOST)) == 3
    assert len(editor.definitions(["handler", "lift"], MOST, 2)) == 4
    found = editor.definitions(["lift", "handler"], MOST, MOST)
    assert [each.name.lower() for each in found] == ["lift"] * 2 + ["handler"] * 6


def test_unsaved_text_adds_collections_and_languages(editor: OverlaidReader, typing: Type) -> None:
    typing({"docs/new.md": "# New\n\nText.\n", "scripts/zz.rb": "def zz\n  1\nend\n"})
    assert editor.has_language("ruby")
    assert not editor.saved.has_language("ruby")
    stored = editor.page("scripts/zz.rb")[0]
    assert stored.collection in {each.name for each in editor.stats().collections}


def test_closed_documents_return_to_their_saved_text(
    editor: OverlaidReader, typing: Type, subject: Subject
) -> None:
    typing()
    replaced = editor.chunk_ids([NEW])[NEW]
    for path in (CRANE_PATH, NEW, GONE):
        editor.overlay.closed(path)
    editor.show_unsaved()
    assert not editor.has_unsaved
    assert editor.page(CRANE_PATH) == subject.reader.page(CRANE_PATH)
    assert editor.page(NEW) == []
    assert editor.keywords(["sluice"], WEIGHTS, 5, ALL) == []
    assert {each.path for each in editor.definitions(["tide_level"], MOST, MOST)} == {GONE}
    assert set(editor.chunks(replaced)) in (set(), set(replaced))


def test_file_queries_include_unsaved_files(editor: OverlaidReader, typing: Type) -> None:
    typing()
    assert file_queries.files_by_path(editor, "sluice", MOST) == [NEW]
    assert file_queries.files_at(editor, ["sluice.py"], MOST) == [NEW]
    assert file_queries.files_called(editor, {"sluice"}) == [NEW]
    assert file_queries.has_below(editor, NEW)
    assert "sluice.py" in file_queries.names_in(editor, "src/harbour")
    assert relations.same_stem(editor, "web/sluice.ts") == [NEW]
    imported, _ = relations.imports_around(editor, NEW)
    assert imported == {CRANE_PATH}
    stored = editor.page(NEW)[0]
    assert editor.files_with_chunk(stored.content_hash) == [NEW]
    assert file_queries.file_ids(editor, [NEW]) == {}
    assert not IndexVocabulary([editor]).unknown(["sluice", "davit"])
    assert IndexVocabulary([editor]).documents(["davit"]) == {"davit": 2}


def test_hostile_text_can_be_typed(editor: OverlaidReader, typing: Type) -> None:
    typing({
        "src/nul.py": "x = '\0'\n", "src/surrogate.py": "x = '\ud800 zzlone'\n", "src/long.py": "zz" * 100_000,  # noqa: E501
        "src/quote'\".py": "def zzquote():\n    return \"'\"\n", "src/empty.py": "",
    })  # fmt: skip
    assert len(editor.page("src/nul.py")) == 1
    assert editor.page("src/empty.py") == []
    assert hits(editor, editor.keywords(["zzlone"], WEIGHTS, 5, ALL)) == ["src/surrogate.py"]
    assert hits(editor, editor.defining(["zzquote"], 5, ALL)) == ["src/quote'\".py"]
