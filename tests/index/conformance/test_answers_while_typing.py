"""Editors over a snapshot and over the index file answer alike, whatever is typed and from any thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.index.conformance.indexes import Subject, overlaid
from tests.index.conformance.workspace import TEXTS

from cairn.embedding.static import StaticTable
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries import file_queries, found_words, name_queries
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Deadline, never

ALL, MOST = ChunkFilter(), 1_000
PATHS = [path for path in sorted(TEXTS) if path not in ("src/pilots.py", "src/routes.py", "legacy/routes.py")]
WORDS = ("crane", "Crane", "ship", "handler", "zznew", "harbour", "tide_level", "shallow", "lift")
NEW = ("src/zz.py", "web/zz.ts", "docs/zz.md", "zz/zz.rb")

_pieces = st.sampled_from(
    ["", "\n", "def zznew():\n    return 1\n", "class Crane:\n    pass\n", "crane ship harbour\n", "é\u0301 'zz\" %_ \\\n",  # noqa: E501
     "export function handler() { return 1; }\n", "# Zznew\n\nShallow tide.\n", "\0", "x = [" * 5, "```python\nzznew = 1\n```\n"]  # noqa: E501
)  # fmt: skip


@st.composite
def edits(draw: st.DrawFn) -> dict[str, str]:
    """Draw some documents with one part replaced."""
    found = {}
    for path in draw(st.lists(st.sampled_from(PATHS) | st.sampled_from(NEW), max_size=4, unique=True)):
        text = TEXTS.get(path, "")
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, len(text)))
        found[path] = text[:begin] + draw(_pieces) + text[end:]
    return found


def answers(reader: IndexReader, table: StaticTable) -> list[object]:
    """Return a reader's answers without ids."""
    ids = {chunk: path for path, found in reader.chunk_ids([*TEXTS, *NEW]).items() for chunk in found}

    def where(chunks: object) -> list[tuple[str, int]]:
        every = [int(each) for each in chunks]  # type: ignore[attr-defined]
        outlines = reader.outlines(every)
        return sorted((outlines[each].path, outlines[each].position) for each in every)

    scored = found_words.find_words(reader, [[each.lower()] for each in WORDS], MOST)
    best = scored.best(MOST)
    vector = table.embed_queries_int8(["a crane lifts cargo from a ship"])[0]
    similar = reader.static_similarities(ids, vector)
    python = reader.admitted(ChunkFilter(languages=("python",)))
    graph = ReferenceGraph(reader)
    return [
        list(reader.hidden),
        where(ids),
        [[(each.collection, each.chunk) for each in reader.page(path)] for path in (*PATHS, *NEW)],
        {word: where(found.ids) for word, found in reader.postings(dict.fromkeys(WORDS, 0)).items()},
        where(best),
        [round(score, 4) for score in sorted(scored.scores(best).tolist())],
        where(hit.chunk_id for hit in reader.keywords(WORDS, ColumnWeights(), MOST, ALL)),
        [where(hit.chunk_id for hit in reader.containing(Literal(word), MOST, ALL, Deadline(never)).hits) for word in WORDS],  # noqa: E501
        where(hit.chunk_id for hit in reader.defining(WORDS, MOST, ALL)),
        where(hit.chunk_id for hit in reader.members("Crane", WORDS, MOST, ALL)),
        sorted((each.path, each.name) for each in reader.definitions(WORDS, MOST, MOST)),
        sorted((each.path, each.name) for each in reader.definitions_of(WORDS, 3)),
        where(python if python is not None else ids),
        {where([chunk])[0]: round(cosine, 5) for chunk, cosine in similar.items()},
        [round(hit.score, 5) for hit in reader.nearest_static(vector, 30, ALL)],
        sorted(path for _, path in reader.symbols_with_words(["Crane"], MOST)),
        graph.callers(graph.named("lift"), 50),
        sorted(name.lower() for name in name_queries.names_like(reader, "crane")),
        [reader.has_language(language) for language in ("python", "ruby", "markdown")],
        sorted(file_queries.files_by_path(reader, "zz OR crane", MOST)),
        sorted(IndexVocabulary([reader]).unknown([word.lower() for word in WORDS])),
        IndexVocabulary([reader]).documents([word.lower() for word in WORDS]),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def editors(
    sqlite: Subject, alone: Subject, shared: Subject, remote: Subject
) -> Iterator[list[OverlaidReader]]:
    readers = [overlaid(subject) for subject in (sqlite, alone, shared, remote)]
    yield readers
    for reader in readers:
        reader.overlay.close()


@settings(
    max_examples=8,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(typed=edits())
def test_answers_are_the_same_after_any_edits(
    editors: list[OverlaidReader], table: StaticTable, typed: dict[str, str]
) -> None:
    found = []
    for editor in editors:
        for path, text in typed.items():
            editor.overlay.changed(path, text)
        editor.show_unsaved()
        found.append(answers(editor, table))
        for path in typed:
            editor.overlay.closed(path)
    for place, (one, *others) in enumerate(zip(*found, strict=True)):
        for other in others:
            assert other == one, place


def test_answers_are_the_same_from_several_threads(subject: Subject, table: StaticTable) -> None:
    whole = answers(subject.reader, table)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: answers(subject.reader, table), range(8)):
            assert found == whole
