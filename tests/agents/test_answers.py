"""The answers of the tools over a real index: what they say, their budgets, and that one tool takes what another prints."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.budget import token_counter
from cairn.agents.discover import MARK
from cairn.agents.places import place_named
from cairn.agents.tools import DEFAULT, TOOLS, tool_named
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError, QueryCancelledError

QUESTION = "how are ships assigned to berths"
Ask = Callable[..., str]
PLACE = re.compile(r"^(?:=== |- )?(?P<place>[\w./-]+\.(?:py|md|toml):\d+(?:-\d+)?)(?=[ :]|$)", re.MULTILINE)


def finished(*folders: Path) -> Engine:
    """An engine over the folders, done with indexing."""
    engine = Engine({"search": {"legDeadlineMs": 60_000}})
    for folder in folders:
        engine.add_folder(folder)
    waiting = threading.Event()
    while not engine.progress().complete:
        waiting.wait(0.02)
    return engine


def asking(engine: Engine) -> Ask:
    def ask(tool: str, **arguments: Any) -> str:
        answer = tool_named(tool).answer(engine, arguments, front="mcp")
        assert answer.data is None
        (text,) = answer.texts
        return text

    return ask


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path) -> Iterator[Engine]:
    long = "".join(
        f"def step_{n}(ship):\n    '''Load part {n} of the ship.'''\n    return moor(ship)\n\n\n"
        for n in range(60)
    )
    (workspace / "src/harbour/loading.py").write_text(
        f"def moor(ship):\n    return ship\n\n\n{long}def pair(one, two):\n    return moor(one), moor(two)\n"
    )
    (workspace / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n")
    (workspace / "notes.bak.log").write_text("a log\n")
    (workspace / ".cairnignore").write_text("*.log\n")
    made = finished(workspace)
    yield made
    made.stop()


@pytest.fixture
def ask(engine: Engine) -> Ask:
    return asking(engine)


def test_a_search_shows_places_names_and_the_lines_that_matter(ask: Ask) -> None:
    text = ask("search", query=QUESTION)
    first = text.split("\n")[0]
    assert first.startswith("src/harbour/schedule.py:")
    assert "assign_berths (function)" in first
    assert "6:def assign_berths(ships, berths: list[Berth]):" in text
    assert "```" not in text


def test_a_search_goes_on_where_its_cursor_says(ask: Ask) -> None:
    first = ask("search", query="ship", limit=2)
    cursor = re.search(r"more: cursor=(\S+)", first)
    assert cursor
    second = ask("search", query="ship", limit=2, cursor=cursor[1])
    heads = [set(PLACE.findall(text)) for text in (first, second)]
    assert all(heads)
    assert not heads[0] & heads[1]
    with pytest.raises(InvalidRequestError, match="another question"):
        ask("search", query="tides", cursor=cursor[1])


def test_a_search_for_what_there_is_not_says_so_in_few_words(ask: Ask) -> None:
    text = ask("search", query="quantum chromodynamics lagrangian")
    assert text.startswith("Nothing matches well.")
    assert "def " not in text


def test_a_discovery_has_its_excerpts_under_their_places(ask: Ask, workspace: Path) -> None:
    text = ask("discover", query=QUESTION)
    assert text.startswith(MARK)
    for excerpt in text.split(f"\n{MARK}"):
        place = place_named(excerpt.removeprefix(MARK).split("\n")[0].split("  ")[0])
        lines = (workspace / place.path).read_text().split("\n")
        assert "\n".join(lines[place.first - 1 : place.last]) in excerpt


def test_a_discovery_goes_on_with_what_was_not_shown(ask: Ask) -> None:
    arguments: dict[str, Any] = {"query": "how is a ship loaded and moored", "max_tokens": 300}
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        text = ask("discover", **arguments, cursor=cursor)
        seen += PLACE.findall(text)
        more = re.search(r"more: cursor=(\S+)", text)
        if more is None:
            break
        cursor = more[1]
    assert len(seen) > 2
    assert len(seen) == len(set(seen))


def test_a_file_is_read_with_its_numbers_however_it_is_named(ask: Ask, workspace: Path) -> None:
    wanted = ask("read", path="src/harbour/berths.py:4-6")
    assert wanted.split("\n")[1:] == [
        "4:class Berth:",
        '5:    """A place where one ship at a time can be moored."""',
        "6:",
    ]
    for path in ("./src/harbour/berths.py:4-6", "src/harbour/berths.py#L4-L6", f"{workspace}/src/harbour/berths.py:4-6",
                 "berths.py:4-6", (workspace / "src/harbour/berths.py").as_uri() + "#L4-L6"):  # fmt: skip
        assert ask("read", path=path) == wanted, path


def test_a_name_is_read_as_its_definition_and_a_question_as_its_best_passage(ask: Ask) -> None:
    text = ask("read", path="Berth.moor_ship")
    assert text.startswith(
        "Berth.moor_ship (method)\nsrc/harbour/berths.py, 15 lines\n11:    def moor_ship(self, ship):"
    )
    assert text.endswith("15:        self.ship = ship")
    assert ask("read", path="when is high water on a day").startswith("Taken as a question")


def test_a_file_is_read_as_it_is_now_and_the_answer_says_that_it_changed(
    ask: Ask, engine: Engine, workspace: Path
) -> None:
    for folder in engine.folders:
        folder.lease.shared.indexer.stop()  # nobody indexes what is written now
    path = workspace / "src/harbour/tides.py"
    before = path.read_text()
    path.write_text(before.replace("Tide tables.", "Tables of the tides."))
    text = ask("read", path="src/harbour/tides.py")
    assert "has changed since it was indexed" in text
    assert '1:"""Tables of the tides."""' in text
    indexed = ask("read", path="src/harbour/tides.py", version="indexed")
    assert '1:"""Tide tables."""' in indexed
    assert "text as it was indexed" in indexed
    path.unlink()
    assert "cannot be read now" in ask("read", path="src/harbour/tides.py")


def test_a_long_file_goes_on_with_its_next_lines(ask: Ask) -> None:
    first = ask("read", path="src/harbour/loading.py", max_tokens=400)
    path = re.search(r"more: path=(\S+)", first)
    assert path
    following = ask("read", path=path[1], max_tokens=400).split("\n")[1]
    last = [line for line in first.split("\n") if line[0].isdigit()][-1]
    assert int(following.split(":")[0]) == int(last.split(":")[0]) + 1
    assert ask("read", path="src", cursor=path[1], max_tokens=400).split("\n")[1] == following


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("id_rsa", "may hold secrets'; such files are never shown"),
        ("notes.bak.log", "left out of the index by the rule"),
        ("src/harbour", "is a folder"),
        ("src/harbour/berth.py", "did you mean 'src/harbour/berths.py'?"),
        ("moor_shp", "Did you mean moor_ship"),
        ("../secret", "is outside of the workspace"),
        ("src/harbour/berths.py:400", "has 15 lines"),
    ],
)
def test_what_cannot_be_read_says_why(ask: Ask, path: str, said: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ask("read", path=path)
    assert said in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_secret_that_was_indexed_before_is_not_read(ask: Ask, engine: Engine, workspace: Path) -> None:
    for folder in engine.folders:
        folder.lease.shared.indexer.stop()
    (workspace / "README.md").write_text(
        "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----\n"
    )
    with pytest.raises(InvalidRequestError, match="never shown"):
        ask("read", path="README.md")


def test_references_stand_one_a_line_with_their_function_and_code(ask: Ask) -> None:
    text = ask("references", symbol="moor_ship")
    assert text.startswith(
        "src/harbour/berths.py:11-15  Berth.moor_ship (method)  def moor_ship(self, ship):"
    )
    assert "- src/harbour/schedule.py:11 in assign_berths: berth.moor_ship(ship)" in text


def test_callees_name_where_they_lead_and_what_the_workspace_does_not_define(ask: Ask) -> None:
    text = ask("references", symbol="assign_berths", direction="callees")
    assert "→ src/harbour/berths.py:11-15  Berth.moor_ship (method): berth.moor_ship(ship)" in text
    assert "also calls, not defined here: sorted" in text


def test_references_go_on_until_all_are_shown_once(ask: Ask) -> None:
    found: list[str] = []
    cursor = ""
    for _ in range(20):
        text = ask("references", symbol="moor", limit=25, max_tokens=500, cursor=cursor)
        found += re.findall(r"(\d+) in step_", text)
        more = re.search(r"more: cursor=(\S+)", text)
        if more is None:
            break
        cursor = more[1]
    assert len(found) == 60
    assert len(set(found)) == 60


def test_a_line_that_calls_twice_is_shown_once(ask: Ask) -> None:
    assert ask("references", symbol="moor", limit=200).count(" in pair") == 1


def test_a_question_stands_for_the_definition_that_answers_it(ask: Ask) -> None:
    text = ask("references", symbol="assign each ship to a free berth", direction="callees")
    assert text.startswith("Taken as a question; its best answer is:\nsrc/harbour/schedule.py:")


def test_whatever_one_tool_prints_another_takes(ask: Ask) -> None:
    answers = [
        ask("search", query=QUESTION),
        ask("discover", query=QUESTION),
        ask("references", symbol="moor_ship"),
        ask("related", path="src/harbour/berths.py:11-15"),
    ]
    for text in answers:
        places = PLACE.findall(text)
        assert places, text
        for place in places:
            assert ask("read", path=place).split("\n")[1].startswith(f"{place_named(place).first}:")
            ask("related", path=place)
            ask("search", query="ship", path=place_named(place).path)
            if place.partition(":")[0].endswith(".py"):
                ask("references", symbol=place)


def test_paths_of_several_folders_begin_with_their_names_and_are_taken_so(
    workspace: Path, tmp_path: Path, bare_data_dir: Path
) -> None:
    lighthouse = tmp_path / "lighthouse"
    lighthouse.mkdir()
    (lighthouse / "lamp.py").write_text("def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n")
    engine = finished(workspace, lighthouse)
    try:
        ask = asking(engine)
        text = ask("search", query="kindle_lamp")
        assert text.startswith("lighthouse/lamp.py:1-2  kindle_lamp (function)")
        assert ask("read", path="lighthouse/lamp.py:1").endswith("1:def kindle_lamp():")
        assert "kindle_lamp (function)" in ask("references", symbol="lighthouse/lamp.py:1")
        assert "kindle_lamp" in ask("search", query="lamp", path="lighthouse")
        assert ask("search", query="kindle_lamp", workspace="lighthouse").startswith("lamp.py:1-2")
    finally:
        engine.stop()


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": QUESTION}),
    ("search", {"query": "moor"}),
    ("search", {"query": "quantum chromodynamics"}),
    ("search", {"query": "ship", "limit": 40}),
    ("discover", {"query": QUESTION}),
    ("discover", {"query": "what is harbour?"}),
    ("read", {"path": "src/harbour/loading.py"}),
    ("read", {"path": "how are ships loaded"}),
    ("references", {"symbol": "moor", "limit": 200}),
    ("references", {"symbol": "assign_berths", "direction": "callees", "depth": 3}),
    ("related", {"path": "src/harbour/berths.py:11-15"}),
    ("status", {}),
]


@pytest.mark.parametrize("tokens", [100, 150, 230, 400, 1_000, 4_000])
def test_no_answer_takes_more_than_its_budget_or_cuts_a_line(
    ask: Ask, engine: Engine, workspace: Path, tokens: int
) -> None:
    count = token_counter(engine)
    for tool, arguments in CALLS:
        text = ask(tool, **arguments, max_tokens=tokens)
        assert text, (tool, arguments)
        assert count(text) <= tokens, (tool, arguments)
        shown = [re.match(r"(\d+):(.*)", line) for line in text.split("\n")]
        known = {
            line for file in workspace.rglob("*.*") if file.is_file() for line in file.read_text().split("\n")
        }
        assert all(line is None or line[2] in known for line in shown), (tool, arguments)


def test_usual_answers_are_small(ask: Ask) -> None:
    assert len(ask("search", query=QUESTION).encode()) <= 4_500
    assert len(ask("discover", query="how is a ship loaded").encode()) <= 6_000
    assert len(ask("status").encode()) <= 600


def test_data_is_given_instead_of_text_where_that_is_asked_for(engine: Engine) -> None:
    answer = TOOLS["search"].answer(engine, {"query": QUESTION, "path": "src"}, structured=True, front="mcp")
    assert answer.texts == ()
    assert answer.data is not None
    assert answer.data["results"][0]["path"] == "src/harbour/schedule.py"


def test_no_answer_sends_an_agent_to_index(workspace: Path, bare_data_dir: Path) -> None:
    engine = Engine()
    engine.add_folder(workspace, keep_indexed=False)  # which nobody has indexed
    said = []
    try:
        for tool, arguments in CALLS:
            try:
                said += TOOLS[tool].answer(engine, arguments, front="mcp").texts
            except InvalidRequestError as problem:
                said.append(str(problem))
        (workspace / "new.py").write_text("x = 1\n")
        with pytest.raises(InvalidRequestError) as refused:
            TOOLS["read"].answer(engine, {"path": "new.py"}, front="mcp")
        said.append(str(refused.value))
    finally:
        engine.stop()
    for text in said:
        assert not re.search(r"cairn (?:re)?index|re-?index|doctor", text), text
    assert any("your own search" in text for text in said)


def test_a_tool_counts_as_a_request_of_its_method_and_can_be_cancelled(engine: Engine) -> None:
    with pytest.raises(QueryCancelledError):
        TOOLS["search"].answer(engine, {"query": QUESTION}, front="mcp", cancelled=lambda: True)


def test_settings_bound_the_answers_of_calls_that_do_not_say(
    workspace: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_AGENTS__MAX_TOKENS", "150")
    engine = finished(workspace)
    try:
        assert len(asking(engine)("search", query="ship")) <= 450
        assert set(DEFAULT) < set(TOOLS)
    finally:
        engine.stop()
