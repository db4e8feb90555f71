"""How signals become a score: sums, shares of what is possible, and the balance between words and meaning."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cairn.index.reader import Outline
from cairn.retrieval.candidates import Candidate, FileCandidate
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import SIGNALS
from cairn.retrieval.signals import Asked, Family, Scored, Signal, score_files
from cairn.workspace.collections import file_kind


def file(
    path: str,
    *,
    keyword: float = 1.0,
    similarity: float = 0.0,
    chunks: int = 1,
    symbol: float = 0.0,
    exact: float = 0.0,
) -> FileCandidate:
    def candidate(position: int) -> Candidate:
        outline = Outline(position, path, file_kind(path), position, "code", "", "", "[]")
        return Candidate(outline, keyword=keyword, similarity=similarity, symbol=symbol, exact=exact)

    return FileCandidate(0, path, file_kind(path), tuple(candidate(position) for position in range(chunks)))


def scores(query: Query, files: Sequence[FileCandidate], signals: Sequence[Signal] = SIGNALS) -> list[Scored]:
    return score_files(Asked(query, tuple(files)), signals)


def order(query: str, *files: FileCandidate, alpha: float | None = None) -> list[str]:
    scored = scores(understand(query, alpha), files)
    return [files[i].path for i in sorted(range(len(files)), key=lambda i: -scored[i].score)]


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("session cookie", file("src/sessions.py"), file("src/app.py")),
        ("thread pool size", file("src/threadpool.c"), file("src/workers.c")),
        ("json provider", file("src/json/__init__.py"), file("src/app/__init__.py")),
        ("json provider", file("src/json/base.py"), file("src/app/base.py")),
        ("where is it parsed", file("src/a.py"), file("tests/test_a.py")),
        ("where is it parsed", file("src/a.py"), file("examples/a.py")),
        ("where is it parsed", file("src/a.py"), file("docs/a.md")),
        ("where is it parsed", file("src/a.py"), file("conf/a.yaml")),
        ("parse", file("src/a.py", keyword=2), file("src/b.py", keyword=1)),
        ("parse", file("src/a.py", similarity=0.6), file("src/b.py", similarity=0.3)),
        ("parse", file("src/a.py", chunks=3), file("src/b.py", chunks=1)),
        ("parse_args", file("src/a.py", symbol=1), file("src/b.py", keyword=1)),
    ],
)
def test_the_better_file_comes_first(query: str, better: FileCandidate, worse: FileCandidate) -> None:
    assert order(query, worse, better) == [better.path, worse.path]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("tests of the parser", "tests/parser.py"),
        ("an example of a parser", "examples/parser.py"),
        ("installation guide", "docs/a.md"),
        ("ci workflow", ".github/workflows/a.yml"),
    ],
)
def test_what_is_asked_for_by_kind_is_not_held_back(query: str, path: str) -> None:
    (scored,) = scores(understand(query), [file(path)])
    assert not [reason for reason in scored.reasons if reason.signal.startswith("is ")]


def test_alpha_moves_the_balance_between_words_and_meaning() -> None:
    words, meaning = file("src/a.py", keyword=1.0), file("src/b.py", keyword=0.0, similarity=0.5)
    assert order("x y", words, meaning, alpha=0.0)[0] == "src/a.py"
    assert order("x y", words, meaning, alpha=1.0)[0] == "src/b.py"


def test_scores_lie_between_0_and_1_and_are_the_sum_of_their_reasons() -> None:
    files = [file("src/session.py", keyword=3, similarity=0.4), file("tests/a.py", keyword=0.1)]
    best_possible = sum(signal.weight for signal in SIGNALS if signal.weight > 0 and signal.always)
    for scored in scores(understand("session cookie"), files):
        assert 0 < scored.score <= 1
        if scored.score >= 0.05:
            total = sum(r.value * r.weight for r in scored.reasons)
            assert scored.score == pytest.approx(total / best_possible)


def test_without_vectors_the_words_make_up_the_whole_score() -> None:
    (scored,) = scores(understand("x", alpha=0.5), [file("src/a.py", keyword=3)])
    possible = sum(
        signal.weight
        for signal in SIGNALS
        if signal.weight > 0 and signal.always and signal.family is not Family.VECTOR
    )
    assert scored.score == pytest.approx(sum(r.value * r.weight for r in scored.reasons) / possible)


def test_where_nothing_has_the_very_text_scores_are_as_if_none_was_asked_for() -> None:
    files = [file("src/a.py", keyword=3), file("src/b.py", keyword=2, similarity=0.5)]
    others = [signal for signal in SIGNALS if signal.name != "contains the very text"]
    query = understand("x y")
    assert scores(query, files) == scores(query, files, others)


def test_the_very_text_counts_for_more_than_keywords() -> None:
    files = [file("src/a.py", keyword=3), file("src/b.py", keyword=1, exact=0.8)]
    assert order("x y", *files) == ["src/b.py", "src/a.py"]


def test_files_that_are_all_held_back_keep_their_order() -> None:
    tests = [file(f"tests/test_{name}.py", keyword=weight) for name, weight in (("a", 1), ("b", 3), ("c", 2))]
    assert order("where is it parsed", *tests) == ["tests/test_b.py", "tests/test_c.py", "tests/test_a.py"]


def test_no_files_no_scores() -> None:
    assert scores(understand("x"), []) == []
