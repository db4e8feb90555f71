"""Whether there is evidence for a question, by what the best passages show: what is answered, weak, or not there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve
from tests.retrieval.ranking_builders import even_shares

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol import Verdict
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.passages.strength import Strength
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import NOTHING_MATCHES, WEAK, judge, likelihood
from cairn.settings.tree import VerdictSettings


def passage(title: str, text: str, path: str) -> StoredChunk:
    chunk = Chunk(0, 0, 1, text, ChunkType.PROSE, title=title, header_path=title)
    return StoredChunk(0, path, "docs", "help-docs", chunk, "")


SHIPPED = VerdictSettings()
WORKSPACE = passage("Workspace", "The workspace holds all your panels.", "docs/workspace.md")
WIDGETS = passage("Widgets", "Tiles of the dashboard.", "docs/widgets.md")
HOME_PAGE = passage("Home", "Home is the entry of the app.", "docs/home.md")
HOME_WIDGET = passage("Home", "The home widget shows quick links.", "docs/home-widget.md")

NEAR, FAR = Strength(0.7, (frozenset({0, 1, 2, 3}),), 0), Strength(0.1, (frozenset({0}),), 0)
BETWEEN = Strength(0.45, (frozenset({0, 1}),), 0)
LONG = "how are panels kept in the workspace when tiles move"


def judged(
    query: str,
    strength: Strength | None,
    found: Sequence[StoredChunk] = (WORKSPACE, WIDGETS),
    settings: VerdictSettings = SHIPPED,
) -> Verdict:
    asked = understand(query)
    ranked = [Ranked(0, stored, 0.9 / 2**place, "keyword", ()) for place, stored in enumerate(found)]
    return judge(asked, ranked, settings, even_shares(asked), strength)


@pytest.mark.parametrize(
    ("strength", "action", "message"),
    [(NEAR, "answer", ""), (BETWEEN, "answer", WEAK), (FAR, "noMatch", NOTHING_MATCHES)],
)
def test_passages_decide_about_a_longer_question(strength: Strength, action: str, message: str) -> None:
    verdict = judged(LONG, strength)
    assert (verdict.action, verdict.message) == (action, message)
    assert bool(verdict.candidates) is (action == "answer")


def test_near_passages_answer_without_a_word_of_the_question() -> None:
    query = "where does the captain steer his large vessel"
    assert judged(query, Strength(0.7, (), 0)).action == "answer"
    assert judged(query, Strength(0.7, (), 0), found=()).action == "noMatch"


def test_what_is_introduced_is_answered_however_short_the_question() -> None:
    between = Strength(0.45, (frozenset({0}),), 0)
    unsure = judged("what is home", between, found=(HOME_PAGE, HOME_WIDGET))
    introduced = judged(
        "what is home", evolve(between, introductions=((0, HOME_WIDGET),)), found=(HOME_PAGE, HOME_WIDGET)
    )
    assert unsure.action == "clarify"
    assert (introduced.action, introduced.message) == ("answer", "")
    assert [candidate.path for candidate in introduced.candidates] == [HOME_WIDGET.path]


def chance(query: str, strength: Strength) -> float:
    asked = understand(query)
    found = likelihood(asked, even_shares(asked), strength)
    assert found is not None
    return found


def test_each_sign_makes_an_answer_more_or_less_likely() -> None:
    usual = chance(LONG, BETWEEN)
    assert chance(LONG, evolve(BETWEEN, similarity=0.5)) > usual
    assert chance(LONG, evolve(BETWEEN, terms_by_file=(frozenset(), frozenset({0, 1, 2})))) > usual
    assert chance(LONG, evolve(BETWEEN, missing_names=1)) < usual
    assert chance("how does the workspace hold panels and tiles", BETWEEN) > chance(
        "which option makes the workspace hold panels and tiles", BETWEEN
    )


def test_the_file_that_holds_most_of_the_question_counts() -> None:
    scattered = evolve(BETWEEN, terms_by_file=(frozenset({0}), frozenset({1}), frozenset({2})))
    together = evolve(BETWEEN, terms_by_file=(frozenset({0}), frozenset({0, 1, 2})))
    assert chance(LONG, together) > chance(LONG, scattered)


@pytest.mark.parametrize("strength", [None, evolve(FAR, similarity=None)])
def test_without_vectors_the_words_decide(strength: Strength | None) -> None:
    assert judged("workspace panels tiles", strength).action == "answer"
    assert judged("workspace kubernetes docker helm terraform", strength).action == "noMatch"


def test_passages_do_not_outweigh_the_words_of_a_name() -> None:
    near = evolve(NEAR, terms_by_file=(frozenset({0}),))
    assert judged("explain workspace", FAR).action == "answer"
    assert judged("explain home", near, (HOME_PAGE, HOME_WIDGET)).message == (
        "Do you mean Home (docs/home.md) or Home (docs/home-widget.md)?"
    )
    assert judged("tell me about panels", near).message == "I think you mean Workspace. Is that right?"
    assert judged("explain calendar", near).action == "noMatch"


@pytest.mark.parametrize(
    ("settings", "strength", "action", "message"),
    [
        ({"min_evidence": 1.0}, NEAR, "noMatch", NOTHING_MATCHES),
        ({"min_evidence": 0.0}, FAR, "answer", WEAK),
        ({"sure_evidence": 0.0}, BETWEEN, "answer", ""),
        ({"sure_evidence": 1.0}, NEAR, "answer", WEAK),
    ],
)
def test_thresholds_of_evidence_can_be_moved(
    settings: dict[str, float], strength: Strength, action: str, message: str
) -> None:
    verdict = judged(LONG, strength, settings=VerdictSettings(**settings))
    assert (verdict.action, verdict.message) == (action, message)
