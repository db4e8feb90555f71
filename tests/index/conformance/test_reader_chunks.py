"""All readers return the same chunks, and the files that contain them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.conformance.indexes import Subject
from tests.index.conformance.workspace import BERTH, TEXTS

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import outline

ALL = ChunkFilter()
UNKNOWN = [10_000_000, 0, -1, -7, 2**31, 2**40]


@pytest.mark.parametrize(
    ("only", "paths"),
    [
        (ChunkFilter(types=("config",)), {"config/port.toml", "fleet/go.mod", "pyproject.toml", "web/package.json"}),  # noqa: E501
        (ChunkFilter(languages=("c",)), {"native/winch.c", "native/winch.h"}),
        (ChunkFilter(languages=("c", "toml")), {"native/winch.c", "native/winch.h", "config/port.toml", "pyproject.toml"}),  # noqa: E501
        (ChunkFilter(languages=("toml",), types=("code",)), set()),
        (ChunkFilter(paths=("*.go",)), {"fleet/main.go", "fleet/ship/ship.go", "fleet/ship/ship_test.go"}),
        (ChunkFilter(paths=("*.go", "!fleet/ship/")), {"fleet/main.go"}),
        (ChunkFilter(paths=("src/harbour/*.py", "!**/b*.py"), types=("code",)),
         {f"src/harbour/{name}.py" for name in ("accents", "café", "crane", "tide")}),
        (ChunkFilter(paths=("data/odd*",)), {"data/odd [name] 100%_'x'.txt"}),
        (ChunkFilter(collections=("harbour-web-source",)), {f"web/src/{n}" for n in ("client.ts", "crane.ts", "operators.js")}),  # noqa: E501
        (ChunkFilter(collections=("fleet-source", "fleet-tests"), languages=("go",), paths=("fleet/ship/",)),
         {"fleet/ship/ship.go", "fleet/ship/ship_test.go"}),
        (ChunkFilter(paths=("nowhere",)), set()),
        (ChunkFilter(folders=(("", ("native/",)),)), {"native/winch.c", "native/winch.h"}),
        (ChunkFilter(folders=(("/elsewhere", ("native/",)),)), set()),
    ],
)  # fmt: skip
def test_filters_admit_chunks(subject: Subject, only: ChunkFilter, paths: set[str]) -> None:
    ids = subject.reader.admitted(only)
    assert ids is not None
    assert subject.paths(ids) == paths
    assert len(ids) == sum(path in paths for path, _ in subject.ids)
    assert (np.diff(ids) > 0).all()
    assert ids.dtype == np.int64


@pytest.mark.parametrize("only", [ALL, ChunkFilter(hidden=("README.md",)), ChunkFilter(paths=("**",))])
def test_empty_filters_admit_all_chunks(subject: Subject, only: ChunkFilter) -> None:
    ids = subject.reader.admitted(only)
    assert ids is None or set(ids.tolist()) == set(subject.ids.values())


def test_hidden_chunks_are_admitted(subject: Subject) -> None:
    ids = subject.reader.admitted(ChunkFilter(languages=("go",), hidden=("fleet/main.go",)))
    assert ids is not None
    assert len(ids) == 3


def test_chunks_in_files_are_listed(subject: Subject) -> None:
    ids = subject.reader.chunks_in(["README.md", "nowhere", "src/harbour/__init__.py", "data/chart.txt"])
    assert sorted(subject.places(ids)) == [("README.md", n) for n in range(4)]
    assert len(subject.reader.chunks_in([])) == 0


def test_chunks_are_read_by_id(subject: Subject) -> None:
    ids = {path: subject.ids[path, 0] for path in ("src/harbour/berth.py", "LICENSE", "web/LICENSE")}
    found = subject.reader.chunks([*ids.values(), *UNKNOWN])
    assert set(found) == set(ids.values())
    berth = found[ids["src/harbour/berth.py"]]
    assert (berth.path, berth.kind, berth.collection) == ("src/harbour/berth.py", "source", "harbour-source")
    assert berth.chunk.language == "python"
    assert berth.chunk.defines == ("BerthError", "Berth", "__init__", "dock_ship", "undock_ship")
    assert berth.chunk.text.rstrip() in BERTH
    assert berth.chunk.start_line == 0
    one, other = found[ids["LICENSE"]], found[ids["web/LICENSE"]]
    assert (one.content_hash, one.chunk) == (other.content_hash, other.chunk)
    assert (one.collection, other.collection) == ("harbour-docs", "harbour-web-docs")
    assert subject.reader.chunks([]) == {}


def test_outlines_agree_with_chunks(subject: Subject) -> None:
    ids = list(subject.ids.values())
    found = subject.reader.outlines([*ids, *UNKNOWN])
    assert found == {chunk: outline(stored) for chunk, stored in subject.reader.chunks(ids).items()}
    assert subject.reader.outlines([]) == {}


def test_leading_chunks_define_something(subject: Subject) -> None:
    paths = ["notebooks/tides.ipynb", "README.md", "nowhere"]
    one = subject.places(subject.reader.leading_chunks(paths, 1, ALL))
    assert set(one) == {("notebooks/tides.ipynb", 1), ("README.md", 0)}
    two = subject.places(subject.reader.leading_chunks(["src/pilots.py"], 2, ALL))
    assert two == [("src/pilots.py", 0), ("src/pilots.py", 1)]
    assert subject.reader.leading_chunks([], 2, ALL) == []


def test_leading_chunks_pass_the_filter(subject: Subject) -> None:
    paths = ["notebooks/tides.ipynb", "README.md"]
    prose = ChunkFilter(types=("prose",), hidden=("README.md",))
    assert subject.places(subject.reader.leading_chunks(paths, 3, prose)) == [("notebooks/tides.ipynb", 0)]


def test_opening_chunks_are_ordered_by_file(subject: Subject) -> None:
    paths = ["docs/guide.md", "nowhere", "README.md"]
    found = subject.places(subject.reader.opening_chunks(paths, 11, ALL))
    assert found == [*(("docs/guide.md", n) for n in range(3)), ("README.md", 0), ("README.md", 1)]
    hidden = ChunkFilter(hidden=("docs/guide.md",))
    assert subject.paths(subject.reader.opening_chunks(paths, 11, hidden)) == {"README.md"}
    assert subject.reader.opening_chunks(paths, 0, ALL) == []
    assert subject.reader.opening_chunks([], 10, ALL) == []


def test_chunk_ids_are_in_file_order(subject: Subject) -> None:
    found = subject.reader.chunk_ids(["README.md", "data/chart.txt", "nowhere", "LICENSE"])
    assert list(found) == ["README.md", "LICENSE"]
    assert subject.places(found["README.md"]) == [("README.md", n) for n in range(4)]
    assert subject.reader.chunk_ids([]) == {}


def test_neighbours_are_on_both_sides(subject: Subject) -> None:
    places = [("src/pilots.py", 3), ("README.md", 0), ("nowhere", 1), ("LICENSE", 0), ("README.md", 99)]
    found = subject.reader.neighbours(places, 2)
    positions = {place: [each.chunk.position for each in chunks] for place, chunks in found.items()}
    assert positions == {("src/pilots.py", 3): [1, 2, 4, 5], ("README.md", 0): [1, 2]}
    assert {each.path for each in found["src/pilots.py", 3]} == {"src/pilots.py"}
    assert subject.reader.neighbours(places, 0) == {}
    assert subject.reader.neighbours([], 2) == {}


def test_pages_are_whole_files(subject: Subject) -> None:
    for path, text in TEXTS.items():
        page = subject.reader.page(path)
        assert [each.chunk.position for each in page] == list(range(len(page)))
        if path.endswith((".py", ".go", ".c")) and text:
            lines = [line for each in page for line in each.chunk.text.splitlines() if line.strip()]
            assert set(lines) == {line for line in text.splitlines() if line.strip()}, path
    for path in ("nowhere", "", "data/chart.txt"):
        assert subject.reader.page(path) == []


@pytest.mark.parametrize(
    ("path", "first", "last", "positions"),
    [
        ("README.md", 3, 20, [0, 1, 2]),
        ("README.md", 0, 4, [0]),
        ("README.md", 5, 5, [1]),
        ("README.md", 1_000, 2_000, []),
        ("README.md", 0, 2**31, [0, 1, 2, 3]),
        ("nowhere", 0, 10, []),
    ],
)
def test_chunks_between_lines_are_in_order(
    subject: Subject, path: str, first: int, last: int, positions: list[int]
) -> None:
    assert [each.chunk.position for each in subject.reader.between(path, first, last)] == positions


def test_files_are_found_by_the_content_of_a_chunk(subject: Subject) -> None:
    find = subject.reader.files_with_chunk
    (stored,) = subject.reader.page("LICENSE")
    assert find(stored.content_hash) == ["LICENSE", "web/LICENSE"]
    assert find(stored.content_hash, "web/LICENSE") == ["web/LICENSE"]
    assert find(stored.content_hash, "README.md") == find(stored.content_hash, "nowhere") == []
    assert find("00" * 16) == []


def test_languages_are_known(subject: Subject) -> None:
    for language in ("python", "typescript", "javascript", "go", "c", "markdown", "toml", "json"):
        assert subject.reader.has_language(language), language
    for language in ("cobol", "", "Python", "'"):
        assert not subject.reader.has_language(language), language
