"""The confidence rules: when to answer, when to ask back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.retrieval.ranking_builders import even_shares

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol import Verdict
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import evidence, judge
from cairn.settings.tree import VerdictSettings


def passage(title: str, text: str, path: str = "docs/a.md", collection: str = "help-docs") -> StoredChunk:
    chunk = Chunk(0, 0, 1, text, ChunkType.PROSE, title=title, header_path=title)
    return StoredChunk(0, path, "docs", collection, chunk, "")


def definition(name: str, path: str) -> StoredChunk:
    chunk = Chunk(0, 0, 1, f"class {name}: pass", ChunkType.CODE, title=name, symbol=name, defines=(name,))
    return StoredChunk(0, path, "source", "app-source", chunk, "")


def ranked(*found: StoredChunk, scores: Sequence[float] = (0.9, 0.3, 0.2, 0.1)) -> list[Ranked]:
    return [Ranked(0, stored, score, "keyword", ()) for stored, score in zip(found, scores, strict=False)]


def judged(query: str, *found: StoredChunk, scores: Sequence[float] = (0.9, 0.3, 0.2, 0.1)) -> Verdict:
    asked = understand(query)
    return judge(asked, ranked(*found, scores=scores), VerdictSettings(), even_shares(asked))


WORKSPACE = passage("Workspace", "The workspace holds all your panels.", "docs/workspace.md")
HOME_PAGE = passage("Home", "Home is the entry of the app.", "docs/home.md")
HOME_WIDGET = passage("Home", "The home widget shows quick links.", "docs/home-widget.md")
WIDGETS = passage("Widgets", "Tiles in the workspace.", "docs/widgets.md")


@pytest.mark.parametrize(
    ("query", "found", "action", "message"),
    [
        ("explain workspace", (WORKSPACE, HOME_PAGE), "answer", ""),
        (
            "home",
            (HOME_PAGE, HOME_WIDGET),
            "clarify",
            "Do you mean Home (docs/home.md) or Home (docs/home-widget.md)?",
        ),
        ("tell me about panels", (WORKSPACE,), "clarify", "I think you mean Workspace. Is that right?"),
        (
            "tell me about tiles in the workspace",
            (passage("Other", "A workspace."), WIDGETS),
            "clarify",
            "I’m not sure which part you mean. Are you asking about Other? If not, tell me its name.",
        ),
        ("calendar", (WORKSPACE, HOME_PAGE), "noMatch", "Which part should I explain?"),
        ("anything", (), "noMatch", "Which part should I explain?"),
        ("workspace or widgets", (WORKSPACE, WIDGETS), "answer", "Which one should I go deeper on?"),
    ],
)
def test_rules(query: str, found: tuple[StoredChunk, ...], action: str, message: str) -> None:
    verdict = judged(query, *found)
    assert (verdict.action, verdict.message) == (action, message)


@pytest.mark.parametrize(
    "settings",
    [{"min_score": 100.0}, {"min_coverage": 1.01}],
    ids=lambda settings: next(iter(settings)),
)
def test_thresholds_can_be_moved(settings: Mapping[str, float]) -> None:
    query, found = understand("workspace"), ranked(WORKSPACE, WIDGETS)
    assert judge(query, found, VerdictSettings(), (1.0,)).action == "answer"
    assert judge(query, found, VerdictSettings(**settings), (1.0,)).action != "answer"


def test_an_answer_needs_no_result_that_leads() -> None:
    others = (passage("Workspace of others", "Theirs.", f"docs/{n}.md") for n in range(3))
    verdict = judged("workspace panels", WORKSPACE, *others, scores=(0.5, 0.49, 0.48, 0.47))
    assert (verdict.action, verdict.candidates[0].path) == ("answer", "docs/workspace.md")
    assert verdict.confidence == pytest.approx(1 - 0.48 / 0.5)


def test_categories_tell_apart_what_has_one_title() -> None:
    widget = passage("Home", "The home widget.", "docs/home-widget.md", "widgets-docs")
    assert judged("home", HOME_PAGE, widget).message == "Do you mean Home (help-docs) or Home (widgets-docs)?"


def test_two_definitions_of_the_name_that_was_asked_for_are_asked_about() -> None:
    old, new = definition("ParseError", "v3/errors.ts"), definition("ParseError", "v4/errors.ts")
    assert judged("ParseError", old, new).message == "Do you mean ParseError (v3) or ParseError (v4)?"
    assert judged("ParseError", old, definition("Parser", "v4/parser.ts")).action == "answer"


def test_a_second_passage_of_the_first_file_is_no_rival() -> None:
    verdict = judged("workspace", WORKSPACE, WORKSPACE, WORKSPACE, scores=(0.9, 0.9, 0.9))
    assert (verdict.action, verdict.confidence) == ("answer", 1.0)


def test_rare_terms_count_more() -> None:
    query = understand("workspace kubernetes")
    assert query.terms == ("workspace", "kubernetes")
    rarely = judge(query, ranked(WORKSPACE), VerdictSettings(), shares=(0.8, 0.2))
    mostly = judge(query, ranked(WORKSPACE), VerdictSettings(), shares=(0.2, 0.8))
    assert rarely.coverage == pytest.approx(0.8)
    assert (mostly.action, mostly.coverage) == ("noMatch", pytest.approx(0.2))


def test_names_of_several_words_are_not_two_questions() -> None:
    both = passage("Search and replace", "Finds text and changes it.", "docs/replace.md")
    search = passage("Search", "Finds text.", "docs/search.md")
    verdict = judged("search and replace", both, search)
    assert [candidate.title for candidate in verdict.candidates] == ["Search and replace"]
    assert verdict.action == "answer"


def test_a_phrase_in_the_title_scores_as_s2_says() -> None:
    links = passage("Quick links", "One click away.", "docs/other.md")
    # 5 for the phrase, 3 for each term in the title and 2 for each in the headings.
    assert evidence(understand("quick links"), links, (0.5, 0.5)).score == pytest.approx(5 + 2 * 3 + 2 * 2)
