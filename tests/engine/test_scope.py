"""`filter.path` names places in many ways; only files in them are found, and all of the best ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import ask
from tests.engine.engines import PATIENT, indexed, new_engine
from tests.harbour import write_files
from tests.serving import wait_for

from cairn.engine.engine import Engine
from cairn.engine.scope import within
from cairn.errors import InvalidRequestError
from cairn.workspace.ignore_patterns import Selection

FILES = {
    "README.md": "# Port\n\nPort is a library that moors ships at berths.\n",
    "harbour/README.md": "# Harbour\n\nHarbour is the part of the port that moors a ship at a berth.\n",
    "harbour/berths.py": '''"""Berths."""

from cranes.lift import lift_cargo


def moor_ship(ship):
    """Moor a ship at a berth: the rope is made fast, then the cargo is lifted."""
    make_fast(ship)
    lift_cargo(ship)


def make_fast(ship):
    """Make the rope of a ship fast at the berth."""
    ship.rope = "fast"
''',
    "harbour/deep/pilots.py": '''def embark_pilot(ship):
    """A pilot embarks before a ship is moored."""
    return ship
''',
    "harbour2/ships.py": "def moor_ship(ship):\n    return ship\n",
    "cranes/lift.py": '''"""Cranes."""


def lift_cargo(ship):
    """Lift the cargo of a ship that is moored at a berth."""
    return weigh_cargo(ship)


def weigh_cargo(ship):
    """Weigh the cargo of a moored ship."""
    return ship.cargo
''',
    "docs/mooring.md": "# Mooring\n\nHow a ship is moored at a berth.\n",
    "my docs/mooring.md": "# Mooring again\n\nHow a ship is moored at a berth, once more.\n",
    "app/[slug]/page.ts": "export function moorShip(ship: string) { return ship }\n",
    "app/s/page.ts": "export function moorShip(ship: string) { return ship + 1 }\n",
    "lib/docs/ropes.md": "# Ropes\n\nThe rope by which a ship is moored.\n",
}
MANY = '''def moor_ship{0}(ship):
    """Moor a ship at berth {0}: how a ship is moored."""
'''
FILES |= {f"many/berth{n}.py": MANY.format(n) for n in range(120)}
HARBOUR = {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}
DOCS = {"docs/mooring.md", "my docs/mooring.md", "lib/docs/ropes.md"}
QUESTIONS = (
    "how is a ship moored at a berth",
    "what happens when a ship is moored",
    "moor_ship",
    '"a ship"',
    "what is harbour",
    "how do I add a berth",
)


@pytest.fixture(scope="module")
def port(module_folder: Path) -> Path:
    hidden = {"secret/hidden.py": "def moor_ship(ship): ...\n", ".cairnignore": "secret/\n"}
    return write_files(module_folder / "port", FILES | hidden)


@pytest.fixture(scope="module")
def engine(port: Path) -> Iterator[Engine]:
    with indexed(port, **PATIENT) as engine:
        yield engine


def found(engine: Engine, query: str, *places: str) -> set[str]:
    """Return the paths of everything in the answers of a search and of a discovery."""
    answer = ask(engine, "search", {"query": query, "limit": 50, "filter": {"path": list(places)}})
    candidates = {candidate.path for candidate in answer.verdict.candidates}
    return {result.path for result in answer.results} | candidates | discovered(engine, query, *places)


def discovered(engine: Engine, query: str, *places: str) -> set[str]:
    stages: list[Any] = []
    params = {"query": query, "filter": {"path": list(places)}}
    answer = ask(engine, "discover", params, tell=stages.append)
    parts = [answer.chunks, answer.bullets, answer.excerpts, *(s.bullets for s in answer.plan.sections)]
    parts += [part for each in stages for part in (each.chunks, each.bullets, each.excerpts) if part]
    candidates = {candidate.path for candidate in answer.verdict.candidates}
    return {each.path for part in parts for each in part} | candidates


def refusal(engine: Engine, *places: str) -> str:
    with pytest.raises(InvalidRequestError) as raised:
        ask(engine, "search", {"query": "ship", "filter": {"path": list(places)}})
    assert raised.value.field == "filter.path"
    with pytest.raises(InvalidRequestError, match=r"filter\.path"):
        ask(engine, "discover", {"query": "ship", "filter": {"path": list(places)}})
    return str(raised.value)


@pytest.mark.parametrize(
    ("places", "paths"),
    [
        (["harbour"], HARBOUR),
        (["./harbour/"], HARBOUR),
        (["/harbour/"], HARBOUR),
        (["harbour/**"], HARBOUR),
        (["harbour/deep/.."], HARBOUR),
        (["harbour/berths.py"], {"harbour/berths.py"}),
        (["deep"], {"harbour/deep/pilots.py"}),  # a name alone matches at any depth, as in ignore files
        (["pilots.py", "docs"], {"harbour/deep/pilots.py", "docs/mooring.md"}),
        (["harbour//deep", "docs"], {"harbour/deep/pilots.py", "docs/mooring.md"}),
        (["docs"], {"docs/mooring.md"}),
        (["**/docs"], {"docs/mooring.md", "lib/docs/ropes.md"}),
        (["my docs"], {"my docs/mooring.md"}),
        (["app/[slug]"], {"app/[slug]/page.ts"}),
        (["app/[slug]/page.ts"], {"app/[slug]/page.ts"}),
        (["app/[st]"], {"app/s/page.ts"}),
        (["harbour/*.py"], {"harbour/berths.py"}),
        (["./*.md"], {"README.md"}),
        (["harbour", "!*.md"], {"harbour/berths.py", "harbour/deep/pilots.py"}),
    ],
)
def test_a_place_is_found_however_it_is_written(engine: Engine, places: list[str], paths: set[str]) -> None:
    assert found(engine, QUESTIONS[0], *places) == paths


@pytest.mark.parametrize(
    ("places", "paths", "note"),
    [
        (["pilo"], {"harbour/deep/pilots.py"}, "pilo: searched the 1 file whose path holds it."),
        (["PILO"], {"harbour/deep/pilots.py"}, "PILO: searched the 1 file whose path holds it."),
        (["our/ber"], {"harbour/berths.py"}, "our/ber: searched the 1 file"),
        (["harbou"], HARBOUR | {"harbour2/ships.py"}, "harbou: searched the 4 files"),
        (["arbour2", "cranes"], {"harbour2/ships.py", "cranes/lift.py"}, "arbour2: searched the 1"),
        (["ocs"], DOCS, "ocs: searched the 3 files whose path holds it."),
        (["Readm", "cranes"], {"README.md", "harbour/README.md", "cranes/lift.py"}, "Readm: searched the 2"),
        (["ocs", "!my docs/"], DOCS - {"my docs/mooring.md"}, "ocs: searched the 3 files"),
    ],
)
def test_a_part_of_paths_means_the_files_that_hold_it(
    engine: Engine, places: list[str], paths: set[str], note: str
) -> None:
    assert found(engine, QUESTIONS[0], *places) == paths
    filtered = {"query": "moor_ship", "filter": {"path": places}}
    for method, more in (("search", {}), ("search", {}), ("discover", {}), ("search", {"exact": True})):
        assert f"No path is called {note}" in ask(engine, method, {**filtered, **more}).verdict.note


def test_capitals_of_a_part_must_match_if_they_match_anywhere(module_folder: Path) -> None:
    text = "def moor_ship(ship): ...\n"
    files = {"src/wsDock.py": text, "src/wsdocks.py": text, "src/[ab]/quay.py": text}
    with indexed(write_files(module_folder / "capitals", files), **PATIENT) as engine:
        assert found(engine, "moor_ship", "wsDo") == {"src/wsDock.py"}
        assert found(engine, "moor_ship", "WSDO") == {"src/wsDock.py", "src/wsdocks.py"}
        assert found(engine, "moor_ship", "wsdo") == {"src/wsDock.py", "src/wsdocks.py"}
        assert found(engine, "moor_ship", "b]/qua") == {"src/[ab]/quay.py"}
        callers = ask(engine, "references", {"symbol": "moor_ship", "path": ["wsdo"]})
        assert callers.message == "No path is called wsdo: searched the 2 files whose path holds it."
        wrong = "did you mean 'src/wsDock.py' or 'src/wsdocks.py'?"
        assert wrong in refusal(engine, "wsdocq")


def test_absolute_paths_and_uris_are_places(engine: Engine, port: Path) -> None:
    for place in (str(port / "harbour" / "deep"), (port / "harbour" / "deep").as_uri()):
        assert found(engine, QUESTIONS[0], place) == {"harbour/deep/pilots.py"}
    assert found(engine, QUESTIONS[0], f"{port}/harbour/*.py") == {"harbour/berths.py"}


@pytest.mark.parametrize("everything", [".", "./", "**"])
def test_the_whole_workspace_is_a_place(engine: Engine, port: Path, everything: str) -> None:
    params = {"query": QUESTIONS[0], "limit": 20}
    paths = [result.path for result in ask(engine, "search", params).results]
    for place in (everything, str(port)):
        limited = ask(engine, "search", {**params, "filter": {"path": [place]}})
        assert [result.path for result in limited.results] == paths


def test_a_link_in_the_workspace_means_its_target(engine: Engine, port: Path) -> None:
    link = port / "current"
    try:
        link.symlink_to(port / "docs", target_is_directory=True)
    except OSError:
        pytest.skip("links cannot be made here")
    assert found(engine, QUESTIONS[0], "current") == {"docs/mooring.md"}
    link.unlink()


PLACES = ["harbour", "harbour/deep", "cranes/lift.py", "docs", "*.md", "many/berth1*.py", "!many", "!*.md"]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True).filter(
        lambda places: not all(each.startswith("!") for each in places)
    ),
    query=st.sampled_from(QUESTIONS),
)
def test_only_files_in_the_places_are_found(engine: Engine, places: list[str], query: str) -> None:
    top = [place if place.startswith(("!", "*")) else f"/{place}" for place in places]
    assert found(engine, query, *places) <= {path for path in FILES if Selection(top).names(path)}


def test_the_searching_stages_keep_to_the_place(engine: Engine) -> None:
    params = {"queries": [QUESTIONS[0], "moor a ship"], "filter": {"path": ["harbour/deep"]}}
    broad = ask(engine, "broadDiscovery", params)
    assert {chunk.metadata.file_path for chunk in broad.chunks} == {"harbour/deep/pilots.py"}
    focus = ask(engine, "semanticFocus", {**params, "collection": {"name": "port-source"}})
    assert {chunk.metadata.file_path for chunk in focus.chunks} == {"harbour/deep/pilots.py"}


def test_better_results_elsewhere_do_not_displace_those_in_the_place(engine: Engine) -> None:
    params = {"query": "how is a ship moored", "limit": 10}
    assert "harbour/deep/pilots.py" not in {r.path for r in ask(engine, "search", params).results}
    narrow = {**params, "filter": {"path": ["harbour/deep"]}}
    assert [r.path for r in ask(engine, "search", narrow).results] == ["harbour/deep/pilots.py"]
    assert discovered(engine, "how is a ship moored", "harbour/deep") == {"harbour/deep/pilots.py"}


def test_calls_are_followed_only_inside_the_place(engine: Engine) -> None:
    query = "what happens when a ship is moored"
    both = ask(engine, "discover", {"query": query, "filter": {"path": ["harbour", "cranes"]}})
    assert "cranes/lift.py" in {excerpt.path for excerpt in both.excerpts}
    assert discovered(engine, query, "harbour/berths.py") == {"harbour/berths.py"}


def test_the_readme_of_the_place_gives_the_overview(engine: Engine) -> None:
    answer = ask(engine, "discover", {"query": "what is harbour", "filter": {"path": ["harbour"]}})
    assert answer.chunks[0].path == "harbour/README.md"
    assert {bullet.path for bullet in answer.bullets} == {"harbour/README.md"}


def test_collections_without_a_chunk_in_the_place_are_not_searched(engine: Engine) -> None:
    # The query names the collection of documents, which has nothing in the place.
    params = {"query": "docs of how a ship is moored", "filter": {"path": ["cranes"]}}
    answer = ask(engine, "discover", params)
    assert answer.metrics.collections_searched == 1
    assert {chunk.path for chunk in answer.chunks} == {"cranes/lift.py"}


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("harbor", "there is no 'harbor' in the workspace; did you mean 'harbour'"),
        ("harbour/dep/pilots.py", "did you mean 'harbour/deep/pilots.py'?"),
        ("port/harbour/deep", "did you mean 'harbour/deep'?"),
        ("harbour/zzz/x", "there is no 'harbour/zzz/x' in the workspace; in 'harbour' are deep"),
        ("xyzzy", "at its top are app, cranes, docs, harbour, harbour2, lib, many, my docs"),
        ("../port2", "is outside of the workspace"),
        ("/etc/xyzzy", "is outside of the workspace"),
        ("file:///etc/xyzzy", "is outside of the workspace"),
        ("file://other.example/harbour", "is outside of the workspace"),
        ("secret", "nothing in 'secret' is indexed; `cairn doctor --why secret` says which rule"),
        ("", "'' names nothing"),
        ("harbour/[a", "'harbour/[a' can match no file"),
        ("harbor/**/*.py", "there is no 'harbor' in the workspace; did you mean 'harbour'"),
        ("../*.py", "'../*.py' can match no file"),
        ("!*.md", "'!*.md' only leaves out"),
        ("a\0b", "there is no 'a\\x00b' in the workspace"),
        ("x" * 4_000, "there is no 'xxx"),
    ],
)
def test_an_unknown_place_is_refused_with_a_similar_one(engine: Engine, place: str, problem: str) -> None:
    assert problem in refusal(engine, place)


def test_a_page_of_an_end_of_several_paths_names_them(engine: Engine) -> None:
    page = {"path": "mooring.md", "now": True}
    with pytest.raises(InvalidRequestError, match="several paths end with") as problem:
        ask(engine, "fetchPage", page)
    assert "'docs/mooring.md', 'my docs/mooring.md'" in str(problem.value)
    assert ask(engine, "fetchPage", {**page, "path": "my docs/mooring.md"}).path == "my docs/mooring.md"
    assert ask(engine, "fetchPage", {**page, "path": "[slug]/page.ts"}).path == "app/[slug]/page.ts"


def test_one_wrong_place_of_several_is_refused(engine: Engine) -> None:
    assert "'harbor'" in refusal(engine, "docs", "harbor")


def test_too_many_places_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match=r"filter\.path: expected 100 at most, got 101"):
        ask(engine, "search", {"query": "ship", "filter": {"path": ["docs"] * 101}})


def test_unsaved_text_is_in_its_folder(engine: Engine, port: Path) -> None:
    engine.document_changed(port / "docs/mooring.md", "# Anchors\n\nHow a ship is anchored.\n")
    engine.document_changed(port / "drafts/new.md", "# Draft\n\nHow a ship is moored, in a draft.\n")
    try:
        assert found(engine, "how is a ship moored", "drafts") == {"drafts/new.md"}
        answer = ask(engine, "search", {"query": "how a ship is anchored", "filter": {"path": ["docs"]}})
        assert [result.title for result in answer.results] == ["Anchors"]
        assert "Draft" not in {r.title for r in answer.results}
    finally:
        engine.document_closed(port / "docs/mooring.md")
        engine.document_closed(port / "drafts/new.md")
    assert "there is no 'drafts'" in refusal(engine, "drafts")


def test_a_new_folder_is_found_once_it_is_indexed(module_folder: Path) -> None:
    root = write_files(module_folder / "growing", {"src/a.py": "def moor_ship(ship): ...\n"})
    with indexed(root, **PATIENT) as engine:
        assert ask(engine, "search", {"query": "moor_ship", "filter": {"path": ["*.py"]}}).results
        write_files(root, {"new/b.py": "def moor_ship(ship): ...\n"})
        engine.changed(root / "new")
        engine.changed(root / "new/b.py")
        wait_for(lambda: engine.folders[0].reader.page("new/b.py"))
        assert found(engine, "moor_ship", "new") == {"new/b.py"}
        assert found(engine, "moor_ship", "*.py") == {"src/a.py", "new/b.py"}


def test_an_existing_folder_is_not_an_error_before_the_first_scan(module_folder: Path) -> None:
    root = write_files(module_folder / "unread", {"src/a.py": "def moor_ship(ship): ...\n"})
    engine = new_engine()
    engine.add_folder(root, keep_indexed=False)
    assert ask(engine, "search", {"query": "moor_ship", "filter": {"path": ["src"]}}).results == ()
    assert "there is no 'scr'" in refusal(engine, "scr")
    engine.stop()


# --- several folders -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both(module_folder: Path) -> Iterator[Engine]:
    text = "def moor_ship(ship):\n    return ship\n"
    one = {"src/a.py": text, "only/b.py": text}
    other = {"src/a.py": text, "src/liner/c.py": text, "ferry/d.py": text}
    roots = (write_files(module_folder / "ferry", one), write_files(module_folder / "liner", other))
    with indexed(*roots, **PATIENT) as engine:
        yield engine


def files_in(engine: Engine, places: Sequence[str]) -> set[str]:
    params = {"query": "moor_ship", "filter": {"path": list(places)}}
    results = ask(engine, "search", {**params, "limit": 50}).results
    chunks = ask(engine, "discover", params).chunks
    return {f"{each.folder.rpartition('/')[2]}/{each.path}" for each in (*results, *chunks)}


@pytest.mark.parametrize(
    ("places", "files"),
    [
        (["src"], {"ferry/src/a.py", "liner/src/a.py", "liner/src/liner/c.py"}),
        (["only"], {"ferry/only/b.py"}),
        (["liner/src"], {"liner/src/a.py", "liner/src/liner/c.py"}),
        (["liner"], {"liner/src/a.py", "liner/src/liner/c.py", "liner/ferry/d.py"}),
        (["liner/src/*.py"], {"liner/src/a.py"}),
        (["liner/*/*.py"], {"liner/src/a.py", "liner/ferry/d.py"}),
        (["only", "liner/ferry"], {"ferry/only/b.py", "liner/ferry/d.py"}),
        (["*.py", "!src/"], {"ferry/only/b.py", "liner/ferry/d.py"}),
        (["ferry"], {"liner/ferry/d.py"}),  # a path in a folder beats the name of a folder
        (["ferry/only"], {"ferry/only/b.py"}),
        (["{module}/ferry/src"], {"ferry/src/a.py"}),
        (["{module}/liner"], {"liner/src/a.py", "liner/src/liner/c.py", "liner/ferry/d.py"}),
        (["{module}/ferry/**/*.py"], {"ferry/src/a.py", "ferry/only/b.py"}),
    ],
)
def test_places_may_start_with_the_folders_name(
    both: Engine, module_folder: Path, places: list[str], files: set[str]
) -> None:
    assert files_in(both, [place.format(module=module_folder) for place in places]) == files


def test_a_place_in_none_of_several_folders_is_refused(both: Engine) -> None:
    problem = "there is no 'liner/scr' in the workspace; did you mean 'liner/src'?"
    assert problem in refusal(both, "liner/scr")
    assert "at its top are ferry, only, src" in refusal(both, "xyzzy")


def test_a_plain_folder_is_read_by_a_range_of_paths(engine: Engine) -> None:
    (folder,) = engine.folders
    only = within(["harbour"], engine.folders).files
    with folder.reader.reading() as db:
        read: list[str] = []
        db.trace_v2(1, lambda event: read.append(event["sql"]))
        from cairn.index.reader.filters import _read_named

        _read_named(db, only.paths)
        db.trace_v2(0)
        (sql,) = read
        plan = str(db.execute(f"EXPLAIN QUERY PLAN {sql}", ('["harbour"]',)).fetchall())
    assert "SEARCH f USING" in plan
    assert "SCAN f" not in plan
