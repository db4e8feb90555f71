"""Search legs find literals, names and similar chunks, side by side and within their deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import FolderOf, ReaderOf
from tests.retrieval.searching import search

from cairn.embedding.packaged import load_packaged
from cairn.errors import ModelError, QueryCancelledError
from cairn.index.queries.found_words import FoundWords, find_words
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import ended_by
from cairn.retrieval import legs
from cairn.retrieval.legs import Legs, literals, reexports
from cairn.retrieval.meaning import Meaning, QueryVector
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import Ranking, rank, wait_for_meaning
from cairn.retrieval.scores import Ranked
from cairn.settings.tree import SearchSettings

FILES = {
    "src/dock.py": "def dock(ship):\n    # dock, dock and dock again: the ship may not leave the dock\n    pass\n",  # noqa: E501
    "src/errors.py": 'WARNING = "may not leave: %s"\n\n\ndef warn():\n    print(WARNING)\n',
    "src/late.py": 'def late():\n    return "May Not Leave: %s"\n',
}


@pytest.fixture
def readers(reader_of: ReaderOf) -> list[IndexReader]:
    return [reader_of(FILES)]


def ask(
    readers: list[IndexReader],
    query: str | Query,
    meaning: Meaning | None = None,
    settings: SearchSettings | None = None,
    **how: Any,
) -> Ranking:
    query = understand(query) if isinstance(query, str) else query
    return rank(readers, [query], meaning, settings or SearchSettings(), **how)


def results(found: Ranking) -> list[Ranked]:
    return found.results(5, SearchSettings().diversity)


def sources(found: Ranking) -> list[tuple[str, str]]:
    return [(ranked.stored.path, ranked.source) for ranked in results(found)]


HURRIED = SearchSettings(leg_deadline_ms=0.0)


@pytest.mark.parametrize("quoted", ['"may not leave: %s"', "“may not leave: %s”"])
def test_each_result_contains_the_quoted_text(readers: list[IndexReader], quoted: str) -> None:
    found = ask(readers, f"ship {quoted}")
    assert sources(found) == [("src/errors.py", "exact"), ("src/late.py", "exact")]
    assert found.legs.remark == ""
    (reason,) = (each for each in results(found)[0].reasons if each.signal == "contains the literal text")
    assert reason.value == 1.0
    assert "exact" in found.timings
    assert found.legs.broken_off == []


def test_text_in_backticks_ranks_first_beside_others(readers: list[IndexReader]) -> None:
    found = sources(ask(readers, "ship `may not leave: %s`"))
    assert found[-1] == ("src/dock.py", "keyword")
    assert {path for path, source in found if source == "exact"} == {"src/errors.py", "src/late.py"}


def test_several_quotes_have_to_be_in_one_file(readers: list[IndexReader]) -> None:
    both = ask(readers, '"may not leave" "print("')
    assert {path for path, _ in sources(both)} == {"src/errors.py"}
    assert "No searched file contains “late” and “print(”." in ask(readers, '"late" "print("').legs.remark


def test_a_common_quote_is_found_beside_a_rare_one(reader_of: ReaderOf) -> None:
    body = "    hoist('the next load of cargo onto the quay')\n" * 40
    rare, common = (
        f"def of(ship):\n    return '{text}'\n{body}" for text in ("floating crane", "tide table")
    )
    both = f"{rare}\n\n{common}"
    others = {f"src/a{n}.py": "def tide():\n    return 'tide table'\n" for n in range(20)}
    reader = reader_of({**others, "src/z.py": both})
    found = ask([reader], '"tide table" "floating crane"', settings=SearchSettings(candidates=2))
    assert {path for path, _ in sources(found)} == {"src/z.py"}
    assert found.legs.remark == ""


def test_a_quote_that_occurs_nowhere_is_named(readers: list[IndexReader]) -> None:
    found = ask(readers, 'ship "may not leave: 17"')
    assert (
        found.legs.remark
        == "No searched file contains “may not leave: 17”. The results only match parts of it."
    )
    assert ("src/dock.py", "keyword") in sources(found)


def test_quotes_of_evidence_are_only_preferred(readers: list[IndexReader]) -> None:
    query = evolve(understand('when may a ship leave the dock: "may not leave: %s"'), for_evidence=True)
    assert {path for path, _ in sources(ask(readers, query))} == set(FILES)


def test_case_or_word_makes_the_whole_query_a_literal(readers: list[IndexReader]) -> None:
    assert ("src/late.py", "exact") not in sources(ask(readers, "may not leave: %s", case=True))
    assert sources(ask(readers, "may not leave: %s", case=True))[0] == ("src/errors.py", "exact")
    assert sources(ask(readers, "eave: %s", word=True)) == []
    assert "exact" not in ask(readers, "may not leave").timings
    assert sources(ask(readers, "may not leave", case=True))[0][1] == "exact"


@pytest.mark.parametrize(("part", "path"), [("ARNIN", "src/errors.py"), ("ship):", "src/dock.py")])
def test_an_unknown_name_may_be_part_of_one(readers: list[IndexReader], part: str, path: str) -> None:
    assert sources(ask(readers, part))[0] == (path, "exact")


def test_a_frequent_word_is_not_searched_verbatim(
    readers: list[IndexReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "exact" in ask(readers, "ship").timings
    monkeypatch.setattr(legs, "_RARE", 0)
    assert "exact" not in ask(readers, "ship").timings


def test_a_defined_name_is_not_searched_verbatim(readers: list[IndexReader]) -> None:
    found = ask(readers, "warn")
    assert sources(found)[0] == ("src/errors.py", "exact")
    assert "exact" not in found.timings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("may not leave: %s", ("may not leave: %s",)),
        ('the "May Not" of %s', ("May Not",)),
        ('where is "=>" used', ("=>",)),
        ("if x:\n    y()\n", ("if x:", "y()")),
    ],
)
def test_literals_with_case_or_word(text: str, expected: tuple[str, ...]) -> None:
    assert literals(understand(text), all_of_it=True) == expected


def test_a_leg_that_times_out_is_reported_without_failure(readers: list[IndexReader]) -> None:
    found = ask(readers, 'dock "may not leave: %s"', settings=HURRIED)
    assert {"keyword", "exact"} <= set(found.legs.broken_off)
    assert found.problem is None


def test_keywords_ignore_the_deadline_when_all_legs_time_out(readers: list[IndexReader]) -> None:
    question = "where is the dock"
    assert sources(ask(readers, question, settings=HURRIED)) == sources(ask(readers, question))
    assert sources(ask(readers, "zeppelin", settings=HURRIED)) == []


def test_several_indexes_are_searched(readers: list[IndexReader]) -> None:
    found = results(ask([*readers, *readers], "where is the dock"))
    assert {each.folder for each in found if each.stored.path == "src/dock.py"} == {0, 1}


# --- re-exports, where the definition is missing ------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("lib.rs", "pub use port::Berth;", True),
        ("lib.rs", "pub(crate) use port::{\n    Anchor,\n    Berth as Mooring,\n};", True),
        ("index.ts", "export { Anchor, Berth } from './port'", True),
        ("index.ts", "export type { Berth } from './port'", True),
        ("port.hpp", "using harbour::Berth;", True),
        ("port/__init__.py", "from .berths import Berth as Berth", True),
        ("port/__init__.py", "from .berths import (\n    Anchor,\n    Berth,\n)", True),
        ("lib.rs", "use port::Berth;", False),
        ("lib.rs", "pub use port::Berths;", False),
        ("lib.rs", "pub use port::Anchor;\nfn moor(berth: Berth) {}", False),
        ("index.ts", "import { Berth } from './port'", False),
        ("index.ts", "export { Anchor } from './port'\nconst a = new Berth()", False),
        ("port.hpp", "using Berth = int;", False),
        ("port/berths.py", "from .ports import Berth", False),
        ("port/__init__.py", "from .berths import Anchor\n\nberth = Berth()", False),
    ],
)
def test_a_reexport_differs_from_a_use(path: str, text: str, expected: bool) -> None:
    assert reexports("Berth", path, f"// A port.\n{text}\n") is expected


def test_a_reexport_comes_first_where_the_definition_is_missing(folder_of: FolderOf) -> None:
    uses = "use port_core::Berth;\n\nimpl Berth for Ship {\n    fn moor(&self) -> Berth { Berth }\n}\n"
    files = {
        "src/ship.rs": uses,
        "src/boat.rs": uses.replace("Ship", "Boat"),
        "src/port/mod.rs": "pub use port_core::Berth;\n",
    }
    folder = folder_of(files)

    def first() -> tuple[str, str]:
        best = search([folder.reader], "Berth")[0]
        return best.stored.path, best.source

    assert first() == ("src/port/mod.rs", "exact")
    folder.type("src/core.rs", "pub trait Berth {\n    fn moor(&self);\n}\n")
    assert first() == ("src/core.rs", "exact")


# --- words and meaning in parallel ---------------------------------------------------------------


class SlowMeaning:
    """Gives a vector without matches in any index, once `ready` returns."""

    table = encoder = load_packaged()
    dimension = 1
    thread = ""

    def __init__(self, ready: Callable[[], object] = lambda: None) -> None:
        self.ready = ready

    def vectors(self, queries: Sequence[str]) -> Sequence[QueryVector]:
        self.thread = threading.current_thread().name
        self.ready()
        return [np.zeros(1, np.int8) for _ in queries]


def failing() -> None:
    raise ModelError("The model cannot be loaded. Install it again.")


def test_a_query_that_cannot_be_embedded_is_answered_by_words(readers: list[IndexReader]) -> None:
    found = ask(readers, "dock the ship", SlowMeaning(failing))
    assert sources(found)[0] == ("src/dock.py", "keyword")
    assert found.problem == "The model cannot be loaded. Install it again."
    assert "compared" not in found.timings


def test_an_embedding_error_is_raised_without_other_results(readers: list[IndexReader]) -> None:
    query = understand("dock the ship", alpha=1.0)
    with pytest.raises(ModelError, match="Install it again"):
        ask(readers, query, SlowMeaning(failing))
    with pytest.raises(ModelError, match="Install it again"):
        ask(readers, "barnacle", SlowMeaning(failing))


def test_a_defined_identifier_is_not_compared_by_meaning(readers: list[IndexReader]) -> None:
    def compared(name: str) -> bool:
        return "compared" in ask(readers, name, SlowMeaning()).timings

    assert not compared("WARNING")
    assert compared("dock")  # also a plain word
    assert compared("SHIP_DOCK")


def test_a_programming_error_in_the_other_thread_is_raised(readers: list[IndexReader]) -> None:
    def wrong() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(readers, "dock the ship", SlowMeaning(wrong))


def test_words_are_searched_while_the_query_is_embedded(
    readers: list[IndexReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    words_found = threading.Event()

    def watched_words(*arguments: Any) -> FoundWords:
        found = find_words(*arguments)
        words_found.set()
        return found

    monkeypatch.setattr(legs, "find_words", watched_words)

    class Watching(SqliteReader):
        def static_similarities(self, ids: Iterable[int], vector: object) -> dict[int, float]:
            return dict.fromkeys(ids, 0.5)

    embedding = SlowMeaning(lambda: words_found.wait(30))
    watched: list[IndexReader] = [Watching(readers[0].folder)]
    found = ask(watched, "dock the ship", embedding)
    assert words_found.is_set()
    assert embedding.thread.startswith("cairn-meaning")
    assert {"embed", "keyword", "similarity", "compared", "rank"} <= set(found.timings)
    assert {r.signal for r in results(found)[0].reasons} >= {"meaning of its best chunk"}


def test_a_query_can_be_cancelled_while_it_is_embedded(readers: list[IndexReader]) -> None:
    cancelled = threading.Event()
    with pytest.raises(QueryCancelledError), ended_by(cancelled.is_set):
        ask(readers, "dock the ship", SlowMeaning(cancelled.set))


def test_a_cancelled_query_does_not_wait_for_its_embedding(
    readers: list[IndexReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, started, released, embedded = (threading.Event() for _ in range(4))

    def cancelled_words(*arguments: Any) -> FoundWords:
        started.wait(60)
        cancelled.set()
        return find_words(*arguments)

    monkeypatch.setattr(legs, "find_words", cancelled_words)
    embedding = SlowMeaning(lambda: (started.set(), released.wait(60), embedded.set()))
    with pytest.raises(QueryCancelledError), ended_by(cancelled.is_set):
        ask(readers, "dock the ship", embedding)
    assert not embedded.is_set()
    released.set()
    assert embedded.wait(60)


def test_results_of_parallel_legs_are_merged(readers: list[IndexReader]) -> None:
    query = understand("dock the ship")
    one = Legs(readers, query, ChunkFilter(), SearchSettings())
    other = one.empty_copy()
    one.by_keywords()
    one.by_files()
    by_words = {leg: dict(found) for leg, found in one.pools[0].found.items()}
    (chunk, *_) = by_words["keyword"]
    by_meaning = {chunk: 0.7, 99: 0.2}
    other.pools[0].found["similarity"].update(by_meaning)
    other.broken_off.append("similarity")
    one.merge(other)
    assert one.pools[0].found == by_words | {"similarity": by_meaning}
    assert one.pools[0].legs_of(99) == {"similarity"}
    assert one.broken_off == ["similarity"]


def test_a_hanging_model_is_not_waited_for(
    readers: list[IndexReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.retrieval.ranking._LONGEST_MEANING_MS", 10.0)
    legs = Legs(readers, understand("dock"), ChunkFilter(), HURRIED)
    assert not wait_for_meaning(Future(), legs)
    assert legs.without_vectors
    assert "took more than 10 ms" in str(legs.problems[0])
