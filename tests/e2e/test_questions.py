"""Requests of an editor besides searching: pages, related passages, symbols, and repeated queries."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tests.serving import PATIENCE_SECONDS

from .daemon import UNWATCHED, Daemon, run_daemon

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]


def lines(start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}


async def related(cairn: Daemon, path: Path, start: int = 0, end: int = 1, **params: Any) -> Any:
    document = {"textDocument": {"uri": path.as_uri()}, "range": lines(start, end)}
    return await cairn.request("cairn/related", {**document, **params})


async def symbols(cairn: Daemon, query: str) -> Any:
    found = cairn.client.workspace_symbol_async(types.WorkspaceSymbolParams(query))
    return await asyncio.wait_for(found, PATIENCE_SECONDS) or []


async def test_a_repeated_query_is_cached_while_nothing_changes(workspace: Path) -> None:
    query = "where are ships assigned"
    async with run_daemon(workspace, options=UNWATCHED) as cairn:
        await cairn.ready()
        first = await cairn.search(query)
        second = await cairn.search(query)
        assert second["timings"].keys() == {"cached", "total"}
        assert {**second, "timings": {}} == {**first, "timings": {}}
        assert "cached" not in (await cairn.search(query, limit=3))["timings"]
        latency = (await cairn.status())["latency"]
        assert (latency["cacheHits"], latency["cacheMisses"]) == (1, 2)
        # Unsaved text is a change, and so are a file on disk and a setting.
        cairn.open(workspace / "src/harbour/tides.py", "def ebb_of_the_tide(day):\n    return day\n")
        assert (await cairn.search("ebb_of_the_tide"))["results"][0]["symbol"] == "ebb_of_the_tide"
        assert "cached" not in (await cairn.search(query))["timings"]
        cairn.save(workspace / "src/harbour/more.py", "def where_ships_are_assigned():\n    pass\n")
        await cairn.found(query, "src/harbour/more.py")
        (workspace / ".cairn.toml").write_text("[search.verdict]\nmin_score = 1000.0\n")
        assert (await cairn.search(query))["verdict"]["action"] == "clarify"


async def test_related_passages_are_found_with_their_reasons(harbour: Daemon) -> None:
    source = harbour.root / "src/harbour"
    answer = await related(harbour, source / "schedule.py", 5, 12)
    by_path = {result["path"]: result for result in answer["results"]}
    assert "src/harbour/schedule.py" not in by_path  # the file is a single chunk
    reasons = " ".join(by_path["src/harbour/berths.py"]["matchExplain"])
    assert "called by `assign_berths`" in reasons
    assert "file that it imports" in reasons
    assert "moor_ship" in by_path["src/harbour/berths.py"]["matchedTerms"]
    assert answer["index"]["complete"] is True
    at_cursor = await related(harbour, source / "berths.py", 4, 4)
    assert "tests/test_berths.py" in [result["path"] for result in at_cursor["results"][:2]]
    assert len((await related(harbour, source / "berths.py", limit=1))["results"]) == 1
    unsaved = source / "new.py"
    body = '    """Return the time of the next high tide."""\n    return high_water(tides, now)\n'
    harbour.open(unsaved, f"from harbour.tides import high_water\n\n\ndef next_tide(tides, now):\n{body}")
    assert (await related(harbour, unsaved))["results"][0]["path"] == "src/harbour/tides.py"
    harbour.close(unsaved)


async def test_a_refusal_names_the_bad_part_of_a_passage(harbour: Daemon, tmp_path: Path) -> None:
    source = harbour.root / "src/harbour/tides.py"
    outside = tmp_path / "outside.py"
    outside.write_text("x = 1\n")
    for path, start, end, problem in (
        (source, 3, 1, "range: ends before it starts"),
        (source, 99, 99, "range: starts at line 99; the document has"),
        (source, -1, 0, "range"),
        (outside, 0, 1, "textDocument.uri: .* does not lie in a workspace folder"),
        (harbour.root / "no/such.py", 0, 1, "textDocument.uri: 'no/such.py' is not indexed"),
    ):
        with pytest.raises(JsonRpcInvalidParams, match=problem):
            await related(harbour, path, start, end)
    for uri in ("untitled:Untitled-1", "nonsense", "", "file://elsewhere/a.py"):
        with pytest.raises(JsonRpcInvalidParams, match=r"textDocument\.uri: .* names no file"):
            await harbour.request("cairn/related", {"textDocument": {"uri": uri}, "range": lines(0, 1)})
    document = {"textDocument": {"uri": source.as_uri()}}
    for params, field in (
        ({"range": lines(0, 1)}, "textDocument"),
        (document, "range"),
        ({**document, "range": lines(0, 1), "limit": 0}, "limit"),
    ):
        with pytest.raises(JsonRpcInvalidParams, match=field):
            await harbour.request("cairn/related", params)


async def test_any_editor_finds_symbols(harbour: Daemon) -> None:
    (first, *_) = await symbols(harbour, "Berth")
    assert (first.name, first.kind) == ("Berth", types.SymbolKind.Class)
    assert first.location.uri == (harbour.root / "src/harbour/berths.py").as_uri()
    assert first.location.range.start.line == 3
    for query in ("moorShip", "mship", "MOOR_SHIP"):
        (moor, *_) = await symbols(harbour, query)
        assert moor.name == "moor_ship"
    everything = {symbol.name for symbol in await symbols(harbour, "")}
    assert everything >= {"Berth", "high_water", "assign_berths"}
    assert await symbols(harbour, "zzzz") == []


async def test_a_page_is_the_unsaved_text_or_the_file(workspace: Path, tmp_path: Path) -> None:
    source = workspace / "src/harbour/tides.py"
    other = tmp_path / "other"
    (other / "src/harbour").mkdir(parents=True)
    (other / "src/harbour/tides.py").write_text("# another one\n")
    async with run_daemon(workspace, other) as cairn:

        async def page(**params: str) -> Any:
            return await cairn.request("cairn/fetchPage", {"path": "src/harbour/tides.py", **params})

        await cairn.ready()
        saved = await page(folder=workspace.as_uri())
        assert (saved["text"], saved["language"]) == (source.read_text(), "python")
        cairn.open(source, "typed = True\n")
        assert (await page(folder=workspace.as_uri()))["text"] == "typed = True\n"
        assert (await page(folder=other.as_uri()))["text"] == "# another one\n"
        with pytest.raises(JsonRpcInvalidParams, match=f"folder: is required.*{other.as_uri()}"):
            await page()
        with pytest.raises(JsonRpcInvalidParams, match=r"folder: .* is not open"):
            await page(folder="file:///else")


async def test_a_page_of_anything_but_an_indexed_file_is_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("password = 1\n")
    (workspace / "link.py").symlink_to(tmp_path / "secret.py")
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        for path, problem in (
            ("../secret.py", "is not in the workspace folder"),
            ("src/../../secret.py", "is not in the workspace folder"),
            (str(tmp_path / "secret.py"), "is not in the workspace folder"),
            (str(workspace / "README.md"), "is not in the workspace folder"),
            ("%2e%2e/secret.py", "there is no"),
            ("..\\secret.py", "there is no"),
            ("src/harbour", "is a directory; .*'src/harbour/\\*\\*'"),
            ("src/harbour/", "is a directory"),
            ("", "is a directory"),
            ("link.py", "is left out of the index by the rule 'symbolic link'"),
            (".git/config", "there is no"),
            ("a\0b", "is not in the workspace folder"),
            ("\ud800", "there is no"),
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
async def test_a_refusal_names_the_bad_filter(
    harbour: Daemon, given: dict[str, list[str]], problem: str
) -> None:
    with pytest.raises(JsonRpcInvalidParams, match=problem):
        await harbour.search("berth", filter=given)
