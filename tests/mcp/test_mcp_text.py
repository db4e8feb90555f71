"""How answers read to a model."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")

from attrs import evolve
from tests.search_results import search_result

from cairn import protocol
from cairn.mcp import text as mcp_text
from cairn.schema.convert import unstructure


class StillIndexing:
    """As an engine whose index lacks files and vectors."""

    def __init__(self, complete: bool = False, **status: Any) -> None:
        self._complete = complete
        self._status = status

    def progress(self) -> Any:
        return type("Progress", (), {"complete": self._complete})()

    def status(self) -> Any:
        known = {
            "files": protocol.FileCounts(400, 120),
            "generation": 1,
            "chunks": 900,
            "embedded": 30,
            "model": protocol.ModelInfo("m", 2, "m@1"),
            "paused": False,
            "seconds_left": None,
            "state": "indexing",
            "last_error": None,
            "remaining": ("files", "vectors"),
        }
        return type("Status", (), {**known, **self._status})()


DONE: Any = StillIndexing(complete=True)


def result(**fields: Any) -> protocol.SearchResult:
    return search_result(context=protocol.Context("BEFORE\n", "AFTER\n"), **fields)


def search_text(engine: Any = DONE, arguments: dict[str, Any] | None = None, **fields: Any) -> str:
    answer = protocol.SearchAnswer(
        results=fields.get("results", (result(),)),
        verdict=fields.get("verdict", protocol.Verdict("answer", "", (), 1.0, ())),
        query=protocol.QueryInfo("q", ("q",), "name", 0.5),
        index=protocol.IndexState(1, True),
        timings={},
        broken_off=fields.get("broken_off", ()),
        retrieval=fields.get("retrieval", protocol.AnsweredIn()),
    )
    (text,) = mcp_text.search(engine, unstructure(answer), arguments or {})
    return text


def test_a_passage_shows_its_place_what_it_is_why_it_is_there_and_its_text() -> None:
    text = search_text()
    assert "1. src/berths.py:12-20 — Berth > moor_ship (method)" in text
    assert "why: defines the symbol" in text
    assert "```python\ndef moor_ship(self):\n    pass\n```" in text
    assert "Paths are relative to file:///harbour" in text


def test_what_is_related_tells_how_and_at_which_line() -> None:
    call = result(reasons=("calls `moor`",), selection_range=protocol.whole_lines(16, 17))
    near = result(reasons=("similar in meaning",), selection_range=protocol.whole_lines(12, 15))
    answer = protocol.RelatedAnswer((call, near), protocol.IndexState(1, True), {})
    (text,) = mcp_text.related(DONE, unstructure(answer), {})
    assert "   why: calls `moor`\n   see: 17\n" in text
    assert "   why: similar in meaning\n   see: 13-15\n" in text
    assert "see:" not in search_text()


def place(line: int, character: int, name: str) -> protocol.Range:
    return protocol.Range(protocol.Position(line, character), protocol.Position(line, character + len(name)))


MOOR = protocol.SymbolPlace(
    path="src/berths.py",
    uri="file:///harbour/src/berths.py",
    folder="file:///harbour",
    range=protocol.whole_lines(11, 16),
    selection_range=place(11, 8, "moor_ship"),
    symbol="Berth.moor_ship",
    kind="method",
    line="    def moor_ship(self, ship):",
)
CALL = protocol.FoundReference(
    path="src/schedule.py",
    uri="file:///harbour/src/schedule.py",
    folder="file:///harbour",
    range=place(10, 22, "moor_ship"),
    line="                berth.moor_ship(ship)",
    enclosing=protocol.EnclosingSymbol(
        "assign_berths", "function", protocol.whole_lines(5, 12), place(5, 4, "assign_berths")
    ),
    symbol="Berth.moor_ship",
    target=None,
    kind="call",
    confidence=0.9,
    via="`berth` is a `Berth`",
    depth=1,
    parent=None,
)


def references_text(*references: protocol.FoundReference, direction: str = "callers", **fields: Any) -> str:
    answer = protocol.ReferencesAnswer(
        symbol="moor_ship",
        definitions=fields.pop("definitions", (MOOR,)),
        references=references,
        complete=fields.pop("complete", True),
        index=protocol.IndexState(1, True),
        timings={},
        **fields,
    )
    (text,) = mcp_text.references(DONE, unstructure(answer), {"direction": direction})
    return text


def test_callers_stand_below_the_definition_each_below_what_it_was_found_from() -> None:
    main = evolve(
        CALL, path="main.py", line="assign_berths([])", enclosing=None, depth=2, parent=0, confidence=1.0
    )
    other = evolve(CALL, path="tests/test_berths.py", kind="read")
    assert references_text(CALL, other, main).split("\n") == [
        "Paths are relative to file:///harbour",
        "",
        "Berth.moor_ship (method), src/berths.py:12-16",
        "    def moor_ship(self, ship):",
        "",
        "- src/schedule.py:11 in assign_berths: berth.moor_ship(ship) (0.9, `berth` is a `Berth`)",
        "  - main.py:11: assign_berths([]) (1, `berth` is a `Berth`)",
        "- tests/test_berths.py:11 in assign_berths: berth.moor_ship(ship) (read, 0.9, `berth` is a `Berth`)",
    ]


def test_callees_name_what_they_lead_to() -> None:
    unknown = evolve(CALL, symbol="sorted", line="sorted(ships)")
    text = references_text(evolve(CALL, target=MOOR), unknown, direction="callees")
    assert (
        "- src/schedule.py:11 calls Berth.moor_ship (method), src/berths.py:12-16: berth.moor_ship(ship) (0.9, "
        in text
    )
    assert "- src/schedule.py:11 calls sorted: sorted(ships) (not defined in the workspace)" in text


def test_references_say_what_is_missing() -> None:
    assert "No tests were found." in references_text(direction="tests")
    assert "These are not all" in references_text(CALL, complete=False)
    nothing = references_text(definitions=(), message="Nothing is called moor_shp. Did you mean moor_ship?")
    assert nothing == "Nothing is called moor_shp. Did you mean moor_ship?"
    elsewhere = evolve(CALL, folder="file:///tide")
    assert "- src/schedule.py:11 of file:///tide in assign_berths" in references_text(elsewhere)


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    text = search_text(results=(result(snippet="a\n````\nb\n", language="markdown"),))
    assert "`````markdown\na\n````\nb\n`````" in text


def test_further_passages_of_a_file_stand_below_its_place() -> None:
    lines = protocol.Range(protocol.Position(39, 0), protocol.Position(52, 0))
    leave = protocol.FilePassage(lines, "def leave(self):\n    pass\n", "leave", "Berth > leave", 0.6)
    nameless = evolve(leave, range=protocol.Range(lines.start, protocol.Position(40, 0)), header_path="")
    text = search_text(results=(result(passages=(leave, nameless)), result(path="src/tides.py")))
    further = "   also 40-52 — Berth > leave\n```python\ndef leave(self):\n    pass\n```"
    assert text.index("1. src/berths.py:12-20") < text.index(further) < text.index("2. src/tides.py:12-20")
    assert "   also 40\n```python" in text


def test_neighbours_are_shown_where_they_were_asked_for() -> None:
    assert "BEFORE" not in search_text()
    with_neighbours = search_text(arguments={"context": 1})
    assert (
        with_neighbours.index("BEFORE") < with_neighbours.index("def moor") < with_neighbours.index("AFTER")
    )


def test_results_of_several_folders_name_theirs() -> None:
    text = search_text(results=(result(), result(folder="file:///tide")))
    assert "folder: file:///harbour\n" in text
    assert "folder: file:///tide\n" in text
    assert "Paths are relative" not in text


def test_a_passage_of_one_endless_line_is_cut_and_says_where_the_rest_is() -> None:
    text = search_text(results=(result(snippet="x" * 100_000),))
    assert len(text) < 5_000
    assert "cairn_fetch_page has the rest" in text


def test_a_verdict_that_nothing_matches_says_what_to_do() -> None:
    nothing = protocol.Verdict("noMatch", "Which part?", (), 0.0, ())
    for results in ((), (result(),)):
        text = search_text(results=results, verdict=nothing)
        assert text.startswith("Nothing matches well.")
        assert "other words" in text
    assert "src/berths.py:12-20" in text
    assert "def moor_ship" not in text  # it would only mislead


def test_a_verdict_that_is_unclear_offers_candidates_that_its_message_lacks() -> None:
    candidates = (protocol.Candidate("Berth", "c", "a.py"), protocol.Candidate("Berths", "c", "b.py"))
    unclear = protocol.Verdict("clarify", "Do you mean Berth (a.py)?", candidates, 0.0, ())
    text = search_text(verdict=unclear)
    assert "Do you mean Berth (a.py)?" in text
    assert "Berths (b.py)" in text


def discovered(prompt: str, verdict: protocol.Verdict, *excerpts: protocol.Excerpt) -> list[str]:
    plan, metrics = protocol.AnswerPlan((), 0, ()), protocol.DiscoveryMetrics()
    answer = protocol.DiscoverAnswer(
        prompt, plan, (), (), verdict, metrics, protocol.IndexState(1, True), excerpts
    )
    return mcp_text.discovery(DONE, unstructure(answer), {})


def test_a_discovery_is_its_prompt_which_holds_the_excerpts_once() -> None:
    at = protocol.Range(protocol.Position(11, 0), protocol.Position(12, 0))
    place = ("src/berths.py", "file:///harbour/src/berths.py", "file:///harbour", at)
    code = "def moor_ship(self):"
    excerpt = protocol.Excerpt(*place, code, "src/berths.py#L12-L12", "", "", "python", "defines it", 1.0)
    prompt = f"# Context\n### src/berths.py#L12-L12\n```python\n{code}\n```\n"
    answer = protocol.Verdict("answer", "", (), 1.0, ())
    assert discovered(prompt, answer, excerpt) == [prompt]
    assert discovered("", answer) == ["There is no evidence for that in the workspace."]


@pytest.fixture(autouse=True)
def staged_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.engine.status.status_of", lambda engine: engine.status())


def test_an_incomplete_index_says_what_is_missing() -> None:
    text = search_text(engine=StillIndexing())
    assert "The index is not complete: 120 of 400 files read; 30 of 900 passages have vectors." in text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"paused": True}, "indexing is paused"),
        ({"remaining": ("history", "imports")}, "history and imports not counted yet"),
        ({"seconds_left": 41.0}, "about 40 s left"),
        ({"state": "degraded", "last_error": "The disk is full."}, "The disk is full."),
        ({"files": protocol.FileCounts(0, 0), "generation": 0}, "no file read yet"),
    ],
)
def test_an_incomplete_index_says_why_or_how_long(status: dict[str, Any], said: str) -> None:
    assert said in mcp_text.incompleteness(StillIndexing(**status))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (protocol.ModelInfo("m", 2, "m@1"), "Model: m."),
        (
            protocol.ModelInfo("own", 2, "own@1", packaged=True),
            "Model: own, which comes with Cairn; `cairn model install` adds a larger one, which takes longer to index.",
        ),
        (None, "Model: none, answers use keywords alone."),
    ],
)
def test_the_status_says_which_model_it_is(model: protocol.ModelInfo | None, said: str) -> None:
    latency = protocol.Latency(None, None, 0, 0)
    answer = protocol.StatusAnswer(
        "ready", True, 1, 3, protocol.FileCounts(1, 1), 9, 9, 0, model, (), None, latency, 1
    )
    (text,) = mcp_text.status(DONE, unstructure(answer), {})
    assert said in text.splitlines()


def test_a_complete_index_says_nothing() -> None:
    assert mcp_text.incompleteness(DONE) == ""
    assert "not complete" not in search_text()


def test_an_answer_made_without_vectors_says_so_and_why() -> None:
    lowered = protocol.AnsweredIn(2, 3, "", "searches took too long")
    assert "Answered by keywords alone: searches took too long." in search_text(retrieval=lowered)


def test_an_answer_that_ran_out_of_time_says_so() -> None:
    assert "Out of time" in search_text(broken_off=("embedding",))
