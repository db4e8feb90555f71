"""Tests of the discovery benchmark: required citations, text at its citation, equal repeats, tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from discovery import latency
from discovery.projects import Place, ProjectError, Question, misplaced, read_projects
from discovery.scoring import Scored, covered, figures, fingerprint, has_cited_text, overlaps, score, table
from engine.daemon import Daemon, settled

SETS = Path(__file__).parents[2] / "benchmarks" / "discovery" / "questions"
MOORING = Place("guide.md", 10, 12, "ships are tied up")
SAME_IN_CODE = Place("quay.py", 3, 3, "def moor")
TIDES = Place("guide.md", 20, 20, "at high water")
QUESTION = Question("quay-1", "how are ships tied up?", ((MOORING, SAME_IN_CODE), (TIDES,)))


def shown(path: str, first: int, end: int, text: str = "") -> dict[str, Any]:
    """Return a bullet or chunk in LSP's form: lines from 0, without the end."""
    lines = {"start": {"line": first, "character": 0}, "end": {"line": end, "character": 0}}
    return {"path": path, "range": lines, "text": text, "citation": f"{path}#L{first + 1}-L{end}"}


def answer(
    *bullets: dict[str, Any], chunks: tuple[dict[str, Any], ...] = (), **others: Any
) -> dict[str, Any]:
    said = {"bullets": list(bullets), "chunks": list(chunks), "verdict": {"action": "answer"}}
    return {**said, "metrics": {"totalTimeMs": 5}, "index": {"state": "ready"}, **others}


@pytest.mark.parametrize(
    ("first", "end", "found"),
    [(8, 9, False), (8, 10, True), (9, 10, True), (11, 12, True), (12, 13, False), (0, 99, True)],
)
def test_a_citation_is_found_where_a_line_is_shared(first: int, end: int, found: bool) -> None:
    assert overlaps(shown("guide.md", first, end), MOORING) is found
    assert not overlaps(shown("other.md", first, end), MOORING)


def test_one_alternative_is_enough_for_each_required_citation() -> None:
    assert covered([], QUESTION) == 0
    assert covered([shown("quay.py", 2, 3)], QUESTION) == 1
    assert covered([shown("quay.py", 2, 3), shown("guide.md", 9, 10)], QUESTION) == 1
    assert covered([shown("quay.py", 2, 3), shown("guide.md", 19, 20)], QUESTION) == 2


def test_a_bullet_stands_where_its_file_has_its_text(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_bytes(b"# Moorings\r\n\r\nShips *are* tied up.\r\nAt high water.\r\n")
    assert has_cited_text(shown("guide.md", 2, 3, "Ships are tied up."), tmp_path)
    assert not has_cited_text(shown("guide.md", 3, 4, "Ships are tied up."), tmp_path)
    assert not has_cited_text(shown("gone.md", 2, 3, "Ships are tied up."), tmp_path)
    elsewhere = {**shown("guide.md", 2, 3, "Ships are tied up."), "citation": "guide.md#L4-L4"}
    assert not has_cited_text(elsewhere, tmp_path)


def test_answers_are_the_same_but_for_times_and_the_state_of_the_index() -> None:
    once = answer(shown("guide.md", 9, 10))
    assert fingerprint(once) == fingerprint({**once, "metrics": {"totalTimeMs": 9}, "index": {}})
    assert fingerprint(once) != fingerprint(answer(shown("guide.md", 9, 11)))
    assert fingerprint(answer(answerPrompt="a")) != fingerprint(answer(answerPrompt="b"))


def test_one_other_answer_among_several_is_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "quay.py").write_text("\n\ndef moor(ship):\n    ...\n", encoding="utf-8")
    first = answer(
        shown("quay.py", 2, 3, "def moor(ship)"),
        shown("quay.py", 3, 4, "def cast_off(ship)"),
        chunks=(shown("guide.md", 0, 30),),
        excerpts=[shown("guide.md", 19, 20)],
    )
    scored = score(QUESTION, 20, [first, first, first], tmp_path, prompt_tokens=77, ms=1.5)
    assert (scored.found, scored.in_chunks, scored.required) == (1, 2, 2)
    assert (scored.in_excerpts, scored.in_either) == (1, 2)
    assert (scored.bullets, scored.standing, scored.action) == (2, 1, "answer")
    assert scored.same
    assert not score(QUESTION, 20, [first, first, answer()], tmp_path, 77, 1.5).same


def scored(max_bullets: int, found: int, ms: float, *, same: bool = True, action: str = "answer") -> Scored:
    return Scored(QUESTION, max_bullets, found, 1, 2, 2, 4, 3, same, action, int(ms) * 10, ms)


def test_the_table_has_a_column_for_each_number_of_bullets() -> None:
    samples = [
        scored(20, 1, 10.0),
        scored(20, 0, 30.0, action="clarify"),
        scored(40, 2, 5.0, same=False),
        scored(40, 1, 5.0),
    ]
    found = figures(samples)
    assert found["found"] == {"20": 0.25, "40": 0.75}
    assert (found["questions"], found["required"], found["median_ms"]) == (2, 4, 20.0)
    assert (found["in_chunks"], found["standing"], found["same_bytes"]) == (1.0, 0.75, 0.75)
    assert found["biggest_prompt_tokens"] == 300
    heads, _, row, *_ = table({"quay": found}).splitlines()
    assert "| found, 20 bullets | found, 40 bullets |" in heads
    assert heads.count("|") == row.count("|")
    assert row.startswith(
        "| quay | 2 | 4 | 25.0% | 75.0% | 50.0% | 100.0% | 100.0% | 75.0% | 75.0% | 1 answer, 1 clarify |"
    )


def test_questions_without_evidence_have_no_share_that_stands() -> None:
    nothing = Scored(QUESTION, 20, 0, 0, 0, 0, 0, 0, True, "noMatch", 0, 1.0)
    assert figures([nothing])["standing"] is None
    assert "|  |" in table({"quay": figures([nothing])})


def test_latencies_are_shown_beside_the_targets() -> None:
    stages = dict.fromkeys(("filter_collections", "broad_discovery"), 0.002)
    whole = [latency.Timed("q", 0.1, 1, stages), latency.Timed("what is q", 0.3, 8, stages)]
    streamed = [latency.Timed("q", 0.12, 1, stages, first_part=0.004, first_passages=0.05)]
    found = latency.figures(whole, streamed)
    assert found["answer_ms"] == {"n": 2, "p50": 100.0, "p95": 300.0, "max": 300.0}
    assert found["answer_of_most_queries_ms"]["n"] == 1
    assert found["first_evidence_ms"] == {"n": 0}
    shown_table = latency.table(found)
    assert "| whole answer | 2 | 100 | 300 | 300 | < 450 | < 1000 |" in shown_table
    assert "| first partial result | 1 | 4 | 4 | 4 |  |  |" in shown_table
    assert "| `filter_collections` | 2 | 2 | 2 | 2 | < 5 | < 10 |" in shown_table


def test_partial_results_belong_to_the_request_with_their_token(workspace: Path, bare_data_dir: Path) -> None:
    with Daemon(workspace, bare_data_dir, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(settled, 60)
        plain = daemon.send("cairn/discover", {"query": "moor a ship"})
        streamed = daemon.send("cairn/discover", {"query": "moor a ship", "partialResultToken": "part"})
        answers = [plain.result(), streamed.result()]
    assert plain.parts == []
    assert [value["stage"] for _, value in streamed.parts] == list(answers[1]["metrics"]["stages"])
    times = [arrived for arrived, _ in streamed.parts]
    assert streamed.answered is not None
    assert [streamed.sent, *times, streamed.answered] == sorted([streamed.sent, *times, streamed.answered])


def test_a_place_must_still_hold_its_text(tmp_path: Path) -> None:
    lines = ["", "", "def moor(ship):"]
    (tmp_path / "quay.py").write_text("\n".join(lines), encoding="utf-8")
    moved = Question("quay-2", "?", ((SAME_IN_CODE, Place("quay.py", 1, 2, "def moor")), (TIDES,)))
    assert misplaced([moved], tmp_path) == ["quay.py:1: 'def moor'", "guide.md:20: 'at high water'"]


def test_every_question_of_the_sets_asks_for_places_with_an_excerpt() -> None:
    for name, projects in (("held_out", 3), ("tuned", 6)):
        read = read_projects(SETS / name)
        assert len(read) == projects
        questions = [question for project in read for question in project.questions]
        assert len({question.id for question in questions}) == len(questions) == 10 * projects
        places = [place for each in questions for some in each.required for place in some]
        assert all(all(each.required) and len(each.required) >= 2 for each in questions)
        assert all(1 <= place.first <= place.last and 0 < len(place.text) <= 60 for place in places)


def test_file_that_is_not_a_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no question sets"):
        read_projects(tmp_path)
    (tmp_path / "quay.json").write_text(json.dumps({"name": "quay", "questions": []}), encoding="utf-8")
    with pytest.raises(ProjectError, match=r"quay\.json is not a question set"):
        read_projects(tmp_path)
