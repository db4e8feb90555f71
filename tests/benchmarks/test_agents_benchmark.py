"""Tests of the agents benchmark: traces, words, windows, places in answers, figures, tables and plot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from agents import plot, report
from agents.__main__ import results
from agents.figures import compared, cost, summary
from agents.grep import Tree, TunedGrep, WholeFileGrep
from agents.indexed import cursor_in, places_in, without_numbers
from agents.loops import CALL_CAP, TOKEN_CAP, Step, Trace, follow, half
from agents.measurement import LoopRuns, Measured
from agents.words import Term, terms_of
from answers.facts import Fact, FactQuestion
from retrieval.sets import Repository

QUAY = Repository("quay", "python", "https://example.org/quay", "abc", ".")
LENGTH = Fact(("MAX_LENGTH = 30", "at most 30 m"), "berth.py:3", "the limit", vital=True)
CALLER = Fact(("moor(ship)",), "port.py:9", "who calls it", vital=False)
QUESTION = FactQuestion("quay-01", "own", QUAY, "constant", "How long?!?!", (LENGTH, CALLER))
"""The text is three tokens long."""

needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="needs rg")


def step(answer: str, call: str = "call") -> Step:
    return Step(call, answer)


# --- loops ----------------------------------------------------------------------------------------


def test_trace_counts_question_calls_and_answers() -> None:
    trace = follow(QUESTION, [step("x" * 40), step("MAX_LENGTH = 30\nmoor(ship)"), step("never asked")])
    assert trace.spent == (14.0, 14.0 + 1 + 26 / 4)
    assert trace.have == ((False, False), (True, True))
    assert trace.tokens_to(0.8, 100.0) == pytest.approx(121.5)
    assert trace.calls_to(0.8, 100.0) == 2
    assert trace.share_within(121.0, 100.0) == 0.0
    assert trace.share_within(121.5, 100.0) == 1.0


def test_facts_add_up_over_answers() -> None:
    trace = follow(QUESTION, [step("at most 30 m"), step("moor(ship)")])
    assert [trace.share(each) for each in range(2)] == [0.5, 1.0]
    assert trace.calls_to(0.5, 0.0) == 1
    assert trace.calls_to(0.8, 0.0) == 2


def test_loop_ends_at_its_caps() -> None:
    def endless(answer: str) -> Iterator[Step]:
        while True:
            yield step(answer)

    assert len(follow(QUESTION, endless("nothing")).spent) == CALL_CAP
    assert len(follow(QUESTION, endless("x" * 4 * TOKEN_CAP)).spent) == 1


def test_facts_beyond_the_cap_do_not_count() -> None:
    trace = Trace(QUESTION, (TOKEN_CAP - 10.0,), ((True, True),))
    assert trace.tokens_to(0.8, 5.0) == TOKEN_CAP - 5
    assert trace.tokens_to(0.8, 50.0) is None


def test_facts_are_found_in_unescaped_json() -> None:
    trace = follow(QUESTION, [Step("call", '"MAX_LENGTH =\\n30"', "MAX_LENGTH =\n30")])
    assert trace.have == ((True, False),)


# --- words and grep -------------------------------------------------------------------------------


def test_terms_are_names_and_words_without_inflection() -> None:
    terms = terms_of("Why does moorShip ignore the ropes of event-stream in `quay`?")
    assert Term("moorship", is_name=True) in terms
    assert Term("quay", is_name=True) in terms
    assert Term("rope", is_name=False) in terms
    assert Term("event-stream", is_name=False) in terms
    assert not {"the", "why", "does"} & {term.pattern for term in terms}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "berth.py").write_text(
        "import sea\n" + "\n" * 40 + "MAX_LENGTH = 30  # longest mooring\n" + "\n" * 40
    )
    (tmp_path / "port.py").write_text("def call():\n    moor(ship)\n")
    (tmp_path / "test_port.py").write_text("def test_longest_mooring():\n    pass\n")
    return Tree(tmp_path)


@needs_ripgrep
def test_tree_finds_lines_and_rarity(tree: Tree) -> None:
    assert tree.paths == ["berth.py", "port.py", "test_port.py"]
    assert tree.hits("moor") == {"berth.py": [42], "port.py": [2], "test_port.py": [1]}
    assert tree.idf(Term("max_length", True)) > tree.idf(Term("moor", False)) > 0.0
    assert tree.idf(Term("whale", False)) == 0.0


@needs_ripgrep
def test_tuned_grep_shows_windows_of_the_best_file_first(tree: Tree) -> None:
    (first, *_) = TunedGrep(around=2, page=1).steps(tree, "What is the longest mooring?")
    assert first.answer.startswith("berth.py:40-44\n")
    assert "MAX_LENGTH = 30" in first.answer
    (of_tests, *_) = TunedGrep(around=2, page=1).steps(tree, "Which test checks the longest mooring?")
    assert of_tests.answer.startswith("test_port.py:1-")


@needs_ripgrep
def test_tuned_grep_shows_no_line_twice(tree: Tree) -> None:
    shown = "\n".join(each.answer for each in TunedGrep(around=1, wider=8).steps(tree, "longest mooring"))
    assert shown.count("MAX_LENGTH = 30") == 1


@needs_ripgrep
def test_usual_grep_is_followed_by_whole_files(tree: Tree) -> None:
    first, second, *_ = WholeFileGrep(words=1).steps(tree, "What is the longest mooring?")
    assert '"Grep"' in first.call
    assert first.answer.startswith("berth.py:42:MAX_LENGTH")
    assert '"Read"' in second.call
    assert len(second.answer.splitlines()) > 40


# --- answers of the servers -----------------------------------------------------------------------

SEARCHED = """\
src/sse.py:110-145  Event (class) — has event
110:class Event:
also 146-222 KEEPALIVE, 7-67 Response
src/b.py:3  moor (function)
more: cursor=5.be12 (further results)"""


def test_places_are_those_shown_and_then_those_named() -> None:
    assert places_in(SEARCHED) == [
        ("src/sse.py", 110, 145),
        ("src/b.py", 3, 3),
        ("src/sse.py", 146, 222),
        ("src/sse.py", 7, 67),
    ]
    assert places_in("=== src/a.py:1-2  f\nx = 1") == [("src/a.py", 1, 2)]


def test_cursor_is_read_from_its_line() -> None:
    assert cursor_in(SEARCHED) == "5.be12"
    assert cursor_in("nothing") == ""


def test_line_numbers_are_taken_off() -> None:
    assert without_numbers("9:if a:\n10:    b") == "if a:\n    b"


# --- figures --------------------------------------------------------------------------------------


def traces(*spent: float | None) -> list[Trace]:
    """Return traces that have all facts after these numbers of tokens; None for one without any."""
    return [
        Trace(QUESTION, (100.0 if each is None else each,), (((each is not None),) * 2,)) for each in spent
    ]


def test_summary_has_curve_and_tokens_to_shares() -> None:
    figures = summary(traces(900.0, 2_900.0, None), 100.0)
    assert figures["facts_within"]["1000"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["facts_within"]["60000"] == pytest.approx(2 / 3, abs=1e-4)
    costs = figures["until"]["80%"]
    assert (costs["reached"], costs["tokens"]) == (2, {"mean": 2_000, "median": 2_000})
    assert costs["tokens_with_cap"]["median"] == 3_000


def test_systems_are_compared_where_both_reach_and_with_the_cap() -> None:
    figures = compared(traces(900.0, 1_900.0, None), 100.0, traces(1_900.0, None, None), 100.0)
    assert (figures["we_reach"], figures["they_reach"]) == (2, 1)
    assert figures["both"]["questions"] == 1
    assert figures["both"]["ratio_of_means"] == 0.5
    assert figures["with_cap"]["questions"] == 2
    assert figures["with_cap"]["their_mean"] == (2_000 + TOKEN_CAP) / 2


def test_cost_is_a_geometric_mean() -> None:
    assert cost(traces(900.0, 8_900.0), 100.0) == pytest.approx(3_000.0)


def runs(**loops: Sequence[Trace]) -> LoopRuns:
    return LoopRuns({name: list(each) for name, each in loops.items()}, dict.fromkeys(loops, 100.0))


def test_cheapest_loop_is_chosen() -> None:
    assert runs(dear=traces(5_000.0), cheap=traces(900.0)).chosen([QUESTION]) == "cheap"


def test_results_become_tables_and_a_plot() -> None:
    measured = Measured({"cairn": runs(own=traces(900.0)), "tuned grep": runs(other=traces(1_900.0))})
    record = results(measured, Measured(), {"cairn": "own", "tuned grep": "other"}, [QUESTION], [])
    assert set(record["groups"]) == {"all", "chosen on" if half(QUESTION) == "a" else "checked on"}
    assert record["groups"]["all"]["compared"]["tuned grep"]["both"]["ratio_of_means"] == 0.5
    assert "| tuned grep | both reach: 1 | 1,000 · 2,000 | 0.50 |" in report.markdown(record)
    curves = {name: each["facts_within"] for name, each in record["groups"]["all"]["systems"].items()}
    root = ElementTree.fromstring(plot.svg(curves, "facts"))
    assert any(each.text == "tuned grep" for each in root.iter())
