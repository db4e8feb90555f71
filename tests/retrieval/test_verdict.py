"""The verdict says when to answer, to ask back, or that nothing matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from attrs import evolve
from tests.retrieval.ranking_builders import even_shares

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol import Verdict
from cairn.protocol.search_messages import ChunkType
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import NOTHING_MATCHES, WEAK, WHICH_FIRST, evidence, judge, likelihood
from cairn.retrieval.window_ranking import Strength
from cairn.settings.tree import VerdictSettings

SHIPPED = VerdictSettings()


def passage(title: str, text: str, path: str = "docs/a.md", collection: str = "help-docs") -> StoredChunk:
    chunk = Chunk(0, 0, 1, text, ChunkType.PROSE, title=title, header_path=title)
    return StoredChunk(0, path, "docs", collection, chunk, "")


def definition(name: str, path: str) -> StoredChunk:
    chunk = Chunk(0, 0, 1, f"class {name}: pass", ChunkType.CODE, title=name, symbol=name, defines=(name,))
    return StoredChunk(0, path, "source", "app-source", chunk, "")


def ranked(*found: StoredChunk, scores: Sequence[float] = (0.9, 0.3, 0.2, 0.1)) -> list[Ranked]:
    return [Ranked(0, stored, score, "keyword", ()) for stored, score in zip(found, scores, strict=False)]


def judged(
    text: str,
    *found: StoredChunk,
    scores: Sequence[float] = (0.9, 0.3, 0.2, 0.1),
    strength: Strength | None = None,
    settings: VerdictSettings = SHIPPED,
) -> Verdict:
    query = understand(text)
    return judge(query, ranked(*found, scores=scores), settings, even_shares(query), strength)


WORKSPACE = passage("Workspace", "The workspace holds all your panels.", "docs/workspace.md")
HOME_PAGE = passage("Home", "Home is the entry of the app.", "docs/home.md")
HOME_WIDGET = passage("Home", "The home widget shows quick links.", "docs/home-widget.md")
WIDGETS = passage("Widgets", "Tiles in the workspace.", "docs/widgets.md")


# --- by matching words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found", "action", "message"),
    [
        ("explain workspace", (WORKSPACE, HOME_PAGE), "answer", ""),
        ("home", (HOME_PAGE, HOME_WIDGET), "clarify", "Do you mean Home (docs/home.md) or Home (docs/home-widget.md)?"),  # noqa: E501
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
)  # fmt: skip
def test_rules(query: str, found: tuple[StoredChunk, ...], action: str, message: str) -> None:
    verdict = judged(query, *found)
    assert (verdict.action, verdict.message) == (action, message)


@pytest.mark.parametrize(
    "settings", [{"min_score": 100.0}, {"min_coverage": 1.01}], ids=lambda each: next(iter(each))
)
def test_word_thresholds_can_be_moved(settings: Mapping[str, float]) -> None:
    assert judged("workspace", WORKSPACE, WIDGETS).action == "answer"
    assert judged("workspace", WORKSPACE, WIDGETS, settings=VerdictSettings(**settings)).action != "answer"


def test_an_answer_needs_no_lead() -> None:
    others = (passage("Workspace of others", "Theirs.", f"docs/{n}.md") for n in range(3))
    verdict = judged("workspace panels", WORKSPACE, *others, scores=(0.5, 0.49, 0.48, 0.47))
    assert (verdict.action, verdict.candidates[0].path) == ("answer", "docs/workspace.md")
    assert verdict.confidence == pytest.approx(1 - 0.48 / 0.5)


def test_categories_distinguish_equal_titles() -> None:
    widget = passage("Home", "The home widget.", "docs/home-widget.md", "widgets-docs")
    assert judged("home", HOME_PAGE, widget).message == "Do you mean Home (help-docs) or Home (widgets-docs)?"


def test_two_definitions_of_a_name_need_a_choice() -> None:
    old, new = definition("ParseError", "v3/errors.ts"), definition("ParseError", "v4/errors.ts")
    assert judged("ParseError", old, new).message == "Do you mean ParseError (v3) or ParseError (v4)?"
    assert judged("ParseError", old, definition("Parser", "v4/parser.ts")).action == "answer"


def test_a_definition_that_comes_first_is_the_answer() -> None:
    """Neither the length of its text, nor a longer name, nor a test's definition casts doubt on it."""
    long = evolve(definition("Berth", "src/berth.py").chunk, text="class Berth:\n" + "    dock = 1\n" * 2_000)
    berth = evolve(definition("Berth", "src/berth.py"), chunk=long)
    for other in (definition("CustomBerth", "src/custom.py"), definition("Berth", "tests/berth.py")):
        assert judged("Berth", berth, other, scores=(0.5, 0.49)).action == "answer"
    assert judged("Berth", berth, definition("Berth", "src/old.py"), scores=(0.5, 0.49)).action == "clarify"


def test_a_passage_with_the_quoted_text_is_the_answer() -> None:
    found = passage("Ropes", "A rope may snap: release the winch."), passage("Winch", "Snap!", "docs/b.md")
    assert judged('"snap: release"', *found).action == "answer"
    assert judged('"snap: hold"', *found).action != "answer"


def test_a_question_that_named_the_project_is_no_name() -> None:
    query = understand("how does it hoist mocks")
    found = ranked(definition("hoistMocks", "src/a.py"), passage("Hoist mocks", "Hoisting mocks."))
    strength = Strength(0.9, (frozenset({0, 1}),), 0)
    actions = [
        judge(each, found, SHIPPED, even_shares(each), strength).action
        for each in (query, evolve(query, names_project=True))
    ]
    assert actions == ["clarify", "answer"]


def test_a_second_passage_of_the_first_file_is_not_a_rival() -> None:
    verdict = judged("workspace", WORKSPACE, WORKSPACE, WORKSPACE, scores=(0.9, 0.9, 0.9))
    assert (verdict.action, verdict.confidence) == ("answer", 1.0)


def test_rare_terms_count_more() -> None:
    query = understand("workspace kubernetes")
    assert query.terms == ("workspace", "kubernetes")
    common, rare = (judge(query, ranked(WORKSPACE), SHIPPED, shares) for shares in ((0.8, 0.2), (0.2, 0.8)))
    assert common.coverage == pytest.approx(0.8)
    assert (rare.action, rare.coverage) == ("noMatch", pytest.approx(0.2))


def test_a_name_of_several_words_is_not_two_questions() -> None:
    both = passage("Search and replace", "Finds text and changes it.", "docs/replace.md")
    verdict = judged("search and replace", both, passage("Search", "Finds text.", "docs/search.md"))
    assert [candidate.title for candidate in verdict.candidates] == ["Search and replace"]
    assert verdict.action == "answer"


def test_one_result_does_not_answer_two_questions() -> None:
    both = passage("Workspace home", "The first page.", "docs/both.md")
    assert judged("workspace or home", both).message != WHICH_FIRST


def test_a_phrase_in_the_title_has_the_most_points() -> None:
    links = passage("Quick links", "One click away.", "docs/other.md")
    # 5 for the phrase, 3 for each term in the title and 2 for each in the headings.
    assert evidence(understand("quick links"), links).score == pytest.approx(5 + 2 * 3 + 2 * 2)


# --- by the best passages --------------------------------------------------------------------------

TILES = passage("Widgets", "Tiles of the dashboard.", "docs/widgets.md")
NEAR, FAR = Strength(0.7, (frozenset({0, 1, 2, 3}),), 0), Strength(0.1, (frozenset({0}),), 0)
BETWEEN = Strength(0.40, (frozenset({0, 1}),), 0)
LONG = "how are panels kept in the workspace when tiles move"


def judged_by(strength: Strength | None, text: str = LONG, settings: VerdictSettings = SHIPPED) -> Verdict:
    return judged(text, WORKSPACE, TILES, strength=strength, settings=settings)


@pytest.mark.parametrize(
    ("settings", "strength", "action", "message"),
    [
        ({}, NEAR, "answer", ""),
        ({}, BETWEEN, "answer", WEAK),
        ({}, FAR, "noMatch", NOTHING_MATCHES),
        ({"min_evidence": 1.0}, NEAR, "noMatch", NOTHING_MATCHES),
        ({"min_evidence": 0.0}, FAR, "answer", WEAK),
        ({"sure_evidence": 0.0}, BETWEEN, "answer", ""),
        ({"sure_evidence": 1.0}, NEAR, "answer", WEAK),
    ],
)
def test_passages_and_thresholds_decide_long_questions(
    settings: dict[str, float], strength: Strength, action: str, message: str
) -> None:
    verdict = judged_by(strength, settings=VerdictSettings(**settings))
    assert (verdict.action, verdict.message) == (action, message)
    assert bool(verdict.candidates) is (action == "answer")


def test_evidence_with_the_words_in_one_definition_is_not_weak() -> None:
    words = frozenset(range(len(understand(LONG).terms)))
    assert len(words) > 4
    together = evolve(BETWEEN, terms_by_definition=(frozenset({0}), words - {0}))
    assert judged_by(together).message == ""
    scattered = evolve(BETWEEN, terms_by_definition=tuple(frozenset({term}) for term in words))
    assert judged_by(scattered).message == WEAK
    assert judged_by(evolve(together, similarity=0.1, terms_by_file=())).action == "noMatch"


def test_near_passages_answer_without_a_word_of_the_question() -> None:
    query, near = "where does the captain steer his large vessel", Strength(0.7, (), 0)
    assert judged_by(near, query).action == "answer"
    assert judged(query, strength=near).action == "noMatch"


def test_an_introduction_answers_a_short_question() -> None:
    between = Strength(0.45, (frozenset({0}),), 0)
    ask = partial(judged, "what is home", HOME_PAGE, HOME_WIDGET)
    assert ask(strength=between).action == "clarify"
    introduced = ask(strength=evolve(between, introductions=((0, HOME_WIDGET),)))
    assert (introduced.action, introduced.message) == ("answer", "")
    assert [candidate.path for candidate in introduced.candidates] == [HOME_WIDGET.path]


def chance(strength: Strength, text: str = LONG) -> float:
    query = understand(text)
    found = likelihood(query, even_shares(query), strength)
    assert found is not None
    return found


def test_each_feature_changes_the_likelihood() -> None:
    usual = chance(BETWEEN)
    assert chance(evolve(BETWEEN, similarity=0.5)) > usual
    assert chance(evolve(BETWEEN, terms_by_file=(frozenset(), frozenset({0, 1, 2})))) > usual
    assert chance(evolve(BETWEEN, missing_names=1)) < usual
    which, how = (
        f"{words} the workspace hold panels and tiles" for words in ("which option makes", "how does")
    )
    assert chance(BETWEEN, which) < chance(BETWEEN, how)


def test_the_file_with_most_of_the_question_counts() -> None:
    scattered = evolve(BETWEEN, terms_by_file=(frozenset({0}), frozenset({1}), frozenset({2})))
    together = evolve(BETWEEN, terms_by_file=(frozenset({0}), frozenset({0, 1, 2})))
    assert chance(together) > chance(scattered)


@pytest.mark.parametrize("strength", [None, evolve(FAR, similarity=None)])
def test_words_decide_without_vectors(strength: Strength | None) -> None:
    assert judged_by(strength, "workspace panels tiles").action == "answer"
    assert judged_by(strength, "workspace kubernetes docker helm terraform").action == "noMatch"


def test_passages_do_not_outweigh_the_words_of_a_name() -> None:
    near = evolve(NEAR, terms_by_file=(frozenset({0}),))
    assert judged_by(FAR, "explain workspace").action == "answer"
    assert judged("explain home", HOME_PAGE, HOME_WIDGET, strength=near).message == (
        "Do you mean Home (docs/home.md) or Home (docs/home-widget.md)?"
    )
    assert judged_by(near, "tell me about panels").message == "I think you mean Workspace. Is that right?"
    assert judged_by(near, "explain calendar").action == "noMatch"
