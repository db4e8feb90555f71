"""The answers of the tools over a real index: their content and budgets, and that a tool takes the places of
another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from cairn.agents.place_text import place_named
from cairn.agents.tools import TOOLS, tool_named
from cairn.discovery.layout import MARK
from cairn.discovery.render import MORE as MORE_PLACES
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError, QueryCancelledError
from tests.agents.asking import FILES, MORE, PLACE, QUESTION, Ask, asking, indexed, pages


def test_search_shows_places_names_and_best_lines(ask: Ask) -> None:
    text = ask("search", query=QUESTION)
    assert text.startswith("src/harbour/schedule.py:")
    assert "assign_berths (function)" in text.split("\n")[0]
    assert "   6 def assign_berths(ships, berths: list[Berth]):" in text
    assert "```" not in text


def test_search_continues_from_its_cursor(ask: Ask) -> None:
    texts = pages(ask, "search", 2, query="ship", limit=2)
    first, second = (set(PLACE.findall(text)) for text in texts)
    assert first
    assert second
    assert not first & second
    with pytest.raises(InvalidRequestError, match="another question"):
        ask("search", query="tides", cursor=MORE.findall(texts[0])[0])


def test_search_without_a_match_says_so_briefly(ask: Ask) -> None:
    text = ask("search", query="quantum chromodynamics lagrangian")
    assert text.startswith("Nothing matches well.")
    assert "def " not in text


def quoted_lines(text: str) -> list[tuple[str, int, str]]:
    """Return the path, the number and the text of each line that an answer of `discover` quotes."""
    found: list[tuple[str, int, str]] = []
    path, number = "", 0
    for line in text.partition(f"\n{MORE_PLACES}:\n")[0].split("\n"):
        if line.startswith(MARK):
            path = line.removeprefix(MARK)
        elif path and (numbered := re.fullmatch(r" *(\d*) ?(.*)", line)) and not line.startswith("…"):
            number = int(numbered[1] or number + 1)
            found.append((path, number, numbered[2].strip()))
    return found


def test_discover_quotes_lines_below_the_path_of_their_file(ask: Ask, folder: Path) -> None:
    text = ask("discover", query=QUESTION)
    assert text.startswith(f"{MARK}src/harbour/schedule.py\n")
    paths = [line.removeprefix(MARK) for line in text.split("\n") if line.startswith(MARK)]
    assert len(paths) == len(set(paths))
    quoted = quoted_lines(text)
    assert len(quoted) > 10
    for path, number, line in quoted:
        assert (folder / path).read_text().split("\n")[number - 1].strip() == line


def test_discover_names_further_places_that_read_takes(ask: Ask) -> None:
    text = ask("discover", query=QUESTION, max_tokens=300)
    _, _, below = text.partition(f"\n{MORE_PLACES}:\n")
    path = ""
    names = []
    for line in below.split("\n"):
        if place := re.fullmatch(r"(  |[\w/.]+:)(\d+(?:-\d+)?) ([\w.]+)", line):
            path = place[1].strip(" :") or path
            names.append(place[3])
            assert place[3].rpartition(".")[2] in ask("read", path=f"{path}:{place[2]}")
        elif not line.startswith("more:"):
            path = line
    assert "Berth.moor_ship" in names, "the lines above call it"


def test_discover_continues_with_new_lines(ask: Ask) -> None:
    texts = pages(ask, "discover", 3, query="how is a ship loaded and moored", max_tokens=400)
    assert len(texts) == 3
    seen = [(path, number) for text in texts for path, number, _ in quoted_lines(text)]
    assert len(seen) > 20
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        pytest.param(
            {"symbol": "moor_ship"},
            [
                "src/harbour/berths.py:11-15  Berth.moor_ship (method)  def moor_ship(self, ship):",
                "- src/harbour/schedule.py:11 in assign_berths: berth.moor_ship(ship)",
            ],
            id="callers",
        ),
        pytest.param(
            {"symbol": "assign_berths", "direction": "callees"},
            [
                "→ src/harbour/berths.py:11-15  Berth.moor_ship (method): berth.moor_ship(ship)",
                "also calls, not defined here: sorted",
            ],
            id="callees",
        ),
        pytest.param(
            {"symbol": "assign each ship to a free berth", "direction": "callees"},
            ["Taken as a question; its best answer is:\nsrc/harbour/schedule.py:"],
            id="a question",
        ),
        pytest.param(
            {"symbol": "assign_berths", "direction": "trace"},
            [
                "src/harbour/schedule.py:6-12  assign_berths(ships, berths: list[Berth])\n"
                "11 for ship in sorted(ships, key=lambda sh… › for berth in sorted(berths, key=lambda… › "
                "if berth.ship is None and berth.length… → src/harbour/berths.py:11-15 "
                "Berth.moor_ship(self, ship)",
            ],
            id="a trace",
        ),
        pytest.param(
            {"symbol": "step_0()", "direction": "trace", "to": "moor()"},
            ["  step_0(ship)\nto src/harbour/loading.py:1-2  moor(ship)\n7 → 1-2 moor(ship)"],
            id="a way",
        ),
        pytest.param(
            {"symbol": "moor", "direction": "trace"},
            ["It calls nothing that the workspace defines."],
            id="nothing",
        ),
        pytest.param(
            {"symbol": "assign_berths", "direction": "trace", "to": "high_water"},
            ["No calls lead from assign_berths to high_water.", "to src/harbour/tides.py:4-6  high_water("],
            id="no way",
        ),
    ],
)
def test_references_show_place_function_and_code(
    ask: Ask, arguments: dict[str, str], parts: list[str]
) -> None:
    text = ask("references", **arguments)
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    ("front", "way", "cursor", "place"),
    [
        ("mcp", 'Try direction "uses", or search for the name.', "cursor=", "path=src/harbour/"),
        ("cli", "Try `cairn uses high_water`, or `cairn search high_water`.", "--cursor ", "src/harbour/"),
    ],
)
def test_advice_names_what_the_front_can_do(
    engine: Engine, front: str, way: str, cursor: str, place: str
) -> None:
    def text(tool: str, **arguments: Any) -> str:
        return tool_named(tool).answer(engine.request(), arguments, front=front).texts[0]

    found = text("references", symbol="high_water", direction="tests")
    assert found.endswith(f"No tests were found. {way}")
    first = text("search", query="ship", max_tokens=100)
    (value,) = re.findall(f"^more: {cursor}(\\S+)$", first, re.MULTILINE)
    assert text("search", query="ship", max_tokens=100, cursor=value) != first
    assert f"\nmore: {place}loading.py:" in text("read", path="src/harbour/loading.py:1-99", max_tokens=400)


def test_search_explains_its_order_if_asked(ask: Ask) -> None:
    assert "\n· names that it defines: " in ask("search", query="moor_ship", explain=True)
    assert "·" not in ask("search", query="moor_ship")


def test_references_continue_and_show_each_once(ask: Ask) -> None:
    texts = pages(ask, "references", 20, symbol="moor", limit=25, max_tokens=500)
    found = re.findall(r"(\d+) in step_", "\n".join(texts))
    assert len(found) == len(set(found)) == 60


def test_a_trace_continues_and_shows_each_call_once(ask: Ask) -> None:
    question = {"symbol": "load_all", "direction": "trace"}
    whole = ask("references", **question, limit=70, max_tokens=4_000)
    texts = pages(ask, "references", 20, **question, limit=70, max_tokens=300)
    assert len(texts) > 2
    shown = [line for text in texts for line in text.split("\n") if "step_" in line]
    assert len(shown) == len(set(shown)) == 60
    assert "  7 → 1-2 moor(ship)" not in whole  # A short function is shown only at the first level.
    assert texts[1].startswith("in load_all:\n")
    place = re.match(r"\d+ → src/harbour/loading.py:\d+-\d+ step_", texts[1].split("\n")[1])
    assert place is not None
    with pytest.raises(InvalidRequestError, match="another question"):
        ask("references", symbol="load_all", cursor=MORE.findall(texts[0])[0])


def test_a_trace_says_once_what_a_function_is(ask: Ask) -> None:
    text = ask("references", symbol="plan_week", direction="trace")
    assert text.split("\n")[1:] == [
        "69 if ship → 74-77 plan_day(ship)",
        "  77 → 80-84 note(ship)",
        "70 if ship → note",
        "71 ″ → plan_day  (see above)",
    ]


def test_references_show_a_line_with_two_calls_once(ask: Ask) -> None:
    assert ask("references", symbol="moor", limit=200).count(" in pair") == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": QUESTION}),
        ("discover", {"query": QUESTION}),
        ("references", {"symbol": "moor_ship"}),
        ("related", {"path": "src/harbour/berths.py:11-15"}),
    ],
)
def test_tools_take_the_places_that_others_print(ask: Ask, tool: str, arguments: dict[str, str]) -> None:
    text = ask(tool, **arguments)
    places = PLACE.findall(text) or [f"{path}:{number}" for path, number, _ in quoted_lines(text)[::10]]
    assert places
    for place in places:
        assert ask("read", path=place).split("\n")[1].startswith(f"{place_named(place).first}:")
        ask("related", path=place)
        ask("search", query="ship", path=place_named(place).path)
        if place.partition(":")[0].endswith(".py"):
            ask("references", symbol=place)


def test_paths_in_several_folders_begin_with_the_folders_name(
    workspace: Path, tmp_path: Path, bare_data_dir: Path
) -> None:
    lighthouse = tmp_path / "lighthouse"
    lighthouse.mkdir()
    (lighthouse / "lamp.py").write_text("def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n")
    engine = indexed(workspace, lighthouse)
    try:
        ask = asking(engine)
        text = ask("search", query="kindle_lamp")
        assert text.startswith("lighthouse/lamp.py:1-2  kindle_lamp (function)")
        assert ask("read", path="lighthouse/lamp.py:1").endswith("1:def kindle_lamp():")
        assert "kindle_lamp (function)" in ask("references", symbol="lighthouse/lamp.py:1")
        assert "kindle_lamp" in ask("search", query="lamp", path="lighthouse")
        alone = engine.request("lighthouse")
        (text,) = tool_named("search").answer(alone, {"query": "kindle_lamp"}, front="mcp").texts
        assert text.startswith("lamp.py:1-2")
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
    ("references", {"symbol": "load_all", "direction": "trace"}),
    ("related", {"path": "src/harbour/berths.py:11-15"}),
    ("status", {}),
]


@pytest.mark.parametrize("tokens", [100, 150, 230, 400, 1_000, 4_000])
def test_answers_keep_their_budget_and_whole_lines(ask: Ask, engine: Engine, tokens: int) -> None:
    count_tokens = engine.request().host.model.count_tokens
    known = {line for text in FILES.values() for line in text.split("\n")}
    for tool, arguments in CALLS:
        text = ask(tool, **arguments, max_tokens=tokens)
        assert text, (tool, arguments)
        assert count_tokens(text) <= tokens, (tool, arguments)
        shown = [re.match(r"(\d+):(.*)", line) for line in text.split("\n")]
        assert all(line is None or line[2] in known for line in shown), (tool, arguments)


def test_default_answers_are_small(ask: Ask) -> None:
    assert len(ask("search", query=QUESTION).encode()) <= 4_500
    assert len(ask("discover", query="how is a ship loaded").encode()) <= 6_000
    assert len(ask("status").encode()) <= 600


def test_structured_answers_have_no_text(engine: Engine) -> None:
    answer = TOOLS["search"].answer(
        engine.request(), {"query": QUESTION, "path": "src"}, structured=True, front="mcp"
    )
    assert answer.texts == ()
    assert answer.data is not None
    assert answer.data["results"][0]["path"] == "src/harbour/schedule.py"


def test_answers_never_advise_an_agent_to_index(workspace: Path, bare_data_dir: Path) -> None:
    engine = Engine()
    engine.add_folder(workspace, keep_indexed=False)
    (workspace / "new.py").write_text("x = 1\n")
    texts = []
    try:
        for tool, arguments in [*CALLS, ("read", {"path": "new.py"})]:
            try:
                texts += TOOLS[tool].answer(engine.request(), arguments, front="mcp").texts
            except InvalidRequestError as problem:
                texts.append(str(problem))
    finally:
        engine.stop()
    for text in texts:
        assert not re.search(r"cairn (?:re)?index|re-?index|doctor", text), text
    assert any("your own search" in text for text in texts)


def test_call_of_a_tool_can_be_cancelled(engine: Engine) -> None:
    request = evolve(engine.request(), cancelled=lambda: True)
    with pytest.raises(QueryCancelledError):
        TOOLS["search"].answer(request, {"query": "cancelled"}, front="mcp")


def test_settings_limit_answers_of_calls_without_a_budget(folder: Path, engine: Engine) -> None:
    limited = Engine({"agents": {"maxTokens": 150}})
    limited.add_folder(folder)
    try:
        assert len(asking(limited)("search", query="ship")) <= 450
    finally:
        limited.stop()


@pytest.mark.parametrize("tool", ["search", "discover"])
def test_paths_that_do_not_exist_are_left_out_with_a_note(ask: Ask, tool: str) -> None:
    text = ask(tool, query=QUESTION, path=["src/harbour", "src/harbor", "!src/harbour/schedule.py"])
    assert text.startswith("Left out: there is no 'src/harbor' in the workspace; did you mean")
    assert "src/harbour/berths.py" in text
    assert not re.search(r"^(=== )?src/harbour/schedule.py", text.partition(MORE_PLACES)[0], re.MULTILINE)
    with pytest.raises(InvalidRequestError, match="there is no 'src/harbor'"):
        ask(tool, query=QUESTION, path=["src/harbor", "!src/harbour/schedule.py"])
    with pytest.raises(InvalidRequestError, match="only leaves out"):
        ask(tool, query=QUESTION, path="!src/harbour/schedule.py")


def test_references_can_be_those_of_some_paths(ask: Ask) -> None:
    assert "tests/test_berths.py" in ask("references", symbol="Berth.moor_ship")
    text = ask("references", symbol="Berth.moor_ship", path="src")
    assert "src/harbour/schedule.py:11" in text
    assert "tests/test_berths.py" not in text
