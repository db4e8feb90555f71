"""Tests of the benchmark of facts in answers: sets, scores, citations, baselines, tables and plot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from answers import plot, report
from answers.__main__ import results
from answers.asking import DISCOVER, SEARCH, Retrieved, ask_discover, ask_search, one_text, passages_text
from answers.baselines import SEMBLE, around, ask_semble
from answers.citations import Cited, cited_in_answer, cited_in_prompt
from answers.explained import explained
from answers.facts import BUDGETS, Fact, FactQuestion, found, plain, read_fact_sets, translated
from answers.in_process import changes
from answers.in_process import retrieve as retrieve_in_process
from answers.measurement import Answers, measure
from answers.summary import by_question, summary
from answers.workplaces import Workplace
from engine.index_file import UnavailableError
from retrieval.sets import Repository, SetError

QUAY = Repository("quay", "python", "https://example.org/quay", "abc", ".")
LENGTH = Fact(("MAX_LENGTH = 30", "at most 30 m"), "berth.py:3", "the limit", vital=True)
CALLER = Fact(("moor(ship)",), "port.py:9", "who calls it", vital=False)
HOW_LONG = FactQuestion("quay-01", "own", QUAY, "constant", "How long may a ship be?", (LENGTH, CALLER))
WHY_FREE = FactQuestion("quay-02", "own", QUAY, "unanswerable", "Why is it free?", ())


# --- sets and scores ------------------------------------------------------------------------------


def make_set(folder: Path, *questions: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "repos.tsv").write_text("quay\tpython\thttps://example.org/quay\tabc\t.\n")
    (folder / "facts.json").write_text(json.dumps(questions))
    return folder


FACT = {"any": ["at most 30 m"], "path": "berth.py", "line": 3, "why": "the limit", "vital": True}
ASKED = {"id": "quay-01", "repo": "quay", "kind": "constant", "q": "How long?", "facts": [FACT], "note": ""}


def test_set_is_read_with_its_repository_and_facts(tmp_path: Path) -> None:
    (question,) = read_fact_sets([make_set(tmp_path / "own", ASKED)])
    assert (question.id, question.set, question.repository, question.answerable) == (
        "quay-01",
        "own",
        QUAY,
        True,
    )
    assert question.facts == (Fact(("at most 30 m",), "berth.py:3", "the limit", vital=True),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"facts": []}, "needs facts"),
        ({"kind": "unanswerable"}, "needs facts"),
        ({"facts": [{**FACT, "any": [" ` "]}]}, "empty snippet"),
        ({"facts": [{**FACT, "any": []}]}, "empty snippet"),
        ({"repo": "pier"}, "not a question"),
    ],
)
def test_set_refuses_questions_that_no_text_could_answer(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(SetError, match=message):
        read_fact_sets([make_set(tmp_path / "own", {**ASKED, **change})])


def test_sets_refuse_one_id_twice_and_unknown_names(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "own", ASKED)
    with pytest.raises(SetError, match="several questions have the id quay-01"):
        read_fact_sets([folder, make_set(tmp_path / "kept", ASKED)])
    with pytest.raises(SetError, match="no questions about pier"):
        read_fact_sets([folder], ["pier"])


def test_fact_is_found_despite_spaces_marks_and_case() -> None:
    assert plain("`MAX_LENGTH`  =\n30 \\*") == "maxlength=30"
    assert found((LENGTH, CALLER), "max_length\t= 30", 500) == (True, False)
    assert found((LENGTH,), "… **at most** 30 m", 500) == (True,)


def test_fact_beyond_the_budget_is_not_found() -> None:
    within = "x" * (500 * 4 - len("moor(ship)")) + "moor(ship)"
    assert found((CALLER,), within, 500) == (True,)
    assert found((CALLER,), "x" + within, 500) == (False,)


def test_shares_count_facts_and_vital_ones() -> None:
    retrieved = one_text(HOW_LONG, "MAX_LENGTH = 30" + " " * 2_500 + "moor(ship)", 1.0)
    assert (retrieved.share(500), retrieved.share(1_000)) == (0.5, 1.0)
    assert retrieved.share(500, vital=True) == 1.0
    assert (retrieved.needed(LENGTH), retrieved.needed(CALLER)) == (500, 1_000)
    assert one_text(WHY_FREE, "", 1.0).share(500) is None


def test_translation_asks_the_same_facts_in_other_words() -> None:
    (translation,) = translated([HOW_LONG, WHY_FREE], {"quay-01": "Wie lang darf ein Schiff sein?"})
    assert (translation.text, translation.facts) == ("Wie lang darf ein Schiff sein?", HOW_LONG.facts)


# --- requests -------------------------------------------------------------------------------------


class Served:
    """Answers like Cairn, and records the requests."""

    def __init__(self, **answer: Any) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer = {"retrieval": {"phase": 3, "wanted": 3}, **answer}

    def __call__(self, method: str, params: dict[str, Any]) -> Any:
        self.requests.append(params)
        budget = params.get("config", {}).get("render", {}).get("maxPromptTokens", 0)
        return {**self.answer, "answerPrompt": f"within {budget}"}


def test_discover_requests_each_budget_in_characters(tmp_path: Path) -> None:
    served = Served(verdict={"action": "answer"}, bullets=[{}])
    retrieved = ask_discover(served, HOW_LONG, tmp_path)
    renders = [params["config"]["render"] for params in served.requests]
    assert sorted(render["maxPromptTokens"] for render in renders) == list(BUDGETS)
    assert {render["tokenizer"] for render in renders} == {"characters"}
    assert retrieved.texts == {budget: f"within {budget}" for budget in BUDGETS}
    assert (retrieved.action, retrieved.refused, retrieved.phases_lost) == ("answer", False, 0)


@pytest.mark.parametrize(
    ("action", "bullets", "refused"),
    [("noMatch", [], True), ("clarify", [], True), ("clarify", [{}], False), ("answer", [], False)],
)
def test_clarifying_question_with_evidence_is_not_a_refusal(
    tmp_path: Path, action: str, bullets: list[Any], refused: bool
) -> None:
    served = Served(verdict={"action": action}, bullets=bullets)
    assert ask_discover(served, WHY_FREE, tmp_path).refused is refused


def test_excerpts_of_the_answer_are_compared_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "berth.py").write_text("one\ntwo\nthree\n")
    lines = {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}}
    excerpts = [{"path": "berth.py", "range": lines, "text": text} for text in ("two\nthree\n", "two\nThree")]
    served = Served(verdict={"action": "clarify"}, bullets=[], excerpts=excerpts)
    retrieved = ask_discover(served, HOW_LONG, tmp_path)
    assert (len(retrieved.cited), retrieved.standing) == (2 * len(BUDGETS), len(BUDGETS))
    assert not retrieved.refused  # An excerpt is evidence.


def test_passages_of_search_stand_below_path_and_lines(tmp_path: Path) -> None:
    lines = {"start": {"line": 4}, "end": {"line": 7}}
    result = {"path": "berth.py", "range": lines, "snippet": "def moor(ship):\n    …\n"}
    served = Served(
        verdict={"action": "clarify"}, results=[result, result], retrieval={"phase": 2, "wanted": 3}
    )
    retrieved = ask_search(served, HOW_LONG, tmp_path)
    assert retrieved.texts[500] == "berth.py:5-7\ndef moor(ship):\n    …\n\n" * 2
    assert (retrieved.action, retrieved.refused, retrieved.phases_lost) == ("clarify", False, 1)


def test_further_passages_of_a_file_follow_its_best_one(tmp_path: Path) -> None:
    (tmp_path / "berth.py").write_text("one\ntwo\nthree\n")
    lines, further = ({"start": {"line": line}, "end": {"line": line + 1}} for line in (0, 2))
    passages = [{"range": further, "text": text} for text in ("three\n", "Three\n")]
    results = [{"path": "berth.py", "range": lines, "snippet": "one\n", "passages": passages}]
    retrieved = ask_search(Served(verdict={"action": "answer"}, results=results), HOW_LONG, tmp_path)
    assert retrieved.texts[500] == "berth.py:1-1\none\n\nberth.py:3-3\nthree\n\nberth.py:3-3\nThree\n\n"
    assert (len(retrieved.cited), retrieved.standing) == (2, 1)


def test_daemon_and_in_process_retrieve_the_same_text(
    workspace: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(bare_data_dir))  # The test changes this copy.
    tides = Fact(("harmonic constituents",), "src/harbour/tides.py:1", "what they are made of", vital=True)
    question = FactQuestion("harbour-01", "own", QUAY, "how", "How are tide tables made?", (tides,))
    place = Workplace(QUAY, workspace, bare_data_dir / "quay", (question,))
    by_daemon = measure(
        [place], [DISCOVER, SEARCH], None, {"de": {"harbour-01": "Wie entstehen Tidentafeln?"}}
    )
    in_process = retrieve_in_process([place], [DISCOVER, SEARCH], {})
    assert by_daemon.indexes["quay"]["model"] == "cairn-code"
    for name in (DISCOVER, SEARCH):
        (served,), (here,) = by_daemon.retrieved[name], in_process[name]
        assert served.texts[500]
        assert served.texts == here.texts
        assert served.action == here.action
        assert [each.question.text for each in by_daemon.translated["de"][name]] == [
            "Wie entstehen Tidentafeln?"
        ]


# --- citations ------------------------------------------------------------------------------------

PROMPT = """\
## Excerpts

### src/berth.py
```python
   2 two
       three
…
   9 nine
  10   ten
… Berth.leave
  14 fourteen
  16 sixteen
```
### berth.md
````markdown
   1 ```sh
     run
     ```
     - [b](/berth.py#L9)
````
Other words about src/berth.py#L9, and none of its lines.
### port.py
~~~
   7 seven
"""


def test_numbered_lines_below_a_path_are_cited() -> None:
    assert list(cited_in_prompt(PROMPT)) == [
        Cited("src/berth.py", 2, 3, ("two", "  three"), laid_out=True),
        Cited("src/berth.py", 9, 10, ("nine", "  ten"), laid_out=True),
        Cited("src/berth.py", 14, 15, (), laid_out=True),
        Cited("berth.md", 1, 4, ("```sh", "run", "```", "- [b](/berth.py#L9)"), laid_out=True),
    ]


def test_lines_of_a_prompt_stand_without_their_common_indentation(tmp_path: Path) -> None:
    (tmp_path / "berth.py").write_text("one\n    two  \n      three\n")
    assert Cited("berth.py", 2, 3, ("two", "  three"), laid_out=True).matches_file(tmp_path)
    assert not Cited("berth.py", 2, 3, ("two", "  three")).matches_file(tmp_path)
    assert not Cited("berth.py", 2, 3, ("two", "three"), laid_out=True).matches_file(tmp_path)


@pytest.mark.parametrize(
    ("first", "last", "lines", "stand"),
    [
        (2, 3, ("two", "  three"), True),
        (2, 3, ("two", "three"), False),
        (2, 3, ("two",), False),
        (1, 2, ("two", "  three"), False),
        (9, 9, (), False),
        (2, 3, (), False),
    ],
)
def test_cited_lines_stand_only_as_they_are(
    tmp_path: Path, first: int, last: int, lines: tuple[str, ...], stand: bool
) -> None:
    (tmp_path / "berth.py").write_bytes(b"one\r\ntwo\r\n  three\r\n")
    assert Cited("berth.py", first, last, lines).matches_file(tmp_path) is stand


def test_lines_of_a_missing_file_do_not_stand(tmp_path: Path) -> None:
    assert not Cited("gone.py", 1, 1, ("one",)).matches_file(tmp_path)


def test_excerpt_that_cites_other_lines_than_its_own_does_not_stand(tmp_path: Path) -> None:
    (tmp_path / "berth.py").write_text("one\ntwo\nthree\n")
    excerpt = {
        "path": "berth.py",
        "range": {"start": {"line": 1}, "end": {"line": 3}},
        "text": "two\nthree\n",
    }
    both = [{**excerpt, "citation": f"berth.py#L{lines}"} for lines in ("2-L3", "1-L3")]
    assert [each.matches_file(tmp_path) for each in cited_in_answer({"excerpts": both})] == [True, False]


def test_answer_without_excerpts_cites_nothing() -> None:
    assert list(cited_in_answer({"bullets": []})) == []


# --- baselines ------------------------------------------------------------------------------------


def test_windows_around_hits_are_merged_and_end_with_the_file() -> None:
    assert around([2, 9, 30], 31) == [(1, 12), (27, 31)]
    assert around([2, 10], 40) == [(1, 5), (7, 13)]
    assert around([], 40) == []


def test_semble_without_an_interpreter_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="--semble"):
        ask_semble(None, tmp_path, [HOW_LONG], ["code"])
    with pytest.raises(UnavailableError, match=r"semble failed: .*No module named"):
        ask_semble(Path(sys.executable), tmp_path, [HOW_LONG], ["code"])


def test_passages_with_different_paths_or_lines_are_distinct() -> None:
    assert passages_text([("a.py", 1, 2, "x\n"), ("b.py", 3, 3, "y")]) == "a.py:1-2\nx\n\nb.py:3-3\ny\n\n"


# --- figures --------------------------------------------------------------------------------------


def answer_text(text: str, action: str, question: FactQuestion = HOW_LONG, **known: Any) -> Retrieved:
    return one_text(question, text, 5.0, action=action, **known)


def test_shares_are_means_over_answerable_questions() -> None:
    output = summary(
        [
            answer_text("MAX_LENGTH = 30", "answer", cited=(Cited("a.py", 1, 1, ("x",)),) * 2, standing=1),
            answer_text("moor(ship) at most 30 m", "noMatch"),
            answer_text("moor(ship)", "noMatch", WHY_FREE),
        ]
    )
    assert output["facts"] == dict.fromkeys(map(str, BUDGETS), 0.75)
    assert output["vital_facts"]["500"] == 1.0
    assert output["facts_by_kind"] == {"constant": {"questions": 2, "facts": 0.75}}
    assert output["actions"] == {"answerable": {"answer": 1, "noMatch": 1}, "unanswerable": {"noMatch": 1}}
    assert (output["answered"], output["answerable_refused"], output["refused"]) == (0.5, 0.5, 1.0)
    assert (output["cited"], output["standing"]) == (2, 0.5)


def test_system_without_verdicts_has_no_share_of_refusals() -> None:
    output = summary([answer_text("", ""), answer_text("", "", WHY_FREE)])
    assert output["refused"] is output["answered"] is output["standing"] is None
    assert output["actions"] == {"answerable": {}, "unanswerable": {}}


def test_questions_report_the_least_budget_of_each_fact() -> None:
    (record,) = by_question([answer_text("at most 30 m", "answer")])
    assert record["found_from"] == {"berth.py:3": 500, "port.py:9": None}


def test_explanation_tells_found_and_missed_facts_with_the_text() -> None:
    output = explained(DISCOVER, answer_text("It is at most 30 m.", "answer"))
    assert "- found from 500 tokens: the limit (vital); berth.py:3" in output
    assert "- MISSED: who calls it; port.py:9: moor(ship)" in output
    assert output.rstrip().endswith("It is at most 30 m.")


def test_changes_list_better_and_worse_questions() -> None:
    before = {
        DISCOVER: by_question([answer_text("moor(ship)", "answer"), answer_text("", "noMatch", WHY_FREE)])
    }
    now = {DISCOVER: by_question([answer_text("", "answer"), answer_text("", "noMatch", WHY_FREE)])}
    assert changes(before, now) == "- discover quay-01: 0.50 → 0.00"
    assert changes(now, before) == "+ discover quay-01: 0.00 → 0.50"
    assert changes(now, now) == ""


@pytest.fixture
def recorded(tmp_path: Path) -> dict[str, Any]:
    measured = Answers()
    measured.retrieved[DISCOVER] = [
        answer_text("MAX_LENGTH = 30 moor(ship)", "answer"),
        answer_text("", "clarify", WHY_FREE),
    ]
    measured.retrieved[SEARCH] = [answer_text("moor(ship)", "answer"), answer_text("", "noMatch", WHY_FREE)]
    measured.translated["de"][DISCOVER] = [answer_text("moor(ship)", "answer")]
    measured.translated["de"][SEARCH] = [answer_text("moor(ship)", "answer")]
    measured.unavailable[SEMBLE] = "--semble does not name an interpreter with semble"
    figures = dict.fromkeys(("files", "chunks", "index_mb"), 1) | {"model": "cairn-code"}
    measured.indexes["quay"] = {**figures, "all_files_indexed_s": 1.5, "ready_s": None}
    place = Workplace(QUAY, tmp_path, tmp_path, (HOW_LONG, WHY_FREE))
    return results(measured, [place], [tmp_path / "own"], [DISCOVER, SEARCH, SEMBLE])


def test_tables_have_shares_by_budget_and_unavailable_systems(recorded: dict[str, Any]) -> None:
    output = report.markdown(json.loads(json.dumps(recorded)))
    assert "| discover | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in output
    assert "| constant | 1 | 1.000 | 0.500 |" in output
    assert "| semble | not available: --semble does not name an interpreter with semble |" in output
    assert "| search | 1 answer | 100% | 0% | 1 noMatch | 100% |" in output


def test_other_languages_are_compared_with_the_same_questions_in_english(recorded: dict[str, Any]) -> None:
    assert recorded["translations"]["de"][DISCOVER] == {
        "questions": 1,
        "facts": 0.5,
        "english": 1.0,
        "of_english": 0.5,
    }
    assert "| de | search | 1 | 0.500 | 0.500 | 100% |" in report.markdown(recorded)


def test_plot_has_a_line_for_each_measured_system(recorded: dict[str, Any]) -> None:
    svg = "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(plot.svg(recorded["systems"]))
    words = {each.text for each in drawn.iter(f"{svg}text")}
    assert {DISCOVER, SEARCH, "4,000"} <= words
    assert SEMBLE not in words
    thick = [each.get("stroke") for each in drawn.iter(f"{svg}line") if each.get("stroke-width") == "2"]
    assert len(thick) == 2 * (len(BUDGETS) - 1)
    assert len(set(thick)) == 2
