"""What an editor asks besides searching: pages, related passages, symbols, and the same question again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from .conftest import PATIENCE_SECONDS, Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]


def open_document(cairn: Daemon, path: Path, text: str) -> None:
    document = types.TextDocumentItem(path.as_uri(), "python", 1, text)
    cairn.client.text_document_did_open(types.DidOpenTextDocumentParams(document))


def lines(start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}


async def related(cairn: Daemon, path: Path, start: int = 0, end: int = 1, **params: Any) -> Any:
    document = {"textDocument": {"uri": path.as_uri()}, "range": lines(start, end)}
    return await cairn.request("cairn/related", {**document, **params})


async def symbols(cairn: Daemon, query: str) -> Any:
    found = cairn.client.workspace_symbol_async(types.WorkspaceSymbolParams(query))
    return await asyncio.wait_for(found, PATIENCE_SECONDS) or []


async def test_the_same_question_is_free_until_anything_changes(daemon: Start, workspace: Path) -> None:
    source = workspace / "src" / "harbour" / "tides.py"
    async with daemon(workspace, options={"index": {"watch": False}}) as cairn:
        await cairn.ready()
        first = await cairn.search("where are ships assigned")
        second = await cairn.search("where are ships assigned")
        assert second["timings"].keys() == {"cached", "total"}
        assert {**second, "timings": {}} == {**first, "timings": {}}
        assert "cached" not in (await cairn.search("where are ships assigned", limit=3))["timings"]
        latency = (await cairn.request("cairn/status"))["latency"]
        assert (latency["cacheHits"], latency["cacheMisses"]) == (1, 2)
        # On the screen…
        open_document(cairn, source, "def ebb_of_the_tide(day):\n    return day\n")
        assert (await cairn.search("ebb_of_the_tide"))["results"][0]["symbol"] == "ebb_of_the_tide"
        before = await cairn.search("where are ships assigned")
        assert "cached" not in before["timings"]
        # …and on disk.
        (workspace / "src" / "harbour" / "more.py").write_text("def where_ships_are_assigned():\n    pass\n")
        cairn.saved(workspace / "src" / "harbour" / "more.py")
        await cairn.found("where are ships assigned", "src/harbour/more.py")
        # Settings count as well.
        (workspace / ".cairn.toml").write_text("[search.verdict]\nmin_score = 1000.0\n")
        answer = await cairn.search("where are ships assigned")
        assert answer["verdict"]["action"] == "clarify"


async def test_what_belongs_to_a_passage_is_found_with_its_reasons(daemon: Start, workspace: Path) -> None:
    berths, schedule = (workspace / "src" / "harbour" / name for name in ("berths.py", "schedule.py"))
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await related(cairn, schedule, 5, 12)
        by_path = {result["path"]: result for result in answer["results"]}
        assert schedule.relative_to(workspace).as_posix() not in by_path  # it is one chunk
        reasons = " ".join(by_path["src/harbour/berths.py"]["matchExplain"])
        assert "called by `assign_berths`" in reasons
        assert "file that it imports" in reasons
        assert "moor_ship" in by_path["src/harbour/berths.py"]["matchedTerms"]
        assert answer["index"]["complete"] is True
        of_berths = await related(cairn, berths, 4, 4)  # only a cursor
        assert "tests/test_berths.py" in [result["path"] for result in of_berths["results"][:2]]
        assert len((await related(cairn, berths, limit=1))["results"]) == 1
        # An unsaved document that is not on disk yet.
        new = workspace / "src" / "harbour" / "new.py"
        open_document(cairn, new, "def unload(tide):\n    return high_water(tide, [])\n")
        first = (await related(cairn, new))["results"][0]
        assert first["path"] == "src/harbour/tides.py"


async def test_a_passage_that_is_none_is_refused_by_name(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    source = workspace / "src" / "harbour" / "tides.py"
    async with daemon(workspace) as cairn:
        await cairn.ready()
        (tmp_path / "outside.py").write_text("x = 1\n")
        for path, start, end, problem in (
            (source, 3, 1, "range: ends before it starts"),
            (source, 99, 99, "range: starts at line 99; the document has"),
            (source, -1, 0, "range"),
            (tmp_path / "outside.py", 0, 1, "textDocument.uri: .* does not lie in a workspace folder"),
            (workspace / "no" / "such.py", 0, 1, "textDocument.uri: 'no/such.py' is not indexed"),
        ):
            with pytest.raises(JsonRpcInvalidParams, match=problem):
                await related(cairn, path, start, end)
        for uri in ("untitled:Untitled-1", "nonsense", "", "file://elsewhere/a.py"):
            with pytest.raises(JsonRpcInvalidParams, match=r"textDocument\.uri: .* names no file"):
                await cairn.request("cairn/related", {"textDocument": {"uri": uri}, "range": lines(0, 1)})
        for params, field in (
            ({"range": lines(0, 1)}, "textDocument"),
            ({"textDocument": {"uri": source.as_uri()}}, "range"),
            ({"textDocument": {"uri": source.as_uri()}, "range": lines(0, 1), "limit": 0}, "limit"),
        ):
            with pytest.raises(JsonRpcInvalidParams, match=field):
                await cairn.request("cairn/related", params)


async def test_any_editor_finds_symbols(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        (first, *_) = await symbols(cairn, "Berth")
        assert (first.name, first.kind) == ("Berth", types.SymbolKind.Class)
        assert first.location.uri == (workspace / "src" / "harbour" / "berths.py").as_uri()
        assert first.location.range.start.line == 3
        for query in ("moorShip", "mship", "MOOR_SHIP"):
            (moor, *_) = await symbols(cairn, query)
            assert moor.name == "moor_ship"
        assert {symbol.name for symbol in await symbols(cairn, "")} >= {
            "Berth",
            "high_water",
            "assign_berths",
        }
        assert await symbols(cairn, "zzzz") == []


async def test_a_page_is_the_file_as_it_is_on_the_screen(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    source = workspace / "src" / "harbour" / "tides.py"
    other = tmp_path / "other"
    (other / "src" / "harbour").mkdir(parents=True)
    (other / "src" / "harbour" / "tides.py").write_text("# another one\n")
    async with daemon(workspace, other) as cairn:
        await cairn.ready()
        params = {"path": "src/harbour/tides.py", "folder": workspace.as_uri()}
        page = await cairn.request("cairn/fetchPage", params)
        assert page["text"] == source.read_text()
        assert page["language"] == "python"
        open_document(cairn, source, "typed = True\n")
        assert (await cairn.request("cairn/fetchPage", params))["text"] == "typed = True\n"
        assert (await cairn.request("cairn/fetchPage", {**params, "folder": other.as_uri()}))[
            "text"
        ] == "# another one\n"
        with pytest.raises(JsonRpcInvalidParams, match=f"folder: is required.*{other.as_uri()}"):
            await cairn.request("cairn/fetchPage", {"path": "src/harbour/tides.py"})
        with pytest.raises(JsonRpcInvalidParams, match=r"folder: .* is not open"):
            await cairn.request("cairn/fetchPage", {**params, "folder": "file:///else"})


async def test_a_page_is_of_an_indexed_file_and_of_nothing_else(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.py").write_text("password = 1\n")
    (workspace / "link.py").symlink_to(tmp_path / "secret.py")
    async with daemon(workspace) as cairn:
        await cairn.ready()
        for path, problem in (
            ("../secret.py", "is not in the workspace folder"),
            ("src/../../secret.py", "is not in the workspace folder"),
            (str(tmp_path / "secret.py"), "is not in the workspace folder"),
            (str(workspace / "README.md"), "is not in the workspace folder"),
            ("%2e%2e/secret.py", "is not indexed"),
            ("..\\secret.py", "is not indexed"),
            ("src/harbour", "is a directory; .*'src/harbour/\\*\\*'"),
            ("src/harbour/", "is a directory"),
            ("", "is a directory"),
            ("link.py", "is not indexed"),
            (".git/config", "is not indexed"),
            ("a\0b", "is not in the workspace folder"),
            ("\ud800", "is not indexed"),
        ):
            with pytest.raises(JsonRpcInvalidParams, match=f"path: .*{problem}"):
                await cairn.request("cairn/fetchPage", {"path": path})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"language": ["pyton"]}, r"filter\.language: .*did you mean python"),
        ({"type": ["novel"]}, r"filter\.type: expected one of prose, code"),
        ({"path": ["[a"]}, r"filter\.path: '\[a' can match no file"),
    ],
)
async def test_filters_that_are_mistakes_are_refused(
    daemon: Start, workspace: Path, given: dict[str, list[str]], problem: str
) -> None:
    async with daemon(workspace) as cairn:
        with pytest.raises(JsonRpcInvalidParams, match=problem):
            await cairn.search("berth", filter=given)
