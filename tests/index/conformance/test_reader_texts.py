"""All readers find the same exact text."""

from __future__ import annotations

import pytest
from tests.index.conformance.indexes import Subject

from cairn.errors import QueryCancelledError
from cairn.index.reader.exact import ExactMatches, Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import Deadline, never

ALL = ChunkFilter()


def find(
    subject: Subject,
    literal: Literal | str,
    limit: int = 100,
    only: ChunkFilter = ALL,
    first: tuple[int, ...] = (),
) -> ExactMatches:
    wanted = Literal(literal) if isinstance(literal, str) else literal
    return subject.reader.containing(wanted, limit, only, Deadline(never), first)


def found(subject: Subject, literal: Literal | str, **how: object) -> set[str]:
    return subject.paths(hit.chunk_id for hit in find(subject, literal, **how).hits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("cannot dock: the water is too shallow", {"README.md", "src/harbour/berth.py", "legacy/berth.py"}),
        ("E4711: cargo exceeds", {"src/harbour/crane.py"}),
        ("a?.b?.[0] ?? b", {"web/src/operators.js"}),
        (">>>=", {"web/src/operators.js"}),
        ("!== 3 &&", {"web/src/operators.js"}),
        ("WINCH_MA", {"native/winch.c"}),
        ("etchTid", {"web/src/client.ts"}),
        ("abcdef0123", {"data/log.txt"}),
        ("SELECT * FROM ships WHERE name = 'x'; --", {"data/odd [name] 100%_'x'.txt"}),
        ("50% off, under_score, [brackets]", {"docs/guide.md"}),
        ("%q", {"fleet/ship/ship.go"}),
        ("東京", {"src/harbour/accents.py"}),
        ("渡し船", {"src/harbour/accents.py"}),
        ("港", {"src/harbour/accents.py"}),
        ("Москва", {"src/harbour/accents.py"}),
        ("naïve déjà-vu", {"src/harbour/accents.py"}),
        ("Gezeitenho\u0308he", {"src/harbour/accents.py", "docs/guide.md"}),
        ("Gezeitenhöhe", {"src/harbour/accents.py", "docs/guide.md"}),
        ("{ ...rest", {"web/src/operators.js"}),
        ("return day * 1.2", {"notebooks/tides.ipynb"}),
        ("nowhere to be found", set()),
        ("under%score", set()),
        ("E4711.*cargo", set()),
    ],
)
def test_text_is_found_verbatim(subject: Subject, text: str, paths: set[str]) -> None:
    assert found(subject, text) == paths
    assert not find(subject, text).cut


@pytest.mark.parametrize(
    "text",
    ["WINCH_MA", "etchTid", "(", "a?.b?.[0] ?? b", "東京", "e", "handler", "cannot dock: the", "50% off"],
)
def test_proposed_chunks_include_all_with_the_text(subject: Subject, text: str) -> None:
    every = subject.reader.chunk_texts(subject.reader.proposed((), ALL).tolist())
    containing = {chunk for chunk, _, of_chunk in every if text in of_chunk}
    assert containing
    assert containing <= set(subject.reader.proposed((Literal(text), Literal("nowhere")), ALL).tolist())


def test_proposed_chunks_pass_the_filter(subject: Subject) -> None:
    only = ChunkFilter(paths=("fleet/main.go", "README.md"), hidden=("README.md",))
    assert subject.paths(subject.reader.proposed((), only).tolist()) == {"fleet/main.go"}


def test_hits_have_a_line_and_a_count(subject: Subject) -> None:
    (hit,) = find(subject, "TestNewShip").hits
    assert (hit.line, hit.occurrences) == (4, 1)
    (hit,) = find(subject, Literal("free_berths(["), only=ChunkFilter(paths=("tests/",))).hits
    assert (hit.line, hit.occurrences) == (26, 1)


def test_filters_restrict_matches(subject: Subject) -> None:
    assert found(subject, "handler", only=ChunkFilter(languages=("typescript",))) == {"web/src/client.ts"}
    berths = {"src/harbour/berth.py", "legacy/berth.py"}
    assert found(subject, "shallow", only=ChunkFilter(hidden=("README.md",))) == berths
    assert found(subject, "shallow", only=ChunkFilter(collections=("nothing",))) == set()
    assert found(subject, "%", only=ChunkFilter(paths=("fleet/",))) == {"fleet/ship/ship.go"}


def test_the_limit_cuts(subject: Subject) -> None:
    cut = find(subject, "course_3", limit=7)
    assert len(cut.hits) == 7
    assert cut.cut
    whole = find(subject, "course_3")
    assert (len(whole.hits), whole.cut) == (30, False)


def test_first_chunks_do_not_count_towards_the_limit(subject: Subject) -> None:
    chunk = subject.ids["docs/guide.md", 1]
    with_first = find(subject, "ships", limit=2, first=(chunk, subject.ids["README.md", 0]))
    assert subject.ids["README.md", 0] in {hit.chunk_id for hit in with_first.hits}
    assert len(with_first.hits) == 3


def test_hidden_chunks_do_not_count_towards_the_limit(subject: Subject) -> None:
    only = ChunkFilter(hidden=("src/pilots.py",))
    assert found(subject, "ships", limit=3, only=only) >= {"README.md"}
    assert "src/pilots.py" not in found(subject, "ships", only=only)


def test_a_passed_deadline_cuts(subject: Subject) -> None:
    deadline = Deadline(never, 0.0)
    while not deadline.is_over:
        pass
    answer = subject.reader.containing(Literal("course_3"), 100, ALL, deadline)
    assert answer.cut
    assert set(subject.paths(hit.chunk_id for hit in answer.hits)) <= {"src/pilots.py"}


def test_a_cancelled_request_raises(subject: Subject) -> None:
    with pytest.raises(QueryCancelledError):
        subject.reader.containing(Literal("course_3"), 100, ALL, Deadline(lambda: True))


def test_text_longer_than_any_chunk_is_found_nowhere(subject: Subject) -> None:
    assert found(subject, "lighthouse " * 20_000) == set()
    assert found(subject, "x" * 100_000) == set()
