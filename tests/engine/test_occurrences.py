"""An exact search lists every line with a text or an expression, and says truly whether that is all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed
from tests.harbour import write_files

from cairn.engine import occurrences
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError
from cairn.protocol import Occurrences, SearchAnswer, SearchFilter, SearchParams
from cairn.protocol.search_messages import MatchedLine
from cairn.text.verbatim import lines_of

_LONG = f"    pier = '{'x' * 300}⚓anchor_here⚓{'y' * 300}'"
FILES = {
    "src/anchor.py": (
        '"""Anchors."""\n\n\nclass Anchor:\n    def drop_anchor(self, depth):\n'
        "        return depth >= 3\n\n\n"
        "def raise_it(anchor):\n    anchor.drop_anchor(2)\n\n\nANCHOR_MAX = 3\n"
    ),
    "src/a_caller.py": (
        "def call(anchor):\n    x = anchor.drop_anchor(1); anchor.drop_anchor(2)\n    return x\n"
    ),
    "src/windows.py": "first = 1\r\nlast_line = 'drop_anchor'\r\nend = first\r",
    "src/long.py": f"def long_line():\n{_LONG}\n    return pier\n",
    "tests/test_anchor.py": "def test_drop_anchor():\n    assert drop_anchor\n",
    "docs/guide.md": "# Guide\n\nText.\n\n## Mooring\n\nCall `drop_anchor` >= twice.\nA Drop_Anchor too.\n",
    "src/accents.py": "# Die Größe: GRÖSSE, größe, 東京タワー\nnaïve = 'e\u0301té'\n",
    "settings.toml": "[mooring]\nname = 'drop_anchor'\n",
    "picture.png": "not text",
    "private.key": "a secret drop_anchor\n",
}
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["a = \\"tide\\"\\n", "b = 2"]}], "nbformat": 4}'


@frozen
class Found:
    path: str
    line: int
    symbol: str


@pytest.fixture(scope="module")
def engine(module_folder: Path) -> Iterator[Engine]:
    folder = write_files(module_folder / "anchors", {**FILES, "notes/tide.ipynb": NOTEBOOK})
    with indexed(folder, **NO_VECTORS) as engine:
        yield engine


def search(engine: Engine, query: str, limit: int = 100, **more: Any) -> Occurrences:
    answer: SearchAnswer = ask(engine, "search", SearchParams(query, limit=limit, **{"exact": True, **more}))
    assert answer.results == ()
    assert answer.occurrences is not None
    assert (answer.verdict.action == "answer") == bool(answer.occurrences.lines)
    return answer.occurrences


def lines(found: Occurrences) -> list[Found]:
    return [
        Found(file.path, line.line + 1, definition.symbol)
        for file in found.found
        for definition in file.definitions
        for line in definition.lines
    ]


def places(found: Occurrences) -> set[str]:
    """Return the path and number of each line, without the lines of the notebook, which are decoded."""
    return {f"{each.path}:{each.line}" for each in lines(found) if not each.path.endswith(".ipynb")}


def the_line(found: Occurrences) -> MatchedLine:
    ((definition,),) = [file.definitions for file in found.found]
    (line,) = definition.lines
    return line


def marked(line: MatchedLine) -> list[str]:
    units = line.text.encode("utf-16-le")
    return [units[2 * mark.start : 2 * mark.end].decode("utf-16-le") for mark in line.marks]


def expected(pattern: str, flags: int = 0) -> set[str]:
    return {
        f"{path}:{number}"
        for path, text in FILES.items()
        if path not in ("picture.png", "private.key")
        for number, line in enumerate(lines_of(text.removesuffix("\n").removesuffix("\r")), 1)
        if re.search(pattern, line, flags)
    }


def test_every_line_is_listed_by_definition(engine: Engine) -> None:
    found = search(engine, "drop_anchor")
    assert lines(found) == [
        Found("src/anchor.py", 5, "Anchor.drop_anchor"),
        Found("src/anchor.py", 10, "raise_it"),
        Found("src/a_caller.py", 2, "call"),
        Found("src/windows.py", 2, "last_line"),
        Found("settings.toml", 2, "mooring"),
        Found("tests/test_anchor.py", 1, "test_drop_anchor"),
        Found("tests/test_anchor.py", 2, "test_drop_anchor"),
        Found("docs/guide.md", 7, "Mooring"),
    ]
    assert (found.lines, found.files, found.other_case) == (8, 6, 1)
    assert (found.complete, found.reason) == (True, "")
    assert found.searched == len(FILES) - 1


def test_definitions_have_their_kinds(engine: Engine) -> None:
    found = search(engine, "drop_anchor")
    kinds = {definition.symbol: definition.kind for file in found.found for definition in file.definitions}
    assert (kinds["Anchor.drop_anchor"], kinds["raise_it"], kinds["Mooring"]) == (
        "method",
        "function",
        "heading",
    )


@pytest.mark.parametrize(
    "text", ["op_anch", ">= ", "(2)", "東京", "GRÖSSE", "e\u0301té", "'drop_anchor'", "  ret"]
)
def test_parts_of_words_and_punctuation_are_found(engine: Engine, text: str) -> None:
    assert places(search(engine, text)) == expected(re.escape(text)) != set()


def test_the_case_counts_unless_it_is_ignored(engine: Engine) -> None:
    assert places(search(engine, "Drop_Anchor")) == {"docs/guide.md:8"}
    found = search(engine, "Drop_Anchor", ignore_case=True)
    assert places(found) == expected("drop_anchor", re.IGNORECASE)
    assert found.other_case is None


def test_whole_words_leave_out_parts(engine: Engine) -> None:
    assert places(search(engine, "anchor", whole_word=True)) == expected(r"\banchor\b")
    assert places(search(engine, "anch", whole_word=True)) == set()
    assert places(search(engine, "(2)", whole_word=True)) == expected(r"\(2\)")


@pytest.mark.parametrize(
    "pattern",
    [
        r"drop_\w+\(\d\)",
        r"^def \w+",
        r"raise_it|ANCHOR_MAX",
        r"end = first$",
        r"(?i)größe",
        r"\d\);",
        r"^$",
        r"[A-Z]{4,}_",
        r"(?:pier|naïve)\s*=",
    ],
)
def test_expressions_match_each_line_alone(engine: Engine, pattern: str) -> None:
    assert places(search(engine, pattern, exact=False, regex=True)) == expected(pattern) != set()


def test_whole_words_apply_to_expressions(engine: Engine) -> None:
    found = search(engine, r"anch\w|\d", regex=True, whole_word=True)
    assert places(found) == expected(r"(?<!\w)(?:anch\w|\d)(?!\w)")


def test_the_limit_bounds_the_lines_and_not_the_counts(engine: Engine) -> None:
    whole, found = search(engine, "drop_anchor"), search(engine, "drop_anchor", limit=3)
    assert lines(found) == lines(whole)[:3]
    assert (found.lines, found.files, found.complete) == (8, 6, True)
    assert [file.count for file in found.found] == [file.count for file in whole.found]
    assert [bool(file.definitions) for file in found.found] == [True, True, False, False, False, False]


def test_only_an_exact_search_may_list_more_than_results(engine: Engine) -> None:
    assert search(engine, "drop_anchor", limit=10_000).lines == 8
    with pytest.raises(InvalidRequestError, match="200"):
        ask(engine, "search", {"query": "drop_anchor", "limit": 201})


def test_filters_restrict_what_is_searched(engine: Engine) -> None:
    found = search(engine, "drop_anchor", filter=SearchFilter(path=("src", "!src/win*")))
    assert ({each.path for each in lines(found)}, found.searched) == (
        {"src/anchor.py", "src/a_caller.py"},
        4,
    )
    found = search(engine, "drop_anchor", filter=SearchFilter(language=("markdown",)))
    assert {each.path for each in lines(found)} == {"docs/guide.md"}
    with pytest.raises(InvalidRequestError, match="nowhere"):
        search(engine, "drop_anchor", filter=SearchFilter(path=("nowhere",)))


def test_a_missing_text_is_denied_for_the_searched_files(engine: Engine) -> None:
    answer: SearchAnswer = ask(engine, "search", SearchParams("no such text", exact=True))
    assert answer.verdict.action == "noMatch"
    assert answer.verdict.message == f"No line of the {len(FILES) - 1} files searched holds it."
    assert answer.occurrences is not None
    assert (answer.occurrences.lines, answer.occurrences.found) == (0, ())


def test_files_that_rules_leave_out_are_counted(engine: Engine) -> None:
    assert search(engine, "anchor").not_searched == {
        "built-in: binary file type": 1,
        "built-in: may hold secrets": 1,
    }


def test_a_long_line_is_cut_around_the_match(engine: Engine) -> None:
    line = the_line(search(engine, "anchor_here"))
    assert len(line.text) < 210
    assert marked(line) == ["anchor_here"]


def test_all_matches_of_a_line_are_marked(engine: Engine) -> None:
    line = the_line(search(engine, "drop_anchor", filter=SearchFilter(path=("src/a_caller.py",))))
    assert line.text == "x = anchor.drop_anchor(1); anchor.drop_anchor(2)"
    assert marked(line) == ["drop_anchor", "drop_anchor"]


def test_notebooks_are_searched_decoded(engine: Engine) -> None:
    assert [each.path for each in lines(search(engine, 'a = "tide"'))] == ["notes/tide.ipynb"]


@pytest.mark.parametrize(
    ("query", "regex", "problem"),
    [
        ("two\nlines", False, "line break"),
        ("   ", False, "is empty"),
        ("", True, "is empty"),
        ("def (", True, "regular expression"),
        ("*", True, "regular expression"),
        ("a{9999999999999}", True, "regular expression"),
        ("x" * 5_000, False, "4,000"),
    ],
)
def test_a_query_that_no_line_can_match_is_refused(
    engine: Engine, query: str, regex: bool, problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        search(engine, query, regex=regex)


@given(data=st.data())
def test_any_piece_of_a_line_is_found(engine: Engine, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(set(FILES) - {"picture.png", "private.key"})))
    line = data.draw(st.sampled_from([each for each in lines_of(FILES[path]) if each.strip()]))
    start = data.draw(st.integers(0, len(line) - 1))
    text = line[start : data.draw(st.integers(start + 1, len(line)))]
    if text.strip():
        assert places(search(engine, text)) == expected(re.escape(text))


# --- changes ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, bare_data_dir: Path) -> Path:
    return write_files(tmp_path / "port", FILES)


def test_changed_files_are_read_from_disk(folder: Path) -> None:
    with indexed(folder, **NO_VECTORS) as engine:
        (folder / "src/windows.py").write_text("def moor():\n    return drop_anchor\n")
        (folder / "src/a_caller.py").unlink()
        (folder / "src/fresh.py").write_text("drop_anchor()\n")
        engine.folders[0].indexer.queue._work.paths.add("src/fresh.py")
        found = search(engine, "drop_anchor", filter=SearchFilter(path=("src",)))
        assert lines(found) == [
            Found("src/anchor.py", 5, "Anchor.drop_anchor"),
            Found("src/anchor.py", 10, "raise_it"),
            Found("src/fresh.py", 1, ""),
            Found("src/windows.py", 2, "moor"),
        ]
        assert found.complete, found.reason


def test_unsaved_text_takes_the_place_of_the_file(folder: Path) -> None:
    with indexed(folder, **NO_VECTORS) as engine:
        overlay = engine.folders[0].reader.overlay
        overlay.changed("src/anchor.py", "def cast_off():\n    return buoy\n")
        assert lines(search(engine, "buoy")) == [Found("src/anchor.py", 2, "cast_off")]
        assert "src/anchor.py:5" not in places(search(engine, "drop_anchor"))


def test_a_folder_that_is_not_read_yet_makes_it_incomplete(folder: Path) -> None:
    with indexed(folder, **NO_VECTORS) as engine:
        engine.folders[0].indexer.stop()
        engine.folders[0].indexer.queue._work.rescan = True
        found = search(engine, "drop_anchor")
        assert not found.complete
        assert "compared with its index" in found.reason


def test_many_changed_files_make_it_incomplete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "_MOST_READ", 1)
    with indexed(folder, **NO_VECTORS) as engine:
        for path in ("src/anchor.py", "src/a_caller.py"):
            (folder / path).write_text("# changed\n")
        found = search(engine, "drop_anchor")
        assert not found.complete
        assert found.reason.startswith("1 changed file in ")


def test_a_search_that_takes_too_long_is_incomplete(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "_LONGEST_MS", 0.0)
    found = search(engine, "drop_anchor")
    assert not found.complete
    assert "path" in found.reason


def test_an_expression_that_never_ends_is_stopped(engine: Engine) -> None:
    found = search(engine, r"(?:x|xx|xxx)+z", regex=True)
    assert not found.complete
    assert "too long in one line" in found.reason
