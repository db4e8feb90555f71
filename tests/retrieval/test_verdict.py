"""The confidence rules: when to answer, when to ask back."""

from __future__ import annotations

import pytest

from cairn.chunking.model import Chunk, ChunkType
from cairn.config import VerdictSettings
from cairn.index.reader import StoredChunk
from cairn.retrieval.query import understand
from cairn.retrieval.verdict import judge


def passage(title: str, text: str, path: str = "docs/a.md") -> StoredChunk:
    chunk = Chunk(0, 0, 1, text, ChunkType.PROSE, title=title, header_path=title)
    return StoredChunk(0, path, "docs", "help-docs", chunk, "")


WORKSPACE = passage("Workspace", "The workspace holds all your panels.", "docs/workspace.md")
HOME_PAGE = passage("Home", "Home is the entry of the app.", "docs/home.md")
HOME_WIDGET = passage("Home", "The home widget shows quick links.", "docs/home-widget.md")


@pytest.mark.parametrize(
    ("query", "found", "action", "words"),
    [
        ("explain workspace", (WORKSPACE, HOME_PAGE), "answer", ""),
        ("home", (HOME_PAGE, HOME_WIDGET), "clarify", "Do you mean Home (help-docs) or Home (help-docs)?"),
        ("tell me about panels", (WORKSPACE,), "clarify", "Are you asking about Workspace?"),
        ("calendar", (WORKSPACE, HOME_PAGE), "noMatch", "Which part should I explain?"),
        ("anything", (), "noMatch", "Which part should I explain?"),
    ],
)
def test_rules(query: str, found: tuple[StoredChunk, ...], action: str, words: str) -> None:
    verdict = judge(understand(query), found, VerdictSettings())
    assert verdict.action.value == action
    assert words in verdict.message


def test_thresholds_can_be_moved() -> None:
    strict = VerdictSettings(min_score=100)
    assert judge(understand("workspace"), [WORKSPACE], strict).action.value == "clarify"


def test_confidence_is_the_gap_to_the_second() -> None:
    verdict = judge(understand("workspace"), [WORKSPACE, HOME_PAGE], VerdictSettings())
    assert verdict.confidence == pytest.approx(1.0)
    assert verdict.matched_terms == ("workspace",)
