"""The acceptance queries for help texts are answered in a small workspace of documents."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests import conftest
from tests.data_folder import create_data_dir

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.status import status_of

DOCUMENTS = {
    "concepts/home.md": """
        # Home

        Home is the first page of the app. It greets you and shows what you worked on last.
        The house in the corner takes you home from everywhere.
        """,
    "concepts/workspace.md": """
        # Workspace

        A workspace is the area where you keep your work together. It holds your notes and whatever else you arrange there.
        Open one from the sidebar. Each has panels, which you can dock left or right or hide altogether.

        ## Finding things

        In a workspace, the search field finds notes by their text and by the day on which they were written.
        """,  # noqa: E501
    "concepts/notes.md": """
        # Notes

        Notes are short texts that you write for yourself. They are saved while you type.

        ## Pinning

        A pinned note stays on top of the list.
        """,
    "concepts/recent.md": """
        # Recent

        Recent lists the pages that you visited last, newest first.
        """,
    "dashboard/home.md": """
        # Dashboard home

        The dashboard's own start screen has a grid of tiles, and a bar above it with the date.
        """,
    "widgets/quick-links.md": """
        # Quick links

        Keeps the addresses you need every day one click away. Drag one to change the order.
        """,
    "widgets/widgets.md": """
        # Widgets

        Small tiles that show live information: the weather, a clock, a to-do list. Add them with the plus button.
        """,  # noqa: E501
    "actions/export.md": """
        # Export

        Saves everything to a file that you can open elsewhere. Choose the format first.
        """,
    ".cairn.toml": """
        [search.synonyms]
        shortcuts = "quick links"
        homepage = "home"
        """,
}

WORKSPACE, HOME, NOTES = "concepts/workspace.md", "concepts/home.md", "concepts/notes.md"
LINKS = "widgets/quick-links.md"


@pytest.fixture(scope="module", params=["with vectors", "without vectors"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("help")
    data = create_data_dir(folder.with_name(f"{folder.name}-data"))
    for path, text in DOCUMENTS.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("\n".join(map(str.strip, text.strip().splitlines())) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(data))
        patch.setenv("CAIRN_CONFIG_DIR", str(data / "no-settings"))
        compares = request.param == "with vectors"
        engine = Engine({"index": {"watch": False}, "embedding": {"enabled": compares}})
        engine.add_folder(folder)
        deadline = time.monotonic() + 60
        while not engine.progress().complete:
            assert time.monotonic() < deadline, status_of(engine.request())
            time.sleep(0.02)
        assert (status_of(engine.request()).embedded > 0) == compares
        yield engine
        engine.stop()


def ask(engine: Engine, query: str) -> protocol.SearchAnswer:
    return conftest.ask(engine, "search", protocol.SearchParams(query=query, limit=5))


WIDGETS = "widgets/widgets.md"
ANSWERS = {
    WORKSPACE: ("explain workspace", "wrkspace", "explain wrkspace", "o que é workspace"),
    LINKS: ("shortcuts", "where are my shortcuts?", "what is quick links"),
    NOTES: ("explain notes",),
    HOME: ("what is home",),  # the exact title, not "Dashboard home"
}


@pytest.mark.parametrize(("path", "query"), [(path, each) for path, some in ANSWERS.items() for each in some])
def test_the_document_on_a_topic_answers(engine: Engine, query: str, path: str) -> None:
    answer = ask(engine, query)
    assert path in [result.path for result in answer.results[: 2 if path == HOME else 1]]
    assert answer.verdict.action == "answer"
    assert [candidate.path for candidate in answer.verdict.candidates] == [path]
    assert answer.results[0].matched_terms


DOUBTS = {
    "noMatch": ("explain calendar", "how do I do it", "the thing"),
    "clarify": ("tell me about panels", "home", "homepage"),
}


@pytest.mark.parametrize(
    ("action", "query"), [(action, each) for action, some in DOUBTS.items() for each in some]
)
def test_an_unknown_or_unclear_topic_has_no_answer(engine: Engine, action: str, query: str) -> None:
    verdict = ask(engine, query).verdict
    assert verdict.action == action
    if action == "noMatch":
        assert (verdict.message, verdict.candidates) == ("Which part should I explain?", ())
    elif "home" in query:
        first, second = verdict.candidates
        assert {first.path, second.path} == {HOME, "dashboard/home.md"}
        assert verdict.message.startswith(f"Do you mean {first.title} ({first.category}) or {second.title} (")


@pytest.mark.parametrize("query", ["workspace and widgets", "widgets, workspace"])
def test_two_topics_are_both_answered(engine: Engine, query: str) -> None:
    verdict = ask(engine, query).verdict
    assert (verdict.action, verdict.message) == ("answer", "Which one should I go deeper on?")
    assert {candidate.path for candidate in verdict.candidates} == {WORKSPACE, WIDGETS}


def test_a_question_how_to_find_shows_place_and_thing(engine: Engine) -> None:
    paths = [result.path for result in ask(engine, "how do I find my notes?").results]
    assert {NOTES, WORKSPACE} <= set(paths)


def test_a_result_names_terms_matched_by_a_correction(engine: Engine) -> None:
    answer = ask(engine, "wrkspace")
    assert answer.query.corrections == ("wrkspace → workspace",)
    assert answer.results[0].matched_terms == answer.verdict.matched_terms == ("wrkspace",)


def test_the_verdict_does_not_depend_on_the_limit(engine: Engine) -> None:
    alone = conftest.ask(engine, "search", protocol.SearchParams(query="home", limit=1))
    assert len(alone.results) == 1
    assert alone.verdict == ask(engine, "home").verdict
