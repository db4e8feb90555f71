"""The tool `changes` over a real index, with a diff as text."""

from __future__ import annotations

import pytest
from attrs import evolve

from cairn.agents.change_tool import AnswerText
from cairn.agents.place_text import Paths
from cairn.agents.tools import tool_named
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from tests.agents.asking import Ask, asking
from tests.change_answers import CHANGED, place
from tests.harbour import MOOR_DIFF

STALE = "Still use the old definition:\n- src/harbour/schedule.py:11 in assign_berths: berth.moor_ship(ship)"


def test_changes_name_stale_uses_first(ask: Ask) -> None:
    text = ask("changes", diff=MOOR_DIFF)
    assert text.startswith("1 file changed: 1 definition (1 new signature).\n" + STALE)
    assert "- src/harbour/berths.py:11-15 Berth.moor_ship: it has the new parameter `at`" in text
    assert "  was def moor_ship(self, ship):\n  now def moor_ship(self, ship, at):" in text
    tests = text.partition("Tests to run:\n")[2]
    assert tests.startswith("- tests/test_berths.py:4 test_a_taken_berth_cannot_be_moored_at  (")


@pytest.mark.parametrize("tokens", [100, 150, 250])
def test_changes_stay_within_their_budget(engine: Engine, ask: Ask, tokens: int) -> None:
    text = ask("changes", diff=MOOR_DIFF, max_tokens=tokens)
    assert STALE in text
    assert engine.host.model.count_tokens(text) <= tokens
    whole = ask("changes", diff=MOOR_DIFF)
    assert text == whole or text.endswith("More follows with a higher max_tokens.")


def test_empty_arguments_of_changes_count_as_absent(ask: Ask) -> None:
    assert ask("changes", base="", diff=MOOR_DIFF) == ask("changes", diff=MOOR_DIFF)


def test_data_of_changes_has_the_prompt(engine: Engine) -> None:
    tool = tool_named("changes")
    data = tool.answer(engine.request(), {"diff": MOOR_DIFF}, structured=True, front="mcp").data
    assert data is not None
    assert data["dependents"][0]["isStale"]
    assert data["prompt"]


def test_changes_without_a_repository_ask_for_a_diff(engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match="diff"):
        asking(engine)("changes")


def test_users_in_one_function_share_a_line_and_a_reason() -> None:
    users = (
        place("a.py", 3, "f", "moor(1)", "calls moor", is_stale=True),
        place("a.py", 5, "f", "moor(2)", "calls moor", is_stale=True),
        place("b.py", 7, "g", "moor(3)", "calls moor", is_stale=True),
        place("b.py", 9, "h", "x" * 500, "calls moor", is_stale=True),
    )
    texts = AnswerText(evolve(CHANGED, dependents=users), Paths({users[0].folder: "harbour"}, True))
    assert texts.sections(9)[1].splitlines()[1:] == [
        "- a.py:3 in f: moor(1)  (calls moor; also 5)",
        "- b.py:7 in g: moor(3)",
        "- b.py:9 in h  (calls moor)",
    ]
