"""Whether there is evidence for a question: what is answered, asked back, or not there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.retrieval.ranking_builders import even_shares

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol import Verdict
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import judge, judge_evidence
from cairn.settings.tree import VerdictSettings

WHICH_PART = "Which part should I explain?"


def passage(title: str, text: str, path: str, collection: str = "help-docs") -> StoredChunk:
    chunk = Chunk(0, 0, 1, text, ChunkType.PROSE, title=title, header_path=title)
    return StoredChunk(0, path, "docs", collection, chunk, "")


def ranked(found: Sequence[StoredChunk], scores: Sequence[float] = ()) -> list[Ranked]:
    scores = scores or [0.9 / 2**place for place in range(len(found))]
    return [Ranked(0, stored, score, "keyword", ()) for stored, score in zip(found, scores, strict=True)]


def judged(query: str, *found: StoredChunk, similarity: float | None = None, static: bool = False) -> Verdict:
    asked = understand(query)
    settings = VerdictSettings()
    return judge_evidence(asked, ranked(found), settings, even_shares(asked), similarity, static=static)


WORKSPACE = passage("Workspace", "The workspace holds all your panels.", "docs/workspace.md")
WIDGETS = passage("Widgets", "Tiles of the dashboard.", "docs/widgets.md")
HOME_PAGE = passage("Home", "Home is the entry of the app.", "docs/home.md")
HOME_WIDGET = passage("Home", "The home widget shows quick links.", "docs/home-widget.md")
DASHBOARD_HOME = passage("Dashboard home", "The home of all dashboards.", "docs/dashboard.md")

ONE_OF_FOUR, ONE_OF_FIVE = "workspace kubernetes docker helm", "workspace kubernetes docker helm terraform"
ONE_OF_THREE = "workspace kubernetes docker"
THREE_OF_FOUR, TWO_OF_FOUR = "workspace holds panels kubernetes", "workspace panels kubernetes docker"


@pytest.mark.parametrize(
    ("query", "similarity", "action"),
    [
        # By words alone, a quarter of the question is enough…
        (ONE_OF_FIVE, None, "noMatch"),
        (ONE_OF_FOUR, None, "clarify"),
        (TWO_OF_FOUR, None, "answer"),
        # …beside a similarity that says otherwise, three quarters.
        (ONE_OF_FOUR, 0.29, "noMatch"),
        (TWO_OF_FOUR, 0.29, "noMatch"),
        (THREE_OF_FOUR, 0.29, "answer"),
        (THREE_OF_FOUR, 0.0, "answer"),
        # A similarity speaks for what has few of the words, and a high one makes it no weak match.
        (ONE_OF_FIVE, 0.3, "clarify"),
        (ONE_OF_FIVE, 0.44, "clarify"),
        (ONE_OF_FIVE, 0.45, "answer"),
        (TWO_OF_FOUR, 0.3, "answer"),
        # Nothing of the question is there.
        ("calendar of events", None, "noMatch"),
        ("calendar of events", 0.2, "noMatch"),
    ],
)
def test_words_and_similarity_decide_whether_there_is_evidence(
    query: str, similarity: float | None, action: str
) -> None:
    verdict = judged(query, WORKSPACE, WIDGETS, similarity=similarity)
    assert verdict.action == action
    assert (verdict.message == WHICH_PART) is (action == "noMatch")
    assert bool(verdict.candidates) is (action != "noMatch")


NEAR, SURE = VerdictSettings().min_static_similarity, VerdictSettings().sure_static_similarity


@pytest.mark.parametrize(
    ("query", "similarity", "action"),
    [
        # Beside static vectors that say otherwise, 30 % of the question is enough.
        (ONE_OF_FOUR, NEAR - 0.01, "noMatch"),
        (ONE_OF_THREE, NEAR - 0.01, "clarify"),
        (TWO_OF_FOUR, 0.0, "answer"),
        (ONE_OF_FIVE, NEAR, "clarify"),
        (ONE_OF_FIVE, SURE - 0.01, "clarify"),
        (ONE_OF_FIVE, SURE, "answer"),
    ],
)
def test_static_vectors_have_similarities_of_their_own(query: str, similarity: float, action: str) -> None:
    verdict = judged(query, WORKSPACE, WIDGETS, similarity=similarity, static=True)
    assert verdict.action == action


@pytest.mark.parametrize("similarity", [None, 0.1, 0.9])
@pytest.mark.parametrize(
    ("query", "found", "action", "message"),
    [
        ("anything", (), "noMatch", WHICH_PART),
        (
            "home",
            (HOME_PAGE, HOME_WIDGET),
            "clarify",
            "Do you mean Home (docs/home.md) or Home (docs/home-widget.md)?",
        ),
        ("what is home", (DASHBOARD_HOME, HOME_PAGE), "answer", ""),
        ("workspace or widgets", (WORKSPACE, WIDGETS), "answer", "Which one should I go deeper on?"),
        ("workspace", (WORKSPACE, WIDGETS), "answer", ""),
    ],
)
def test_what_is_asked_back_whatever_the_similarity(
    query: str, found: tuple[StoredChunk, ...], action: str, message: str, similarity: float | None
) -> None:
    verdict = judged(query, *found, similarity=similarity)
    assert (verdict.action, verdict.message) == (action, message)


def test_what_is_called_just_as_the_question_says_is_the_candidate() -> None:
    (candidate,) = judged("what is home", DASHBOARD_HOME, HOME_PAGE).candidates
    assert candidate.path == "docs/home.md"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ((WORKSPACE,), "I think you mean Workspace. Is that right?"),
        ((WORKSPACE, WIDGETS), "I think you mean Workspace. Is that right?"),
        (
            (WORKSPACE, passage("Docks", "Panels dock on either side.", "docs/docks.md")),
            "I’m not sure which part you mean. Are you asking about Workspace? If not, tell me its name.",
        ),
    ],
)
def test_a_weak_match_is_asked_about(found: tuple[StoredChunk, ...], message: str) -> None:
    verdict = judged("tell me about panels", *found)
    assert (verdict.action, verdict.message) == ("clarify", message)


def test_evidence_needs_no_result_that_leads() -> None:
    query, found = (
        understand("workspace panels"),
        ranked(
            [
                WORKSPACE,
                *(passage("Workspace of others", "Their panels.", f"docs/{n}.md") for n in range(3)),
            ],
            (0.5, 0.49, 0.48, 0.47),
        ),
    )
    assert judge(query, found, VerdictSettings(), (0.5, 0.5)).action == "clarify"
    verdict = judge_evidence(query, found, VerdictSettings(), (0.5, 0.5), None, static=False)
    assert (verdict.action, verdict.candidates[0].path) == ("answer", "docs/workspace.md")
    assert verdict.confidence == pytest.approx(1 - 0.48 / 0.5)


@pytest.mark.parametrize(("place", "action"), [(0, "answer"), (3, "answer"), (4, "clarify")])
def test_one_strong_match_among_the_first_four_is_enough(place: int, action: str) -> None:
    found = [passage("Other", "A panel somewhere.", f"docs/{n}.md") for n in range(6)]
    found[place] = WORKSPACE
    assert judged("workspace panels", *found).action == action


def test_coverage_counts_rare_terms_more_and_needs_no_name() -> None:
    query = understand("workspace kubernetes")
    text_alone = passage("Other", "All about kubernetes.", "docs/other.md")
    verdicts = [
        judge_evidence(query, ranked([text_alone]), VerdictSettings(), shares, None, static=False)
        for shares in ((0.2, 0.8), (0.8, 0.2))
    ]
    assert [verdict.coverage for verdict in verdicts] == pytest.approx([0.8, 0.2])
    assert [verdict.action for verdict in verdicts] == ["clarify", "noMatch"]


@pytest.mark.parametrize(
    ("settings", "similarity", "action"),
    [
        ({"min_coverage": 0.5}, None, "noMatch"),
        ({"min_coverage": 0.2}, None, "clarify"),
        ({"min_similarity": 0.1}, 0.15, "clarify"),
        ({"min_similarity": 0.2}, 0.15, "noMatch"),
        ({"sure_similarity": 0.4}, 0.42, "answer"),
        ({"min_matched_terms": 1}, None, "answer"),
    ],
)
def test_thresholds_can_be_moved(settings: dict[str, float], similarity: float | None, action: str) -> None:
    query, found = understand(ONE_OF_FOUR), ranked([WORKSPACE])
    verdict = judge_evidence(
        query, found, VerdictSettings(**settings), even_shares(query), similarity, static=False
    )
    assert verdict.action == action


@pytest.mark.parametrize(
    ("settings", "action"),
    [
        ({"min_similarity": 0.0, "sure_similarity": 0.0}, "noMatch"),
        ({"min_static_similarity": 0.1}, "clarify"),
        ({"sure_static_similarity": 0.15}, "answer"),
    ],
)
def test_those_of_static_vectors_can_be_moved_apart(settings: dict[str, float], action: str) -> None:
    query, found = understand(ONE_OF_FOUR), ranked([WORKSPACE])
    verdict = judge_evidence(query, found, VerdictSettings(**settings), even_shares(query), 0.15, static=True)
    assert verdict.action == action
