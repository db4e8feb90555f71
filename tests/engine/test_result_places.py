"""A search leads to the thing itself: a definition or a section, by its name, on its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engines import PATIENT, indexed
from tests.harbour import write_files

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.runner import answer

LONG = "".join(
    f"    total += rates[{number}] * {number}  # tariff of berth {number}\n" for number in range(120)
)
FILES = {
    "port/lock.py": '''"""How a berth is locked."""

WRITER_TIMEOUT = 5


class Holder:
    """Who holds a lock: the process that writes."""

    pid = 0


def lock_for_writing_tests():
    return Holder()


def writer_lock(path):
    """Take the lock."""
    return path


def release(path):
    """Give back what was taken."""


def forget(path):
    """Drop every stale holder."""
''',
    "port/berth.ts": """\
export class HarbourMaster {
  mooringRope(): void {}
}

export function callPilot() {}
""",
    "port/tide.c": '#include "tide.h"\n\n/* Waits. */\nint tide_await(int level)\n{\n\treturn level;\n}\n',
    "port/tide.h": """\
/* The tide. */
#ifndef TIDE_H
int tide_await(int level);

typedef union {
	int full;
} tide_level;
#endif
""",
    "port/buoy.c": """\
#include "buoy.h"

int buoy_light(int colour)
{
\treturn colour;
}

int buoy_bell(int tone)
{
\treturn tone + 1;
}
""",
    "port/buoy.h": "\n".join(f"int buoy_{each}(int given);" for each in ("light", "bell", "whistle", "gong")),
    **{f"port/watch{n}.c": f'#include "buoy.h"\nint watch_{n};\n' for n in range(6)},
    **{
        f"log/day{n}.py": f'"""Pilot ladder, ladder of the pilot, day {n}."""\n\nLADDER = {n}\n'
        for n in range(15)
    },
    "tests/rig.py": "def unrelated():\n    return 1\n\n\ndef pilot_ladder():\n    return 2\n",
    "port/tariff.py": f"def harbour_dues(rates):\n    total = 0\n{LONG}    return total\n",
    "docs/guide.md": "# Guide\n\nWelcome.\n\n## Night Watch\n\n"
    + "".join(f"The lamp number {number} is lit at dusk and put out at dawn.\n\n" for number in range(60))
    + "Whoever sees a whale rings the bell.\n\n## Stores\n\nRope and tar.\n",
    "harbour.toml": '[crane]\nheight = 30\nswing_limit = "90"\n',
    "vessels/list.py": "".join(f"def kind_{number}():\n    return 'lock'\n\n\n" for number in range(8)),
}


@pytest.fixture(scope="module")
def engine(module_folder: Path) -> Iterator[Engine]:
    with indexed(write_files(module_folder / "places", FILES), **PATIENT) as opened:
        yield opened


def search(engine: Engine, query: str, **more: Any) -> protocol.SearchAnswer:
    params = protocol.SearchParams(query, context=0, **more)
    found: protocol.SearchAnswer = answer(engine.request(), "search", params, as_json=False)
    return found


def first(engine: Engine, query: str) -> protocol.SearchResult:
    return search(engine, query).results[0]


def line_of(result: protocol.SearchResult) -> str:
    return FILES[result.path].split("\n")[result.selection_range.start.line]


@pytest.mark.parametrize("query", ["writer lock", "Writer Lock", "writer locks", "writer_lock", "writerLock"])
def test_words_of_a_name_lead_to_its_definition(engine: Engine, query: str) -> None:
    found = first(engine, query)
    assert (found.title, found.symbol_kind, line_of(found)) == (
        "writer_lock",
        "function",
        "def writer_lock(path):",
    )
    assert found.snippet.startswith("def writer_lock")
    assert "release" not in found.snippet


@pytest.mark.parametrize(
    ("query", "title", "kind"),
    [
        ("harbour master", "HarbourMaster", "class"),
        ("mooring rope", "HarbourMaster.mooringRope", "method"),
        ("call pilot", "callPilot", "function"),
        ("stale holder", "forget", "function"),
        ("give back taken", "release", "function"),
        ("writer timeout", "WRITER_TIMEOUT", "constant"),
    ],
)
def test_each_definition_of_one_chunk_can_be_the_result(
    engine: Engine, query: str, title: str, kind: str
) -> None:
    found = first(engine, query)
    assert (found.title, found.symbol_kind) == (title, kind)
    assert title.rpartition(".")[2] in line_of(found)


@pytest.mark.parametrize("query", ["tide_await", "tide await"])
def test_a_definition_comes_before_its_prototype(engine: Engine, query: str) -> None:
    places = [(each.path, each.symbol) for each in search(engine, query).results]
    assert places[0] == ("port/tide.c", "tide_await")


@pytest.mark.parametrize("name", ["buoy_light", "buoy_bell"])
def test_a_definition_comes_before_a_prototype_in_an_imported_header(engine: Engine, name: str) -> None:
    found = first(engine, name)
    assert (found.path, found.symbol) == ("port/buoy.c", name)


def test_a_name_is_found_in_a_file_that_ranks_low(engine: Engine) -> None:
    assert "pilot_ladder" in [each.title for each in search(engine, "pilot ladder").results]


def test_the_name_of_a_typedef_leads_to_its_line(engine: Engine) -> None:
    found = first(engine, "tide_level")
    assert (found.title, line_of(found)) == ("tide_level", "} tide_level;")


def test_lines_inside_a_long_function_have_its_head(engine: Engine) -> None:
    found = first(engine, "tariff of berth 101")
    assert found.symbol == "harbour_dues"
    assert line_of(found) == "def harbour_dues(rates):"
    assert found.head == "def harbour_dues(rates):"
    assert found.range.start.line > 50
    assert "berth 101" in found.snippet


def test_a_later_part_of_a_section_leads_to_its_heading(engine: Engine) -> None:
    every = search(engine, "who sees a whale rings the bell").results
    found = next(each for each in every if each.path == "docs/guide.md")
    assert found.title == "Night Watch"
    assert line_of(found) == "## Night Watch"
    assert found.matched_line is not None
    assert "whale" in found.matched_line.text
    assert found.matched_line.line > found.range.start.line


def test_a_key_of_a_configuration_leads_to_its_line(engine: Engine) -> None:
    found = first(engine, "swing limit")
    assert found.title == "harbour.toml: swing_limit"
    assert line_of(found).startswith("swing_limit")


def test_the_matched_line_marks_the_words_of_the_query(engine: Engine) -> None:
    found = first(engine, "stale holder drop")
    matched = found.matched_line
    assert matched is not None
    assert matched.text == '"""Drop every stale holder."""'
    assert [matched.text[mark.start : mark.end] for mark in matched.marks] == ["Drop", "stale", "holder"]


def test_only_the_best_are_shown_on_request_and_the_others_counted(engine: Engine) -> None:
    best = search(engine, "writer lock", best_only=True)
    every = search(engine, "writer lock")
    assert len(best.results) < len(every.results)
    assert not every.further
    assert best.results[0].title == "writer_lock"
    assert [each.word for each in best.further] == ["lock"]


@pytest.mark.parametrize("typed", ["writer loc", "writer lo", "harbour mas", "stale hold"])
def test_a_word_being_typed_finds_what_the_whole_word_finds(engine: Engine, typed: str) -> None:
    whole = {"writer": "writer_lock", "harbour": "HarbourMaster", "stale": "forget"}[typed.split()[0]]
    assert first(engine, typed).title == whole


def test_few_letters_show_names_and_files_that_begin_with_them(engine: Engine) -> None:
    titles = [each.title for each in search(engine, "ha").results]
    assert titles[:2] == ["harbour_dues", "HarbourMaster"] or titles[:2] == ["HarbourMaster", "harbour_dues"]
    assert [each.path for each in search(engine, "tar").results] == ["port/tariff.py"]
    assert not search(engine, "zq").results or search(engine, "zq").verdict.action == "noMatch"


def test_workspace_symbols_are_found_by_words(engine: Engine) -> None:
    found = answer(engine.request(), "workspace/symbol", protocol.SymbolParams("writer lock"), as_json=False)
    assert found[0].name == "writer_lock"


def test_a_long_function_is_one_result(engine: Engine) -> None:
    found = search(engine, "how are the dues of a harbour summed by tariff", limit=20).results
    assert [each.symbol for each in found].count("harbour_dues") == 1
