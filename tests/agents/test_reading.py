"""What `read` shows of files, parts of files and definitions, and what a session does not show again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.agents.shown_lines import ShownLines
from cairn.discovery.layout import MARK
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from tests.agents.asking import MORE, SECRET, Ask, asking
from tests.agents.conftest import DOCKS
from tests.engine.engines import indexed

BERTHS = "src/harbour/berths.py"
LOADING = "src/harbour/loading.py"


def test_read_takes_a_path_in_any_form(ask: Ask, folder: Path) -> None:
    wanted = ask("read", path="src/harbour/berths.py:4-6")
    assert wanted.split("\n")[1:] == [
        "4:class Berth:",
        '5:    """A place where one ship at a time can be moored."""',
        "6:",
    ]
    file = folder / "src/harbour/berths.py"
    for path in (
        "./src/harbour/berths.py:4-6",
        "src/harbour/berths.py#L4-L6",
        f"{file}:4-6",
        "berths.py:4-6",
        "harbour/berths.py:4-6",
        f"{file.as_uri()}#L4-L6",
    ):
        assert ask("read", path=path) == wanted, path


def test_read_takes_a_name_or_a_question(ask: Ask) -> None:
    text = ask("read", path="Berth.moor_ship")
    head = f"{MARK}src/harbour/berths.py:11-15 of 15 lines, Berth.moor_ship (method)"
    assert text.startswith(f"{head}\n11:    def moor_ship(self, ship):")
    assert text.endswith("15:        self.ship = ship")
    assert ask("read", path="when is high water on a day").startswith("Taken as a question")


def test_read_shows_the_current_text_and_notes_the_change(own_engine: Engine, workspace: Path) -> None:
    ask, path = asking(own_engine), workspace / "src/harbour/tides.py"
    path.write_text(path.read_text().replace("Tide tables.", "Tables of the tides."))
    text = ask("read", path="src/harbour/tides.py")
    assert "has changed since it was indexed" in text
    assert '1:"""Tables of the tides."""' in text
    before = ask("read", path="src/harbour/tides.py", version="indexed")
    assert '1:"""Tide tables."""' in before
    assert "text as it was indexed" in before
    path.unlink()
    assert "cannot be read now" in ask("read", path="src/harbour/tides.py")


def test_read_continues_a_long_file_with_the_next_line(ask: Ask) -> None:
    first = ask("read", path="src/harbour/loading.py:1-304", max_tokens=400)
    (path,) = MORE.findall(first)
    following = ask("read", path=path, max_tokens=400).split("\n")[1]
    last = [line for line in first.split("\n") if line[0].isdigit()][-1]
    assert int(following.split(":")[0]) == int(last.split(":")[0]) + 1
    assert ask("read", path="src", cursor=path, max_tokens=400).split("\n")[1] == following


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("id_rsa", "may hold secrets'; such files are never shown"),
        ("notes.bak.log", "left out of the index by the rule"),
        ("src/harbour", "is a directory"),
        ("src/harbour/berth.py", "did you mean 'src/harbour/berths.py'?"),
        ("moor_shp", "Did you mean moor_ship"),
        ("../secret", "is outside of the workspace"),
        ("src/harbour/berths.py:400", "has 15 lines"),
    ],
)
def test_read_explains_a_refusal(ask: Ask, path: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ask("read", path=path)
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_read_refuses_a_secret_in_an_indexed_file(own_engine: Engine, workspace: Path) -> None:
    (workspace / "README.md").write_text(SECRET)
    with pytest.raises(InvalidRequestError, match="never shown"):
        asking(own_engine)("read", path="README.md")


# --- several places --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        [f"{BERTHS}:4-6", f"{LOADING}:1-2", "high_water"],
        f"{BERTHS}:4-6, {LOADING}:1-2, high_water",
        f"{BERTHS}:4-6\n{LOADING}:1-2\nhigh_water",
    ],
    ids=["a list", "commas", "lines"],
)
def test_several_places_are_read_at_once(ask: Ask, path: str | list[str]) -> None:
    heads = [line for line in ask("read", path=path).split("\n") if line.startswith(MARK)]
    assert [head.partition(" of ")[0] for head in heads[:2]] == [
        f"{MARK}{BERTHS}:4-6",
        f"{MARK}{LOADING}:1-2",
    ]
    assert heads[2].endswith("high_water (function)")


def test_further_lines_belong_to_the_path_before_them(ask: Ask) -> None:
    text = ask("read", path=f"{BERTHS}:4-6,11")
    assert re.findall(rf"{MARK}(\S+) of", text) == [f"{BERTHS}:4-6", f"{BERTHS}:11"]


def test_a_place_that_is_not_there_is_named_beside_the_others(ask: Ask) -> None:
    text = ask("read", path=[f"{BERTHS}:4-6", "src/harbour/berth.py"])
    assert "4:class Berth:" in text
    assert f"{MARK}there is no 'src/harbour/berth.py' in the workspace; did you mean '{BERTHS}'?" in text


def test_of_several_files_with_one_end_the_one_in_view_is_read(own_engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match="several paths end with"):
        asking(own_engine)("read", path="dock.py:1")
    ask = asking(own_engine, ShownLines())
    ask("read", path="src/dock.py:1")
    assert ask("read", path="dock.py:2").startswith(
        f"Taken dock.py as src/dock.py; 1 more path ends so:\n{MARK}src/dock.py:2 of"
    )


def test_a_file_beside_the_source_is_not_meant_by_the_end_of_its_path(own_engine: Engine) -> None:
    assert f"{MARK}src/cast_off.sh:1 of" in asking(own_engine)("read", path="cast_off.sh:1")


def test_a_file_in_another_folder_than_given_is_read_with_a_note(ask: Ask) -> None:
    text = ask("read", path="lib/berths.py:4-6")
    assert text.startswith(f"Taken lib/berths.py as {BERTHS}:\n{MARK}{BERTHS}:4-6 of")


@pytest.mark.parametrize("place", ["let_go", "cast_off.sh:let_go"])
def test_a_definition_in_a_language_without_references_is_read(own_engine: Engine, place: str) -> None:
    text = asking(own_engine)("read", path=place)
    assert "\n4:let_go() {\n5:    untie\n6:    haul_in\n7:}" in text
    assert "ROPES" not in text


def test_equally_likely_definitions_of_a_name_are_all_read(own_engine: Engine) -> None:
    text = asking(own_engine)("read", path="fill_dock")
    assert re.findall(rf"^{MARK}(\S+):1-2 of", text, re.MULTILINE) == ["src/dock.py", "src/harbour/dock.py"]


@pytest.mark.parametrize("name", ["dockyard.launch", "dockyard::launch"])
def test_a_method_of_an_object_in_a_variable_is_read(own_engine: Engine, name: str) -> None:
    text = asking(own_engine)("read", path=name)
    head = f"{MARK}src/dockyard.ts:2-4 of 5 lines, dockyard.launch (method)\n"
    assert f"{head}2:  async launch(ship: string) {{" in text


def test_an_interface_names_what_implements_it(own_engine: Engine) -> None:
    (head, *_) = asking(own_engine)("read", path="Crane").split("\n")
    assert head == f"{MARK}src/crane.ts:1-3 of 3 lines, Crane (interface); implemented by src/jib.ts:Jib"


def test_a_definition_in_several_chunks_is_read_whole(own_engine: Engine) -> None:
    text = asking(own_engine)("read", path="port.fill_docks")
    assert f"{MARK}src/docks.sql:1-{DOCKS.count(chr(10))} of" in text


@pytest.mark.parametrize("name", ["moor_ship", "Berth.moor_ship", "Berth::moor_ship", "moor_ship()"])
def test_a_definition_is_read_from_a_file(ask: Ask, name: str) -> None:
    text = ask("read", path=f"berths.py:{name}")
    assert text.startswith(f"{MARK}{BERTHS}:11-15 of")
    assert "Berth.moor_ship (method)" in text


def test_a_file_without_the_definition_is_named(ask: Ask) -> None:
    with pytest.raises(InvalidRequestError, match=rf"{BERTHS} defines no 'sink'"):
        ask("read", path=f"{BERTHS}:sink")


def test_a_comment_that_is_asked_for_is_not_folded(own_engine: Engine) -> None:
    ask = asking(own_engine)
    assert "3-40 comment" in ask("read", path="src/charter.rs")
    for lines in ("1-45", "3-38", "2-30"):
        assert "comment" not in ask("read", path=f"src/charter.rs:{lines}"), lines


def test_short_places_are_whole_and_long_ones_share_what_is_left(ask: Ask) -> None:
    text = ask("read", path=[f"{LOADING}:1-300", f"{BERTHS}:4-6"], max_tokens=300)
    loading, berths = text.split(MARK)[1:]
    assert "4:class Berth:" in berths
    assert "6:" in berths
    assert re.search(rf"^more: path={LOADING}:\d+-\d+$", loading, re.MULTILINE)


def test_a_text_of_two_places_is_not_shown_twice(ask: Ask, engine: Engine) -> None:
    text = asking(engine, ShownLines())("read", path=[f"{BERTHS}:4-12", "Berth"])
    assert text.count("4:class Berth:") == 1
    assert "4-12 shown above (again=true repeats them)" in text


# --- definitions and outlines ------------------------------------------------------------------------------


def test_a_definition_comes_with_its_comment_and_decorators(own_engine: Engine, workspace: Path) -> None:
    text = asking(own_engine)("read", path="flood_gate")
    assert [line.partition(":")[2] for line in text.split("\n")[1:]] == [
        "# Closes before the water is too high.",
        "@lru_cache",
        "def flood_gate(level):",
        "    return level > 3",
    ]


def test_a_definition_is_shown_without_a_comment_that_is_too_long(
    workspace: Path, bare_data_dir: Path
) -> None:
    block = "/*\n" + "Tie up weigh_anchor by hand.\n" * 10 + "*/\n"
    for name, comment in (("weigh_anchor", "/* The anchor. */\n" * 2_000), ("sound_depth", block)):
        text = f"{comment}int {name}(int n)\n{{\n    return n;\n}}\n"
        (workspace / f"src/{name}.c").write_text(text)
    (workspace / "src/luff.sh").write_text("# How to luff_up.\n" * 100 + "luff_up() {\n    echo 1\n}\n")
    with indexed(workspace) as engine:
        ask = asking(engine)
        for name, lines in (
            ("weigh_anchor", "src/weigh_anchor.c:2001-2004"),
            ("luff_up", "src/luff.sh:101-103"),
            ("sound_depth", "src/sound_depth.c:1-16"),  # The comment is short enough.
        ):
            found = [line for line in ask("search", query=name).split("\n") if "defines it" in line]
            assert len(found) == 1
            assert found[0].startswith(f"{lines}  {name} (function)")
            assert ask("read", path=name).startswith(f"{MARK}{lines} of")
        assert "; its comment: 1-2000\n" in ask("read", path="weigh_anchor")


def test_a_name_means_its_longest_definition_or_one_in_a_shown_file(
    own_engine: Engine, workspace: Path
) -> None:
    assert f"{MARK}src/harbour/gates.py:10-12 of" in asking(own_engine)("read", path="close_gate")
    ask = asking(own_engine, ShownLines())
    ask("read", path="src/harbour/locks.py:1-2")
    text = ask("read", path="close_gate", again=True)
    assert f"{MARK}src/harbour/locks.py:1-2 of" in text
    assert "(function); others: src/harbour/gates.py:10-12, 1 in tests or documents\n" in text


def test_lines_inside_a_function_say_whose_they_are(ask: Ask) -> None:
    assert ask("read", path=f"{BERTHS}:13-14").startswith(
        f"{MARK}{BERTHS}:13-14 of 15 lines, in Berth.moor_ship (method, 11-15)\n13:"
    )
    assert "in " not in ask("read", path=f"{BERTHS}:11-12").split("\n")[0]


def test_a_long_file_is_outlined(ask: Ask) -> None:
    text = ask("read", path=LOADING, max_tokens=1_000)
    assert text.startswith(f"{MARK}{LOADING}, 306 lines; its outline, as it is long; :1-200 reads lines\n")
    assert "\n5-7 def step_0(ship):\n" in text
    assert "\n305-306 def pair(one, two):" in text
    assert "return moor(ship)" not in text


# --- sessions ------------------------------------------------------------------------------------------


def test_a_session_does_not_show_lines_twice(own_engine: Engine, workspace: Path) -> None:
    ask = asking(own_engine, ShownLines())
    assert "11:    def moor_ship(self, ship):" in ask("read", path=f"{BERTHS}:11-15")
    again = ask("read", path=f"{BERTHS}:8-15")
    assert "\n8:" in again
    assert again.endswith("\n11-15 shown above (again=true repeats them)")
    assert "11:    def moor_ship(self, ship):" in ask("read", path=f"{BERTHS}:11-15", again=True)
    file = workspace / BERTHS
    file.write_text(file.read_text().replace("def moor_ship(self, ship):", "def moor_ship(self, vessel):"))
    changed = ask("read", path=f"{BERTHS}:11-15")
    assert "11:    def moor_ship(self, vessel):" in changed
    assert "12-15 shown above" in changed


@pytest.mark.parametrize("tool", ["discover", "search"])
def test_later_answers_of_a_session_leave_out_what_was_shown(engine: Engine, tool: str) -> None:
    ask, question = asking(engine, ShownLines()), "how are ships assigned to berths"
    alone = asking(engine)(tool, query=question)
    line = "def assign_berths(ships, berths: list[Berth]):"
    assert line in alone
    assert ask(tool, query=question) == alone
    later = ask(tool, query=f"{question}?")
    assert line not in later
    assert "src/harbour/schedule.py" in later
    assert "hown above" in later
    assert line in ask(tool, query=question, again=True)


def test_discovery_goes_on_where_the_session_stopped(engine: Engine) -> None:
    ask, question = asking(engine, ShownLines()), "how is a ship loaded and moored"
    seen: list[str] = []
    for _ in range(3):
        text = ask("discover", query=question, max_tokens=400)
        seen += re.findall(r"def (step_\d+)\(ship\)", text)
    assert len(seen) > 10
    assert len(seen) == len(set(seen))


def test_lines_are_shown_again_if_the_settings_say_so(own_engine: Engine) -> None:
    own_engine.configure({"agents": {"repeatLines": True}})
    ask = asking(own_engine, ShownLines())
    assert ask("read", path=f"{BERTHS}:4-12") == ask("read", path=f"{BERTHS}:4-12")


def test_a_session_lasts_across_folders(engine: Engine, own_engine: Engine) -> None:
    session, question = ShownLines(), "how is a ship moored"
    asking(engine, session)("discover", query=question)
    assert "def moor" in asking(own_engine, session)("discover", query=question)


def test_many_places_keep_a_small_budget(ask: Ask, engine: Engine) -> None:
    places = [f"{LOADING}:{number}-{number + 2}" for number in range(1, 120, 3)]
    text = ask("read", path=places, max_tokens=200)
    assert engine.request().host.model.count_tokens(text) <= 200
    assert text.endswith("36 more places did not fit.")
