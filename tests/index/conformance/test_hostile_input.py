"""Hostile input finds nothing and never makes a reader fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject

from cairn.index.queries import file_queries, found_words, name_queries, relations
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import Deadline, never

ALL = ChunkFilter()

HOSTILE = {
    "quote": "'",
    "double quote": '"',
    "unbalanced": '"""\'\'"',
    "percent": "%%%",
    "underscores": "_%_",
    "backslash": "\\",
    "nul": "qqzz\0zzqq",
    "only nul": "\0",
    "long": "qqzzqq" * 1_500,
    "many words": "qqzz " * 1_000,
    "fts syntax": "NEAR(qqzz zzqq, 2) AND NOT qqzz* OR {text} : ^qqzz",
    "fts column": "symbol_words : qqzz",
    "like": "%qqzz_\\%",
    "glob": "[!a-z]*?qqzz[",
    "regex": "(?<!qqzz)(.*)+$[\\d",
    "sql": "'; DROP TABLE cairn.chunks; --",
    "sql union": "x' UNION SELECT 1 --",
    "placeholder": "%s %(qqzz)s {} {0} :qqzz ?1",
    "json": '["qqzz", 1]',
    "array": '{"qqzz",NULL}',
    "newlines": "\n\r\t\v\f\u2028",
    "emoji": "😀👩‍🚀",
    "bidi": "\u202eqqzz\u202c",
    "combining": "\u0301\u0308",
    "highest": "\U0010ffff",
    "not a character": "\ufffe\uffff",
}

Ask = Callable[[IndexReader, str], object]
QUERIES: dict[str, Ask] = {
    "word_counts": lambda reader, text: max(reader.word_counts([text], 100).matching.values()) > 2,
    "postings": lambda reader, text: [p for p in reader.postings({text: 0}).values() if len(p.ids)],
    "keywords": lambda reader, text: reader.keywords([text], ColumnWeights(), 5, ALL),
    "statistics": lambda reader, text: sum(reader.statistics([text]).frequencies),
    "absent": lambda reader, text: [] if reader.absent([text]) == [text] else "known",
    "documents": lambda reader, text: reader.documents([text]),
    "is_named": lambda reader, text: reader.is_named(text),
    "containing in any case": lambda reader, text: reader.containing(Literal(f"qz{text}zq"), 5, ALL, Deadline(never)).hits,  # noqa: E501
    "containing a word": lambda reader, text: reader.containing(Literal(f"qz{text}zq", True, True), 5, ALL, Deadline(never)).hits,  # noqa: E501
    "paths": lambda reader, text: reader.admitted(ChunkFilter(languages=(text,), collections=(text,))).tolist(),  # type: ignore[union-attr]  # noqa: E501
    "keywords in": lambda reader, text: reader.keywords(["ship"], ColumnWeights(), 5, ChunkFilter(collections=(text,))),  # noqa: E501
    "chunks_in": lambda reader, text: reader.chunks_in([text]).tolist(),
    "leading_chunks": lambda reader, text: reader.leading_chunks([text], 2, ALL),
    "opening_chunks": lambda reader, text: reader.opening_chunks([text], 2, ALL),
    "chunk_ids": lambda reader, text: reader.chunk_ids([text]),
    "neighbours": lambda reader, text: reader.neighbours([(text, 1)], 2),
    "page": lambda reader, text: reader.page(text),
    "between": lambda reader, text: reader.between(text, 0, 10),
    "files_with_chunk": lambda reader, text: reader.files_with_chunk("00" * 16, text or "x"),
    "has_language": lambda reader, text: reader.has_language(text),
    "defining": lambda reader, text: reader.defining([text], 5, ALL),
    "members": lambda reader, text: [*reader.members(text, ["lift"], 5, ALL), *reader.members("Crane", [text], 5, ALL)],  # noqa: E501
    "definitions": lambda reader, text: reader.definitions([text], 5, 5),
    "definitions_of": lambda reader, text: reader.definitions_of([text], 5),
    "symbols_at": lambda reader, text: reader.symbols_at([text]),
    "contents": lambda reader, text: reader.contents([text]),
    "nearest_static in": lambda reader, text: reader.nearest_static(np.ones(256, np.int8), 5, ChunkFilter(languages=(text,))),  # noqa: E501
    "files_at": lambda reader, text: file_queries.files_at(reader, [f"qz{text}"], 5),
    "files_called": lambda reader, text: file_queries.files_called(reader, [text]),
    "has_below": lambda reader, text: file_queries.has_below(reader, f"qz{text}"),
    "names_in": lambda reader, text: file_queries.names_in(reader, f"qz{text}"),
    "in_degrees": lambda reader, text: sum(file_queries.in_degrees(reader, [text]).values()),
    "copies_among": lambda reader, text: file_queries.copies_among(reader, [text]),
    "file_ids": lambda reader, text: file_queries.file_ids(reader, [text]),
    "readme_paths": lambda reader, text: file_queries.readme_paths(reader, [f"qz{text}"]),
    "same_stem": lambda reader, text: relations.same_stem(reader, f"qz{text}"),
    "imports_around": lambda reader, text: [*relations.imports_around(reader, text)[0], *relations.imports_around(reader, text)[1]],  # noqa: E501
    "changed_together": lambda reader, text: relations.changed_together(reader, text),
    "names_like": lambda reader, text: name_queries.names_like(reader, f"qz{text}"),
    "find_words": lambda reader, text: found_words.find_words(reader, [[text]], 100).best(5).tolist(),
    "vocabulary": lambda reader, text: [n for n in IndexVocabulary([reader]).documents([text]).values() if n],
    "named": lambda reader, text: ReferenceGraph(reader).named(f"qz{text}"),
    "at": lambda reader, text: ReferenceGraph(reader).at(text, 0, 0),
    "around": lambda reader, text: ReferenceGraph(reader).around(text, 0),
}  # fmt: skip
"""Queries that find nothing for such a text."""

NUMBERS = (-1, 0, 2**31 - 1, 2**31, 2**40, -(2**40))


@pytest.mark.parametrize("ask", QUERIES.values(), ids=QUERIES.keys())
def test_hostile_text_finds_nothing(subject: Subject, ask: Ask) -> None:
    wrong = {}
    for name, text in HOSTILE.items():
        try:
            found = ask(subject.reader, text)
        except Exception as problem:  # noqa: BLE001 (the test reports all problems at once)
            found = repr(problem)[:300]
        if found:
            wrong[name] = found
    assert wrong == {}


@pytest.mark.parametrize("text", ["qqzz' OR '1'='1", "%", "_", "\\%", "qqzz\0", "\0", '"', "😀"])
def test_hostile_name_patterns_match_nothing(subject: Subject, text: str) -> None:
    names = subject.reader.names_matching("", f"%qqzz{text}%")
    assert names == subject.reader.names_matching(f"qqzz{text}", "") == []
    assert subject.reader.stems_starting(f"qqzz{text}", Deadline(never)) == {}


@pytest.mark.parametrize("number", NUMBERS)
def test_unknown_numbers_find_nothing(subject: Subject, number: int) -> None:
    reader, vector = subject.reader, np.ones(256, np.int8)
    assert reader.chunks([number]) == {}
    assert reader.outlines([number]) == {}
    assert reader.symbol_tables([number]) == {}
    assert reader.static_similarities([number], vector) == {}
    assert len(reader.static_vectors([number])[0]) == 0
    assert reader.neighbours([("LICENSE", number)], 1) in ({}, {("LICENSE", -1): reader.page("LICENSE")})
    assert reader.between("nowhere", number, number) == []
    assert reader.page("LICENSE") == reader.between("LICENSE", -1, max(number, 2**31))


def test_lone_surrogates_find_nothing(subject: Subject) -> None:
    """Fronts replace lone surrogates (`well_formed`). Any that pass must match nothing and break nothing."""
    reader = subject.reader
    assert reader.chunk_ids(["\ud800"]) == {}
    assert reader.contents(["\ud800"]) == {}
    assert reader.defining(["\ud800"], 5, ALL) == []
    assert reader.definitions(["\ud800"], 5, 5) == []
    assert reader.definitions_of(["\ud800"], 5) == []
    assert reader.containing(Literal("qq\ud800"), 5, ALL, Deadline(never)).hits == ()
    assert not reader.has_language("cobol")
