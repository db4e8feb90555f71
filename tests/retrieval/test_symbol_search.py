"""Symbol searches find definitions by names that fit the typed text."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn import protocol
from cairn.chunking.chunker import chunk_text
from cairn.chunking.definition_place import definition_lines
from cairn.engine.engine import Engine
from cairn.engine.symbols import symbols as find_symbols
from cairn.errors import QueryCancelledError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import ended_by
from cairn.retrieval.name_fit import Fit, Typed, fit
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import SearchSettings

FILES = {
    "port/berths.py": "class Berth:\n    def add_url_rule(self):\n        pass\n\n\ndef addUrl():\n    pass\n",  # noqa: E501
    "port/urls.py": "from port.berths import Berth\n\n\ndef curl_add(url):\n    pass\n\n\ndef berth():\n    pass\n",  # noqa: E501
    "tests/test_berth.py": "class Berth:\n    pass\n",
    "vendor/berths.py": "class Berth:\n    pass\n",
}


@pytest.mark.parametrize(
    ("typed", "name", "expected"),
    [
        ("Berth", "Berth", Fit.SAME),
        ("berth", "Berth", Fit.EXACT),
        ("addurlrule", "add_url_rule", Fit.EXACT),
        ("add_url_rule", "addUrlRule", Fit.EXACT),
        ("Port.Berth", "Berth", Fit.SAME),
        ("harbour::moor", "moor", Fit.SAME),
        ("addU", "add_url_rule", Fit.PREFIX),
        ("aur", "add_url_rule", Fit.WORDS),
        ("url_rule", "add_url_rule", Fit.WORDS),
        ("urlRu", "add_url_rule", Fit.WORDS),
        ("httpreq", "HTTPServerRequest", Fit.WORDS),
        ("dd_u", "add_url_rule", Fit.INSIDE),
        ("adrl", "add_url_rule", Fit.SCATTERED),
        ("rua", "add_url_rule", Fit.NONE),
        ("moor", "tide", Fit.NONE),
    ],
)
def test_names_fit_in_several_ways(typed: str, name: str, expected: Fit) -> None:
    assert fit(Typed.of(typed), name) is expected


@given(st.text(min_size=1, max_size=300), st.text(max_size=60))
def test_any_text_can_be_compared_with_any_name(text: str, name: str) -> None:
    typed = Typed.of(text)
    assert fit(typed, name) in Fit
    assert fit(evolve(typed, text="\0"), typed.text) >= Fit.EXACT


@frozen
class FolderStub:
    """The part of a folder that the handler uses."""

    reader: object
    root: Path

    def uri_of(self, path: str) -> str:
        return (self.root / path).as_uri()


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def symbols(folder: IndexedFolder, query: str) -> list[protocol.Symbol]:
    stub = FolderStub(folder.reader, folder.root)
    request = evolve(Engine().request(), folders=[stub])
    return list(find_symbols(request, protocol.SymbolParams(query)))


def places(folder: IndexedFolder, query: str) -> list[tuple[str, str, int]]:
    root = folder.root.as_uri() + "/"
    return [(s.name, s.uri.removeprefix(root), s.range.start.line) for s in symbols(folder, query)]


def test_tests_and_vendored_code_come_last(folder: IndexedFolder) -> None:
    found = places(folder, "Berth")
    assert found[:2] == [("Berth", "port/berths.py", 0), ("berth", "port/urls.py", 7)]
    assert {path for _, path, _ in found[2:]} == {"tests/test_berth.py", "vendor/berths.py"}


@pytest.mark.parametrize(
    "query", ["add_url_rule", "addUrlRule", "ADDURLRULE", "aurul", "add url_rule", "adurlrl"]
)
def test_a_name_is_found_in_any_spelling(folder: IndexedFolder, query: str) -> None:
    assert places(folder, query)[0] == ("add_url_rule", "port/berths.py", 1)


def test_a_symbol_has_kind_container_and_lines(folder: IndexedFolder) -> None:
    (rule,) = [s for s in symbols(folder, "add_url_rule") if s.name == "add_url_rule"]
    (berth, *_) = symbols(folder, "Berth")
    assert (berth.kind, berth.container) == ("class", "")
    assert (rule.kind, rule.container) == ("method", "Berth")
    assert (rule.range.start.line, rule.range.end.line) == (1, 3)


def test_an_empty_query_lists_the_most_imported(folder: IndexedFolder) -> None:
    found = places(folder, "")
    assert found[0] == ("Berth", "port/berths.py", 0)
    assert all(not path.startswith("tests/") for _, path, _ in found)
    assert places(folder, "  ") == found


@pytest.mark.parametrize("query", ["::", "%", "_", "%%%%", "zzz", "\0", "\\", "'; DROP TABLE definitions"])
def test_a_query_without_fitting_names_finds_nothing(folder: IndexedFolder, query: str) -> None:
    assert places(folder, query) == []


def test_unsaved_text_replaces_saved_text(folder: IndexedFolder) -> None:
    folder.type("port/urls.py", "\n\nclass Quay:\n    pass\n")
    assert places(folder, "quay") == [("Quay", "port/urls.py", 2)]
    assert places(folder, "curl_add") == []


def test_a_cancelled_request_ends_soon(folder: IndexedFolder) -> None:
    with pytest.raises(QueryCancelledError), ended_by(lambda: True):
        symbols(folder, "Berth")


def test_the_lines_start_at_the_definition_after_its_comment() -> None:
    text = "import os\n\n\n# moor does: moor a ship\n@cached\ndef moor(ship,\n         berth):\n    return moor\n"  # noqa: E501
    (chunk,) = chunk_text("a.py", text)
    assert definition_lines(chunk, "moor")[0] == 5


MEMBERS = {
    **{f"port/a{n}.py": f"class Crane{n}:\n    def lift(self):\n        return {n}\n" for n in range(70)},
    "port/hoist.py": "class Hoist:\n    def lift(self):\n        return 1\n\n    def Lift(self):\n        return 2\n",  # noqa: E501
    "port/dock.py": "def moor():\n    return 1\n",
    "port/quay.py": "def moor():\n    return 2\n",
    "sea/ship.hpp": "class Ship {\n public:\n  void sail();\n};\n",
    "sea/sails.cpp": "void Ship::sail() {\n  go();\n}\n",
    "sea/boat.cpp": "void Boat::sail() {\n  row();\n}\n",
}


@pytest.mark.parametrize(
    ("query", "path", "title"),
    [
        ("Hoist.lift", "port/hoist.py", "Hoist.lift"),
        ("Hoist.Lift()", "port/hoist.py", "Hoist.Lift"),
        ("hoist#lift", "port/hoist.py", "Hoist.lift"),
        ("port.quay.moor", "port/quay.py", "moor"),
        ("Ship::sail", "sea/sails.cpp", "Ship::sail"),
    ],
)
def test_a_qualified_name_finds_the_member_of_its_owner(
    folder_of: FolderOf, query: str, path: str, title: str
) -> None:
    folder = folder_of(MEMBERS)
    ranking = rank([folder.reader], [understand(query)], None, SearchSettings())
    first = ranking.results(3, SearchSettings().diversity)[0].stored
    assert first.path == path
    assert title in (first.chunk.title, *first.chunk.defines) or title.split(".")[-1] in first.chunk.defines


def test_a_member_is_found_in_unsaved_text(folder_of: FolderOf) -> None:
    folder = folder_of(MEMBERS)
    folder.type("port/new.py", "class Winch:\n    def lift(self):\n        return 3\n")
    found = folder.reader.members("Winch", ["lift"], 10, ChunkFilter())
    assert [hit.chunk_id < 0 for hit in found] == [True]
