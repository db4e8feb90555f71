"""Which lenses stand above the definitions of a file, and what they say."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.conftest import ask
from tests.engine.engines import indexed
from tests.harbour import write_files
from tests.serving import wait_for

from cairn.engine.engine import Engine
from cairn.engine.explained import explained
from cairn.engine.lenses import Counted, Lens, count, lenses
from cairn.engine.runner import read
from cairn.protocol import ContextSection

PIER = '''"""A pier."""

from flask import Blueprint

pages = Blueprint("pages", __name__)
LENGTH = 9.5


class Pier:
    """A pier of the port."""

    width: float = 2.0

    def __init__(self, length=LENGTH):
        self.length = length

    def __len__(self):
        return int(self.length)

    def extend_pier(self, by):
        def grown(length):
            return length + by

        self.length = grown(self.length)

    def _sink(self):
        self.length = 0


@pages.route("/piers/<name>")
def show_pier(name):
    return name


def measure_pier(pier):
    return pier.length


def build_pier():
    pier = Pier(3)
    pier.extend_pier(2)
    pier.extend_pier(3)
    return pier
'''
PORT = """from pier import build_pier


def open_port(thing):
    thing.refit_hull()
    build_pier()
"""
HULL = "\n\n".join(
    f"class {name}:\n    def refit_hull(self):\n        pass\n" for name in ("Hull", "Deck", "Keel")
)
TEST = """from pier import build_pier, measure_pier


def built():
    return build_pier()


def test_pier():
    assert measure_pier(built())
"""
GUIDE = """# Guide

Start here.

## Piers

Call `build_pier()` to get a pier, and `extend_pier` to make it longer.

## Nothing

The end.
"""
FILES = {
    "src/pier.py": PIER,
    "src/port.py": PORT,
    "src/hull.py": HULL,
    "tests/test_pier.py": TEST,
    "docs/guide.md": GUIDE,
}
WITH_TESTS = (ContextSection.CALLERS, ContextSection.TESTS)


@pytest.fixture(scope="module")
def port(module_folder: Path) -> Path:
    return write_files(module_folder / "port", FILES)


@pytest.fixture(scope="module")
def engine(port: Path) -> Iterator[Engine]:
    with indexed(port) as engine:
        yield engine


def found_in(engine: Engine, path: Path, *, headings: bool = False) -> tuple[Lens, ...]:
    uri = path.as_uri()
    return read(engine.request(), lambda request: lenses(request, uri, headings=headings)).lenses


def shown(engine: Engine, path: Path, *, headings: bool = False) -> dict[str, list[ContextSection]]:
    """Return the sections of the lenses of each definition."""
    found: dict[str, list[ContextSection]] = {}
    for each in found_in(engine, path, headings=headings):
        found.setdefault(each.definition[0], []).append(each.section)
    return found


def said(engine: Engine, path: Path, name: str, number: int = 0) -> Mapping[ContextSection, str]:
    return counted(engine, path, (name, number)).titles


def counted(engine: Engine, path: Path, definition: tuple[str, int], known: Counted | None = None) -> Counted:
    uri = path.as_uri()
    return read(engine.request(), lambda request: count(request, uri, definition, known or Counted()))


def test_functions_methods_and_types_have_lenses(engine: Engine, port: Path) -> None:
    found = shown(engine, port / "src/pier.py")
    assert list(found) == [
        "Pier", "Pier.extend_pier", "Pier._sink", "show_pier", "measure_pier", "build_pier"
    ]  # fmt: skip
    assert {tuple(found[name]) for name in ("measure_pier", "build_pier")} == {WITH_TESTS}
    assert found["Pier.extend_pier"] == [ContextSection.CALLERS]


def test_lenses_stand_at_the_names(engine: Engine, port: Path) -> None:
    lines = PIER.split("\n")
    for each in found_in(engine, port / "src/pier.py"):
        name = each.definition[0].rpartition(".")[2]
        assert lines[each.line + each.below].startswith(name, each.character)


def test_lens_stands_above_the_whole_definition(tmp_path: Path, module_folder: Path) -> None:
    root = write_files(
        tmp_path / "c", {"pier.c": "/* A pier. */\nstatic int\npier_length(void)\n{\n    return 1;\n}\n"}
    )
    with indexed(root) as engine:
        (lens,) = found_in(engine, root / "pier.c")
        assert (lens.line, lens.below, lens.character) == (1, 1, 0)


def test_tests_have_no_lenses_but_what_they_share_has(engine: Engine, port: Path) -> None:
    assert list(shown(engine, port / "tests/test_pier.py")) == ["built"]
    assert (
        said(engine, port / "tests/test_pier.py", "built")[ContextSection.CALLERS] == "only called in tests"
    )


def test_counts_are_those_of_the_references(engine: Engine, port: Path) -> None:
    compared = 0
    for name in FILES:
        uri = (port / name).as_uri()
        for each in found_in(engine, port / name):
            if each.section not in WITH_TESTS:
                continue
            place = {
                "textDocument": {"uri": uri},
                "position": {"line": each.line + each.below, "character": each.character},
            }
            filtered = {"tests": False} if each.section is ContextSection.CALLERS else {}
            answer = ask(engine, "references", {**place, **filtered, "direction": each.section.value})
            sure = sum(reference.confidence >= 0.5 for reference in answer.references)
            title = said(engine, port / name, *each.definition).get(each.section, "")
            number = re.match(r"(\d+) (?!possible)", title)
            assert (int(number[1]) if number else 0) == sure, (each.definition, title)
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("path", "name", "title"),
    [
        ("src/pier.py", "Pier", "1 caller"),
        ("src/pier.py", "Pier.extend_pier", "2 callers"),
        ("src/pier.py", "Pier._sink", "no callers"),
        ("src/pier.py", "show_pier", "route GET /piers/<name>"),
        ("src/pier.py", "measure_pier", "only called in tests"),
        ("src/port.py", "open_port", "no known callers"),
        ("src/hull.py", "Hull", "no known uses"),
        ("src/hull.py", "Hull.refit_hull", "1 possible caller"),
    ],
)
def test_title_says_who_calls(engine: Engine, port: Path, path: str, name: str, title: str) -> None:
    assert said(engine, port / path, name)[ContextSection.CALLERS] == title


def test_title_counts_tests_and_names_documents(engine: Engine, port: Path) -> None:
    found = said(engine, port / "src/pier.py", "build_pier")
    assert found[ContextSection.TESTS] == "2 tests"
    assert found[ContextSection.DOCUMENTS] == "explained in guide.md"
    assert ContextSection.TESTS not in said(engine, port / "src/pier.py", "Pier._sink")


def test_nothing_is_said_of_what_is_not_there(engine: Engine, port: Path) -> None:
    assert said(engine, port / "src/pier.py", "no_pier") == {}
    assert shown(engine, port / "src/none.py") == {}
    assert shown(engine, port.parent / "outside.py") == {}


def test_only_changed_files_with_its_names_make_a_definition_count_again(port: Path, tmp_path: Path) -> None:
    root = write_files(tmp_path / "port", FILES)
    pier, definition = root / "src/pier.py", ("build_pier", 0)

    def changed(engine: Engine, name: str, text: str) -> None:
        before = engine.folders[0].reader.facts().content
        (root / name).write_text(text, encoding="utf-8")
        engine.changed(root / name)
        wait_for(lambda: engine.folders[0].reader.facts().content > before)

    with indexed(root) as engine:
        first = counted(engine, pier, definition)
        assert counted(engine, pier, definition, first) is first
        changed(engine, "src/hull.py", HULL + "# The end.\n")
        second = counted(engine, pier, definition, first)
        assert second.state != first.state
        assert second.titles is first.titles
        changed(engine, "src/port.py", PORT + "    build_pier()\n")
        third = counted(engine, pier, definition, second).titles
        assert third[ContextSection.CALLERS] == "2 callers"
        changed(engine, "docs/guide.md", GUIDE.replace("`build_pier()`", "it"))
        assert ContextSection.DOCUMENTS not in counted(engine, pier, definition, second).titles


def test_headings_say_how_many_definitions_they_show(engine: Engine, port: Path) -> None:
    guide = port / "docs/guide.md"
    assert shown(engine, guide) == {}
    assert shown(engine, guide, headings=True) == {"Piers": [ContextSection.USED]}
    (lens,) = found_in(engine, guide, headings=True)
    assert (lens.line, lens.title) == (4, "shows 2 definitions")


def test_lenses_follow_unsaved_text(port: Path) -> None:
    with indexed(port) as engine:
        path = port / "src/pier.py"
        engine.document_changed(path, "# one more line\n" + PIER + "\n\ndef burn_pier():\n    build_pier()\n")
        found = found_in(engine, path)
        assert found[0].line == PIER.split("\n").index("class Pier:") + 1
        assert found[-1].definition == ("burn_pier", 0)
        assert said(engine, path, "build_pier")[ContextSection.CALLERS] == "2 callers"


def test_first_definition_names_files_that_change_with_it(tmp_path: Path, module_folder: Path) -> None:
    root = write_files(tmp_path / "port", FILES)

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for number in range(3):
        for name in ("src/pier.py", "src/hull.py"):
            path = root / name
            path.write_text(f"{path.read_text(encoding='utf-8')}# {number}\n", encoding="utf-8")
        git("add", "src/pier.py", "src/hull.py")
        git("commit", "-qm", f"change {number}")
    with indexed(root) as engine:
        wait_for(lambda: ContextSection.TOGETHER in said(engine, root / "src/pier.py", "Pier"))
        assert said(engine, root / "src/pier.py", "Pier")[ContextSection.TOGETHER] == "changes with hull.py"
        assert ContextSection.TOGETHER not in said(engine, root / "src/pier.py", "Pier.extend_pier")


# --- explanations --------------------------------------------------------------------------------------


def test_documents_explain_the_name_at_a_position(engine: Engine, port: Path) -> None:
    call = PORT.split("\n").index("    build_pier()")
    uri = (port / "src/port.py").as_uri()
    (found,) = read(engine.request(), lambda request: explained(request, uri, call, 6))
    assert (found.path, found.line, found.name) == ("docs/guide.md", 6, "guide.md")
    assert found.sentence == "Call `build_pier()` to get a pier, and `extend_pier` to make it longer."
    assert not read(engine.request(), lambda request: explained(request, uri, 2, 0))
