"""Where a question looks: whatever names a place, nothing from elsewhere is found, and nothing there is crowded out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import ask

from cairn.engine.engine import Engine
from cairn.engine.scope import within
from cairn.engine.status import status_of
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
    "harbour/deep/pilots.py": 'def embark_pilot(ship):\n    """A pilot embarks before a ship is moored."""\n    return ship\n',
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
    **{
        f"many/berth{n}.py": f'def moor_ship{n}(ship):\n    """Moor a ship at berth {n}: how a ship is moored."""\n'
        for n in range(120)
    },
}
QUESTIONS = (
    "how is a ship moored at a berth",
    "what happens when a ship is moored",
    "moor_ship",
    '"a ship"',
    "what is harbour",
    "how do I add a berth",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for data and workspaces; no settings of whoever runs this."""
    folder = tmp_path_factory.mktemp("scope")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(folder / "data"))
        patch.setenv("CAIRN_CONFIG_DIR", str(folder / "no-settings"))
        yield folder


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def over(*folders: Path) -> Engine:
    """An engine that has indexed the folders."""
    engine = Engine({"index": {"watch": False}, "search": {"legDeadlineMs": 60_000}})
    for folder in folders:
        engine.add_folder(folder)
    deadline = time.monotonic() + 120
    while not engine.progress().complete:
        assert time.monotonic() < deadline, status_of(engine)
        time.sleep(0.02)
    return engine


@pytest.fixture(scope="module")
def port(base: Path) -> Path:
    root = written(base / "port", FILES)
    written(root, {"secret/hidden.py": "def moor_ship(ship): ...\n", ".cairnignore": "secret/\n"})
    return root


@pytest.fixture(scope="module")
def engine(port: Path) -> Iterator[Engine]:
    engine = over(port)
    yield engine
    engine.stop()


def found(engine: Engine, question: str, *places: str, limit: int = 50) -> set[str]:
    """The paths of all that a search and a discovery show, of any kind."""
    only = {"path": list(places)}
    answer = ask(engine, "search", {"query": question, "limit": limit, "filter": only})
    candidates = {candidate.path for candidate in answer.verdict.candidates}
    return {result.path for result in answer.results} | candidates | discovered(engine, question, *places)


def discovered(engine: Engine, question: str, *places: str) -> set[str]:
    told: list[Any] = []
    asked = {"query": question, "filter": {"path": list(places)}}
    answer = ask(engine, "discover", asked, tell=told.append)
    parts = [answer.chunks, answer.bullets, answer.excerpts, *(s.bullets for s in answer.plan.sections)]
    parts += [part for each in told for part in (each.chunks, each.bullets, each.excerpts) if part]
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
        (["harbour"], {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}),
        (["./harbour/"], {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}),
        (["/harbour/"], {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}),
        (["harbour/**"], {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}),
        (["harbour/deep/.."], {"harbour/README.md", "harbour/berths.py", "harbour/deep/pilots.py"}),
        (["harbour/berths.py"], {"harbour/berths.py"}),
        (["deep"], {"harbour/deep/pilots.py"}),  # a name may stand anywhere, as in ignore files
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


def test_an_absolute_path_and_a_uri_are_places_of_their_folder(engine: Engine, port: Path) -> None:
    for place in (str(port / "harbour" / "deep"), (port / "harbour" / "deep").as_uri()):
        assert found(engine, QUESTIONS[0], place) == {"harbour/deep/pilots.py"}
    assert found(engine, QUESTIONS[0], f"{port}/harbour/*.py") == {"harbour/berths.py"}


@pytest.mark.parametrize("everything", [".", "./", "**"])
def test_the_whole_workspace_is_a_place(engine: Engine, port: Path, everything: str) -> None:
    for place in (everything, str(port)):
        asked = {"query": QUESTIONS[0], "limit": 20}
        limited = ask(engine, "search", {**asked, "filter": {"path": [place]}})
        assert [r.path for r in limited.results] == [r.path for r in ask(engine, "search", asked).results]


def test_a_link_inside_the_workspace_is_what_it_leads_to(engine: Engine, port: Path) -> None:
    link = port / "current"
    try:
        link.symlink_to(port / "docs", target_is_directory=True)
    except OSError:
        pytest.skip("links cannot be made here")
    assert found(engine, QUESTIONS[0], "current") == {"docs/mooring.md"}
    link.unlink()


PLACES = ["harbour", "harbour/deep", "cranes/lift.py", "docs", "*.md", "many/berth1*.py", "!many", "!*.md"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True).filter(
        lambda places: not all(each.startswith("!") for each in places)
    ),
    question=st.sampled_from(QUESTIONS),
)
def test_nothing_from_elsewhere_is_found(engine: Engine, places: list[str], question: str) -> None:
    top = [place if place.startswith(("!", "*")) else f"/{place}" for place in places]
    named = {path for path in FILES if Selection(top).names(path)}
    assert found(engine, question, *places) <= named


def test_the_stages_that_search_keep_to_the_place(engine: Engine) -> None:
    asked = {"queries": [QUESTIONS[0], "moor a ship"], "filter": {"path": ["harbour/deep"]}}
    broad = ask(engine, "broadDiscovery", asked)
    assert {chunk.metadata.file_path for chunk in broad.chunks} == {"harbour/deep/pilots.py"}
    focus = ask(engine, "semanticFocus", {**asked, "collection": {"name": "port-source"}})
    assert {chunk.metadata.file_path for chunk in focus.chunks} == {"harbour/deep/pilots.py"}


def test_a_place_has_what_others_would_crowd_out(engine: Engine) -> None:
    asked = {"query": "how is a ship moored", "limit": 10}
    assert "harbour/deep/pilots.py" not in {r.path for r in ask(engine, "search", asked).results}
    narrow = {**asked, "filter": {"path": ["harbour/deep"]}}
    assert [r.path for r in ask(engine, "search", narrow).results] == ["harbour/deep/pilots.py"]
    assert discovered(engine, "how is a ship moored", "harbour/deep") == {"harbour/deep/pilots.py"}


def test_what_happens_in_order_is_followed_inside_of_the_place_alone(engine: Engine) -> None:
    question = "what happens when a ship is moored"
    everywhere = ask(engine, "discover", {"query": question, "filter": {"path": ["harbour", "cranes"]}})
    assert "cranes/lift.py" in {excerpt.path for excerpt in everywhere.excerpts}
    assert discovered(engine, question, "harbour/berths.py") == {"harbour/berths.py"}


def test_an_overview_is_given_by_the_readme_of_the_place(engine: Engine) -> None:
    answer = ask(engine, "discover", {"query": "what is harbour", "filter": {"path": ["harbour"]}})
    assert answer.chunks[0].path == "harbour/README.md"
    assert {bullet.path for bullet in answer.bullets} == {"harbour/README.md"}


def test_collections_without_a_chunk_in_the_place_take_no_part(engine: Engine) -> None:
    # A question that names a collection is about that one; here it has nothing.
    answer = ask(
        engine, "discover", {"query": "docs of how a ship is moored", "filter": {"path": ["cranes"]}}
    )
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
        (
            "secret",
            "nothing in 'secret' is indexed; `cairn doctor --why secret` says which rule leaves it out",
        ),
        ("", "'' names nothing"),
        ("harbour/[a", "'harbour/[a' can match no file"),
        ("harbor/**/*.py", "there is no 'harbor' in the workspace; did you mean 'harbour'"),
        ("../*.py", "'../*.py' can match no file"),
        ("!*.md", "'!*.md' only leaves out"),
        ("a\0b", "there is no 'a\\x00b' in the workspace"),
        ("x" * 4_000, "there is no 'xxx"),
    ],
)
def test_a_place_that_there_is_not_is_told_with_what_may_be_meant(
    engine: Engine, place: str, problem: str
) -> None:
    assert problem in refusal(engine, place)


def test_one_wrong_place_of_several_is_refused(engine: Engine) -> None:
    assert "'harbor'" in refusal(engine, "docs", "harbor")


def test_more_places_than_anybody_names_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match=r"filter\.path: expected 100 at most, got 101"):
        ask(engine, "search", {"query": "ship", "filter": {"path": ["docs"] * 101}})


def test_what_is_typed_and_not_saved_is_part_of_its_folder(engine: Engine, port: Path) -> None:
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


def test_a_folder_made_since_and_indexed_is_found(base: Path) -> None:
    root = written(base / "growing", {"src/a.py": "def moor_ship(ship): ...\n"})
    engine = over(root)
    assert ask(engine, "search", {"query": "moor_ship", "filter": {"path": ["*.py"]}}).results
    written(root, {"new/b.py": "def moor_ship(ship): ...\n"})
    engine.changed(root / "new")
    engine.changed(root / "new/b.py")
    deadline = time.monotonic() + 120
    while True:
        try:
            if found(engine, "moor_ship", "new") == {"new/b.py"}:
                break
        except InvalidRequestError:  # not indexed yet
            pass
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found(engine, "moor_ship", "*.py") == {"src/a.py", "new/b.py"}
    engine.stop()


def test_before_the_first_scan_a_folder_on_disk_is_no_mistake(base: Path) -> None:
    root = written(base / "unread", {"src/a.py": "def moor_ship(ship): ...\n"})
    engine = Engine({})
    engine.add_folder(root, keep_indexed=False)
    assert ask(engine, "search", {"query": "moor_ship", "filter": {"path": ["src"]}}).results == ()
    assert "there is no 'scr'" in refusal(engine, "scr")
    engine.stop()


@pytest.fixture(scope="module")
def both(base: Path) -> Iterator[tuple[Engine, Path, Path]]:
    text = "def moor_ship(ship):\n    return ship\n"
    one = written(base / "both/ferry", {"src/a.py": text, "only/b.py": text})
    other = written(base / "both/liner", {"src/a.py": text, "src/liner/c.py": text, "ferry/d.py": text})
    engine = over(one, other)
    yield engine, one, other
    engine.stop()


class TestSeveralFolders:
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
            # A folder of this name lies in one of them: its path there comes first.
            (["ferry"], {"liner/ferry/d.py"}),
            (["ferry/only"], {"ferry/only/b.py"}),
        ],
    )
    def test_places_are_told_as_paths_are_shown(
        self, both: tuple[Engine, Path, Path], places: list[str], files: set[str]
    ) -> None:
        assert self.files(both[0], places) == files

    def test_an_absolute_path_is_of_one_folder(self, both: tuple[Engine, Path, Path]) -> None:
        engine, one, other = both
        assert self.files(engine, [str(one / "src")]) == {"ferry/src/a.py"}
        assert self.files(engine, [str(other)]) == self.files(engine, ["liner"])
        assert self.files(engine, [f"{one}/**/*.py"]) == {"ferry/src/a.py", "ferry/only/b.py"}

    def test_what_none_of_them_has_is_refused(self, both: tuple[Engine, Path, Path]) -> None:
        assert "there is no 'liner/scr' in the workspace; did you mean 'liner/src'?" in refusal(
            both[0], "liner/scr"
        )
        assert "at its top are ferry, only, src" in refusal(both[0], "xyzzy")

    @staticmethod
    def files(engine: Engine, places: Sequence[str]) -> set[str]:
        asked = {"query": "moor_ship", "filter": {"path": list(places)}}
        results = ask(engine, "search", {**asked, "limit": 50}).results
        chunks = ask(engine, "discover", asked).chunks
        return {f"{each.folder.rpartition('/')[2]}/{each.path}" for each in (*results, *chunks)}


def test_a_plain_folder_is_read_by_a_range_of_paths(engine: Engine) -> None:
    (folder,) = engine.folders
    only = within(["harbour"], engine.folders)
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
