"""Excerpts of real files: as the files are now, within the budget, each line once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from textwrap import dedent, indent

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.retrieval.conftest import folder_of
from tests.retrieval.passages.conftest import folder_class
from tests.retrieval.passages.folder_with_passages import FolderOf, FolderWithPassages

from cairn.discovery.layout import by_file, fence_for, file_text
from cairn.discovery.pipeline import NO_PLAN
from cairn.discovery.render import EXCERPT_INSTRUCTIONS, frame, render_llm_prompt
from cairn.embedding.shared import estimate_tokens
from cairn.protocol.discovery_messages import Excerpt
from cairn.retrieval.verdict import WEAK
from cairn.retrieval.windows import Passage
from cairn.settings.discovery import FormatStyle, PromptRenderConfig
from cairn.text.verbatim import lines_of

__all__ = ["folder_class", "folder_of"]
PLAIN = PromptRenderConfig(format_style=FormatStyle.PLAIN)
QUESTION = "where is a ship moored at a berth"
MOORING = '''def moor_ship(harbour, ship):
    """Moor the ship at the first berth that is long enough."""
    for berth in harbour.berths_by_length():
        if berth.length >= ship.length + SAFETY_MARGIN:
            return harbour.assign(berth, ship)
    raise HarbourFullError(f"no berth for {ship.name}")
'''
TWIN = MOORING.replace("def moor", "async def moor").replace("return harbour", "return await harbour")
GUIDE = """# Mooring

A ship is moored at the first berth that is long enough for it.

The harbour master keeps the margin between the ship and the berth.
"""
OTHER = '''def unmoor_ship(harbour, ship):
    """Let the ship go, and its berth be free again."""
    harbour.release(ship.berth)
'''
LONG = "".join(
    f'def moor_{word}_ship(harbour, ship):\n    """Moor the {word} ship at a berth of its own."""\n'
    + "".join(f"    harbour.{word}_berth_{line}.moor(ship, {line})\n" for line in range(12))
    + "\n\n"
    for word in ("large", "small", "slow", "fast", "old", "new", "naval", "fishing", "sailing", "loaded")
)
PORT = {"port/mooring.py": MOORING, "port/leaving.py": OTHER, "docs/mooring.md": GUIDE, "port/long.py": LONG}


def stands(folder: FolderWithPassages, excerpt: Excerpt) -> bool:
    """Return whether the excerpt is exactly the text of its lines in the file."""
    lines = folder.lines_now(excerpt.uri) or ()
    first, last = excerpt.range.start.line, excerpt.range.end.line
    is_cited = excerpt.citation == f"{excerpt.path}#L{first + 1}-L{last}"
    return is_cited and excerpt.text == "\n".join(lines[first:last])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> FolderWithPassages:
    """A folder for the tests that do not change it."""
    return FolderWithPassages(tmp_path_factory.mktemp("port"), PORT)


@pytest.fixture(scope="module")
def every(port: FolderWithPassages) -> Sequence[Passage]:
    """The passages of the folder that answer the question, best first."""
    return port.passages(QUESTION)


# --- each line once ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "text", "copy"),
    [
        ("port/mooring.py", "third_party/port/mooring.py", MOORING, MOORING),
        ("port/mooring.py", "port/aio/mooring.py", MOORING, TWIN),
        ("docs/v1/mooring.md", "docs/v2/mooring.md", GUIDE, GUIDE.replace("# Mooring", "# Mooring ships")),
    ],
)
def test_copy_is_not_shown_beside_its_original(
    folder_of: FolderOf, first: str, second: str, text: str, copy: str
) -> None:
    folder = folder_of({first: text, second: copy, "port/leaving.py": OTHER})
    shown = [excerpt.path for excerpt in folder.excerpts(QUESTION)]
    assert len([path for path in shown if path in (first, second)]) == 1
    assert "port/leaving.py" in shown


def test_similar_code_is_not_a_copy(folder_of: FolderOf) -> None:
    other = MOORING.replace("first berth", "cheapest berth").replace("by_length", "by_price")
    other = other.replace("berth.length >= ship.length + SAFETY_MARGIN", "berth.price <= ship.budget")
    folder = folder_of({"port/mooring.py": MOORING, "port/cheap.py": other})
    shown = sorted(excerpt.path for excerpt in folder.excerpts(QUESTION))
    assert shown == ["port/cheap.py", "port/mooring.py"]


IMPORTS = """from port.berth import (
    Berth,
    free_berths_of_a_ship,
)
import port.ship_moored_at_berth
"""


def test_imports_above_a_definition_are_not_shown(folder_of: FolderOf) -> None:
    folder = folder_of({"port/mooring.py": f"# The port.\n{IMPORTS}\n\n{MOORING}"})
    (excerpt,) = folder.excerpts(QUESTION)
    assert excerpt.text == MOORING.rstrip("\n")


def test_passage_of_imports_alone_is_not_shown(folder_of: FolderOf) -> None:
    folder = folder_of({"port/all.py": f"{IMPORTS * 4}\ndef go():\n    pass\n", "port/mooring.py": MOORING})
    assert "port/all.py" in {each.stored.path for each in folder.passages(QUESTION)}
    assert {each.path for each in folder.excerpts(QUESTION)} == {"port/mooring.py"}


def test_neighbouring_passages_become_one_excerpt(folder_of: FolderOf) -> None:
    folder = folder_of({"port/long.py": LONG, "port/leaving.py": OTHER})
    passages = [each for each in folder.passages(QUESTION) if each.stored.path == "port/long.py"]
    assert len(passages) > 3
    for order in (passages, sorted(passages, key=lambda each: each.first)):
        same = [evolve(each, score=1.0) for each in order]
        (excerpt,) = folder.quote(same, 100_000)
        assert stands(folder, excerpt)
        assert excerpt.text.strip() == LONG.strip()


@pytest.mark.parametrize("above", [0, 5])
@pytest.mark.parametrize(("height", "is_whole"), [(18, True), (40, False)])
def test_definition_is_not_cut_just_before_its_end(
    folder_of: FolderOf, height: int, is_whole: bool, above: int
) -> None:
    body = "".join(f"    berth_{n} = moor(ship, {n})\n" for n in range(height))
    text = f"LIGHTS = 3\n\n\ndef moor_ship(ship):\n{body}\n\ndef leave(ship):\n    ship.go()\n"
    folder = folder_of({"port/mooring.py": text})
    passages = [each for each in folder.passages(QUESTION) if 3 <= each.first < 3 + height]
    first = min(passages, key=lambda each: each.first)
    folder.root.joinpath("port/mooring.py").write_text("# A port.\n" * above + text)
    (excerpt,) = folder.quote([evolve(first, score=1.0)])
    assert excerpt.header_path == "moor_ship"
    assert excerpt.range.end.line - excerpt.range.start.line <= height + 4
    assert (f"berth_{height - 1} =" in excerpt.text) is is_whole
    assert "def leave" not in excerpt.text


def test_excerpt_before_a_definition_is_not_named_after_it(folder_of: FolderOf) -> None:
    calls = "".join(f"moor_ship_at_berth({n})\n" for n in range(20))
    folder = folder_of({"port/ships.py": f"{calls}\n\ndef leave(ship):\n    ship.go()\n"})
    first = min(folder.passages(QUESTION), key=lambda each: each.first)
    (excerpt,) = folder.quote([evolve(first, score=1.0)])
    assert "def leave" not in excerpt.text
    assert (excerpt.symbol, excerpt.header_path) == ("", "")


def test_excerpt_has_the_name_of_the_definition_in_which_it_begins(folder_of: FolderOf) -> None:
    short = "def moor_ship(ship):\n    berth = find(ship)\n    return berth\n"
    longer = "def moor_ship_in_rain(ship):\n" + "".join(f"    rain_{n} = ship.rain()\n" for n in range(5))
    folder = folder_of({"port/mooring.py": f"# Mooring.\n{short}\n{longer}"})
    (excerpt,) = folder.quote(folder.passages(QUESTION))
    assert "def moor_ship_in_rain" in excerpt.text
    assert excerpt.symbol == "moor_ship"


def test_joined_excerpt_has_the_place_and_reason_of_its_best_passage(
    port: FolderWithPassages, every: Sequence[Passage]
) -> None:
    long = sorted((p for p in every if p.stored.path == "port/long.py"), key=lambda each: each.first)
    (other,) = [each for each in every if each.stored.path == "port/leaving.py"]
    first = evolve(long[0], score=1.0, explain=lambda: "best")
    second = evolve(long[1], score=0.8, explain=lambda: "next")
    excerpts = port.quote([first, evolve(other, score=0.9), second])
    assert [(each.path, each.reason, each.score) for each in excerpts] == [
        ("port/long.py", "best", 1.0),
        ("port/leaving.py", other.reason, 0.9),
    ]


# --- as files are now -------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_excerpts_are_the_lines_in_their_citations(folder_of: FolderOf, line_end: str) -> None:
    folder = folder_of({path: text.replace("\n", line_end) for path, text in PORT.items()})
    excerpts = folder.excerpts(QUESTION)
    assert {"port/mooring.py", "docs/mooring.md", "port/long.py"} <= {each.path for each in excerpts}
    assert all(stands(folder, excerpt) for excerpt in excerpts)


def test_excerpts_stand_by_file_in_the_order_of_their_lines(
    port: FolderWithPassages, every: Sequence[Passage]
) -> None:
    long = [each for each in every if each.stored.path == "port/long.py"]
    first, second = sorted(long, key=lambda each: each.first)[:: len(long) - 1]
    (other,) = [each for each in every if each.stored.path == "port/leaving.py"]
    passages = [evolve(second, score=1.0), evolve(other, score=0.9), evolve(first, score=0.8)]
    shown = [(each.path, each.range.start.line) for each in port.quote(passages)]
    assert shown == [("port/long.py", 0), ("port/long.py", second.first), ("port/leaving.py", 0)]


def edited(
    folder: FolderWithPassages, change: Callable[[str], str], path: str = "port/mooring.py"
) -> tuple[list[Excerpt], list[Excerpt]]:
    """Change a file between finding and quoting, unknown to the index. Return its excerpts, and all."""
    passages = folder.passages(QUESTION)
    file = folder.root / path
    text = change(file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    excerpts = folder.quote(passages)
    assert excerpts
    assert all(stands(folder, excerpt) for excerpt in excerpts)
    return [excerpt for excerpt in excerpts if excerpt.path == path], excerpts


def test_moved_lines_are_cited_at_their_current_place(folder_of: FolderOf) -> None:
    (moved,), _ = edited(folder_of(PORT), lambda text: "import harbour\n\n\n" + text)
    assert (moved.range.start.line, moved.text) == (3, MOORING.rstrip("\n"))


def test_indented_lines_are_quoted_as_they_are_now(folder_of: FolderOf) -> None:
    (moved,), _ = edited(folder_of(PORT), lambda text: "class Port:\n" + indent(text, "    "))
    assert moved.text.startswith("    def moor_ship")


def test_repeated_lines_are_cited_at_the_nearest_place(folder_of: FolderOf) -> None:
    folder = folder_of({**PORT, "port/mooring.py": "\n" * 20 + MOORING})
    between = "\n" * 9
    (nearest,), _ = edited(folder, lambda _: f"{MOORING}{between}x = 1\n{MOORING}{between * 9}{MOORING}")
    assert nearest.range.start.line == 16


@pytest.mark.parametrize(
    "change",
    [lambda text: text.replace("SAFETY_MARGIN", "2.5"), lambda _: "", lambda _: "\n", lambda _: "\n\n\n"],
    ids=["changed", "emptied", "one blank line", "blank lines"],
)
def test_changed_lines_are_not_quoted(folder_of: FolderOf, change: Callable[[str], str]) -> None:
    assert edited(folder_of(PORT), change)[0] == []


def test_deleted_file_is_not_quoted(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    passages = folder.passages(QUESTION)
    (folder.root / "port/mooring.py").unlink()
    shown = {excerpt.path for excerpt in folder.quote(passages)}
    assert shown >= {"port/long.py"}
    assert "port/mooring.py" not in shown


def test_unsaved_text_is_quoted(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    typed = "# A ship is moored by the harbour master alone.\n" + MOORING.replace(
        "first berth", "cheapest berth"
    )
    folder.type("port/mooring.py", typed)
    (shown,) = [excerpt for excerpt in folder.excerpts(QUESTION) if excerpt.path == "port/mooring.py"]
    assert shown.text == typed.rstrip("\n")
    assert stands(folder, shown)


def test_excerpts_do_not_need_vectors(port: FolderWithPassages) -> None:
    excerpts = port.quote(port.passages(QUESTION, with_vectors=False))
    assert "port/mooring.py" in {excerpt.path for excerpt in excerpts}
    assert all(stands(port, excerpt) for excerpt in excerpts)


# --- the budget -------------------------------------------------------------------------------------


def prompt(
    excerpts: list[Excerpt], config: PromptRenderConfig, query: str = QUESTION, warning: str = ""
) -> str:
    return render_llm_prompt(NO_PLAN, (), config, estimate_tokens, query, excerpts=excerpts, warning=warning)


def holds(prompt: str, excerpt: Excerpt) -> bool:
    """Return whether the prompt has each line of the excerpt, below its path."""
    _, _, below = prompt.partition(excerpt.path)
    lines = [line.strip() for line in lines_of(excerpt.text)]
    return json.dumps(dedent(excerpt.text))[1:-1] in below or all(line in below for line in lines)


def test_warning_is_in_the_instructions_and_within_the_budget(
    port: FolderWithPassages, every: Sequence[Passage]
) -> None:
    config = PromptRenderConfig(max_prompt_tokens=150)
    left = 150 - estimate_tokens(frame(config, QUESTION, WEAK))
    shown = prompt(port.quote(every, left, config), config, warning=WEAK)
    assert f"{EXCERPT_INSTRUCTIONS} {WEAK}\n" in shown
    assert estimate_tokens(shown) <= 150


@pytest.mark.parametrize("style", FormatStyle)
@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("budget", [100, 150, 300, 1_000, 4_000, 1_000_000])
def test_excerpts_fill_the_prompt_within_its_budget(
    port: FolderWithPassages, every: Sequence[Passage], style: FormatStyle, metadata: bool, budget: int
) -> None:
    config = PromptRenderConfig(format_style=style, include_metadata=metadata, max_prompt_tokens=budget)
    left = budget - estimate_tokens(frame(config, QUESTION))
    excerpts = port.quote(every, left, config)
    shown = prompt(excerpts, config)
    assert estimate_tokens(shown) <= budget
    assert all(holds(shown, each) for each in excerpts)
    if budget == 1_000:
        assert estimate_tokens(shown) >= 700  # the best answers are longer than that
    if budget >= 4_000:
        assert {"port/mooring.py", "port/long.py"} <= {excerpt.path for excerpt in excerpts}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.lists(st.integers(0, 1_000), max_size=30),
    scores=st.lists(st.floats(-2, 2), min_size=1, max_size=30),
    budget=st.integers(-10, 2_000),
    style=st.sampled_from(FormatStyle),
)
def test_any_passages_fit_any_budget(
    port: FolderWithPassages,
    every: Sequence[Passage],
    order: list[int],
    scores: list[float],
    budget: int,
    style: FormatStyle,
) -> None:
    config = PromptRenderConfig(format_style=style)
    passages = [
        evolve(every[number % len(every)], score=scores[place % len(scores)])
        for place, number in enumerate(order)
    ]
    excerpts = port.quote(passages, budget, config)
    assert sum(estimate_tokens(file_text(each, config)) for each in by_file(excerpts)) <= max(0, budget)
    assert all(stands(port, each) for each in excerpts)
    spans = sorted((each.path, each.range.start.line, each.range.end.line) for each in excerpts)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(spans))


@pytest.mark.parametrize("style", FormatStyle)
def test_long_question_leaves_room_for_excerpts(
    port: FolderWithPassages, every: Sequence[Passage], style: FormatStyle
) -> None:
    question = QUESTION + " or elsewhere" * 500
    config = PromptRenderConfig(format_style=style, max_prompt_tokens=1_000)
    left = 1_000 - estimate_tokens(frame(config, question))
    assert left > 600
    excerpts = port.quote(every, left, config)
    shown = prompt(excerpts, config, question)
    assert estimate_tokens(shown) <= 1_000
    assert "or elsewhere" in shown
    assert excerpts
    assert all(holds(shown, excerpt) for excerpt in excerpts)


# --- in the prompt ----------------------------------------------------------------------------------


def test_prompt_shows_excerpts_below_the_path_of_their_file(folder_of: FolderOf) -> None:
    excerpts = folder_of({"port/mooring.py": MOORING}).excerpts(QUESTION)
    lines = MOORING.splitlines()
    numbered = "\n".join(
        f"{number if number in (1, 5) else '':>4} {line}" for number, line in enumerate(lines, 1)
    )
    assert prompt(excerpts, PromptRenderConfig()) == (
        f"## Question\n{QUESTION}\n\n## Instructions\n{EXCERPT_INSTRUCTIONS}\n\n## Excerpts\n\n"
        f"### port/mooring.py\n```python\n{numbered}\n```\n"
    )


def test_shared_indentation_is_cut_and_the_definition_around_is_named(folder_of: FolderOf) -> None:
    body = "".join(f"        self.berth_{n}.moor(ship, margin={n})\n" for n in range(30))
    text = f"class Harbour:\n    def moor_ship(self, ship):\n{body}"
    folder = folder_of({"port/harbour.py": text})
    *_, last = sorted(folder.passages(QUESTION), key=lambda each: each.first)
    (excerpt,) = folder.quote([evolve(last, score=1.0)])
    assert excerpt.text.startswith("        self.berth")
    first, *others = file_text([excerpt], PLAIN).splitlines()[1:]
    assert first == "… Harbour.moor_ship"
    berth = last.first - 2
    assert (
        others[0].strip() == f"{excerpt.range.start.line + 1} self.berth_{berth}.moor(ship, margin={berth})"
    )
    numbers = [line[:4].strip() for line in others if line[:4].strip()]
    assert all(int(number) % 5 == 0 for number in numbers[1:])
    assert len(numbers) >= 2


def test_fence_in_an_excerpt_does_not_end_its_block(folder_of: FolderOf) -> None:
    guide = "# Mooring\n\nA ship is moored at a berth:\n```sh\nmoor --ship\n```\n````text\nmoored\n````\n"
    excerpts = folder_of({"docs/mooring.md": guide}).excerpts(QUESTION)
    lines = lines_of(prompt(excerpts, PromptRenderConfig()))
    opened = next(place for place, line in enumerate(lines) if line.startswith("`````"))
    fence = "`" * 5
    assert lines[opened] == fence + "markdown"
    assert lines.index(fence) == len(lines) - 2, "the block ends with the prompt"
    assert "````" in map(str.strip, lines[opened : lines.index(fence)])


@given(st.lists(st.sampled_from(["`", "```", "````", "\n", " ", "~~~", "a"]), max_size=40).map("".join))
def test_fence_differs_from_every_line_of_a_text(text: str) -> None:
    fence = fence_for(text)
    assert len(fence) >= 3
    assert not any(line.strip().startswith(fence) for line in lines_of(text))
