"""A keyword plan matches rare words first, and stays within its budget of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.indexed_folder import ReaderOf
from tests.retrieval.searching import search

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, KeywordCounts
from cairn.index.store.schema import SCHEMA
from cairn.retrieval.keyword_plan import Count, plan_keywords, quoted_word
from cairn.retrieval.query import Query, understand
from cairn.settings.tree import SearchSettings


def counting(rows: int, **holding: int) -> Count:
    """Count in a table with `rows` rows, in which only the given words occur, so often."""
    known = {quoted_word(word): number for word, number in holding.items()}

    def count(expressions: Sequence[str]) -> KeywordCounts:
        return KeywordCounts(rows, {each: known.get(each, 0) for each in expressions})

    return count


def planned(query: Query, count: Count, budget: int = 100) -> set[str]:
    """Return the planned pieces of `query` without other spellings, which are planned but occur nowhere."""
    pieces = set(plan_keywords(query, count, budget).match.split(" OR "))
    others = {quoted_word(word) for word in query.spellings} - {quoted_word(word) for word in query.terms}
    assert others <= pieces
    return pieces - others


def test_words_without_rows_can_be_dropped() -> None:
    query = understand("moor configuration of a ship")
    holding = counting(200, moor=3, config=2, harbour=1)
    assert plan_keywords(query, holding, 100, absent=False).match == '("config") OR "moor"'
    assert plan_keywords(query, counting(200), 100, absent=False).match == ""
    assert '"ship"' in plan_keywords(query, holding, 100).match


@pytest.mark.parametrize(
    ("text", "holding", "expected"),
    [
        ("moor ship", {"moor": 3, "ship": 5}, {'"moor"', '"ship"'}),
        ("moor ship", {}, {'"moor"', '"ship"'}),  # unsaved text may have them
        ("ship moor", {"moor": 10, "ship": 95}, {'"moor"'}),  # rare ones first
        ("moor ship rope", {"moor": 10, "ship": 95, "rope": 99}, {'"moor"', '("ship" AND "rope")'}),
        ("tide ship rope", {"tide": 99, "ship": 101, "rope": 97}, {'"rope"', '("tide" AND "ship")'}),
        ("tide moor ship rope", {"tide": 99, "moor": 10, "ship": 95, "rope": 97}, {'"moor"', '("ship" AND "rope")'}),  # noqa: E501
        ("ship rope", {"ship": 101, "rope": 101}, {'("ship" AND "rope")'}),
        ("ship", {"ship": 101}, {'"ship"'}),  # at least one word
        ('"the ship"', {"ship": 101}, {'"ship"'}),
        ('"ship"', {"ship": 101}, {'"ship"'}),
        ('rope "ship"', {"ship": 101, "rope": 5}, {'"rope"'}),  # a quoted word counts once
    ],
)  # fmt: skip
def test_rare_words_and_the_two_rarest_others_are_planned(
    text: str, holding: Mapping[str, int], expected: set[str]
) -> None:
    assert planned(understand(text), counting(200, **holding)) == expected


def test_alternatives_stay_with_their_word() -> None:
    query = evolve(understand("rope moor"), alternatives={"rope": ("line", "cable")})
    few = plan_keywords(query, counting(200, rope=10, line=10, cable=10, moor=5), 100)
    assert '("rope" OR "line" OR "cable")' in few.match
    many = plan_keywords(query, counting(200, rope=60, line=60, cable=10, moor=5), 100)
    assert "rope" not in many.match.replace("rope_moor", "").replace("ropemoor", "")
    assert '"moor"' in many.match


def test_a_question_without_words_has_no_plan() -> None:
    plan = plan_keywords(understand(""), counting(200), 100)
    assert (plan.match, plan.possible) == ("", 0.0)


def test_the_possible_score_rises_with_rarity() -> None:
    possible = [
        plan_keywords(understand("moor"), counting(1000, moor=rows), 100).possible for rows in (1, 10, 400)
    ]
    assert possible == sorted(possible, reverse=True)
    assert 0 < possible[-1] < possible[0]


@given(
    holding=st.lists(st.integers(0, 300), min_size=6, max_size=6),
    budget=st.integers(1, 400),
)
def test_a_plan_exceeds_its_budget_only_by_a_single_word(holding: list[int], budget: int) -> None:
    words = ["moor", "ship", "rope", "tide", "berth", "crane"]
    rows = dict(zip(words, holding, strict=True))
    pieces = planned(understand(" ".join(words)), counting(300, **rows), budget)
    alone = [word for word in words if f'"{word}"' in pieces]
    assert sum(rows[word] for word in alone) <= budget or sum(rows[word] > 0 for word in alone) == 1
    left = sorted(rows[word] for word in words if word not in alone)
    assert all(rows[word] <= least for word in alone for least in left)
    (*together,) = (piece for piece in pieces if " AND " in piece)
    assert len(together) == (len(left) > 1)
    if together:
        assert sorted(rows[word] for word in words if f'"{word}"' in together[0]) == left[:2]


# --- planned searches ------------------------------------------------------------------------------

TEXTS = [
    "moor the ship at the berth",
    "a rope and a crane",
    "ship ship ship",
    "ThreadPool thread_pool",
    "E0308 => x ? y",
    "naïve ção 日本",
]


@pytest.fixture(scope="module")
def table() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(SCHEMA)
    for number, text in enumerate(TEXTS, 1):
        db.execute(
            "INSERT INTO chunks_fts(rowid, text, identifiers, symbol_words) VALUES (?, ?, '', '')",
            (number, text),
        )
    return db


def found(db: apsw.Connection, match: str) -> set[int]:
    rows = db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (match,)) if match else ()
    return {int(str(row[0])) for row in rows}


def unplanned(query: Query) -> str:
    words = [word for group in query.groups for word in group]
    return " OR ".join(map(quoted_word, (*words, *query.spellings)))


texts = st.text(max_size=60) | st.lists(
    st.sampled_from([*" ".join(TEXTS).split(), '"', "'", "(", "AND", "NEAR(", "*", "{text}", "\0", "`", "\ud800", ":"]),  # noqa: E501
    max_size=12,
).map(" ".join)  # fmt: skip


@given(text=texts, budget=st.integers(1, 8))
def test_any_text_has_a_valid_and_complete_plan(table: apsw.Connection, text: str, budget: int) -> None:
    query = understand(text)

    def count(expressions: Sequence[str]) -> KeywordCounts:
        return KeywordCounts(len(TEXTS), {each: len(found(table, each)) for each in expressions})

    everything = found(table, unplanned(query))
    assert found(table, plan_keywords(query, count, 10_000).match) == everything
    assert found(table, plan_keywords(query, count, budget).match) <= everything


def test_a_search_finds_the_best_within_its_row_limit(reader_of: ReaderOf) -> None:
    files = {f"src/a{n}.md": f"# Part {n}\n\nThe ship and its rope {n}.\n" for n in range(30)}
    files |= {"src/rare.md": "# Barnacles\n\nA ship.\n", "src/odd.md": "# Odd\n\nA rope.\n"}
    reader = reader_of(files)

    def paths(text: str, rows: int) -> set[str]:
        settings = SearchSettings(keyword_rows=rows)
        return {r.stored.path for r in search([reader], text, settings=settings, limit=50)}

    assert len(paths("barnacles ship", 100)) == 31
    assert paths("barnacles ship", 20) == {"src/rare.md"}
    assert len(paths("barnacles ship rope", 100)) == 32
    assert paths("barnacles ship rope", 20) == {"src/rare.md"}
    assert len(paths("ship rope", 20)) == 31  # at least one word
    weights = ColumnWeights()
    assert len(reader.keywords(["ship"], weights, 100, ChunkFilter())) == 31
