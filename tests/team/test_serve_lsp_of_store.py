"""LSP over a team's database: each client gets only what its reader may see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.lsp_editor import Editor
from tests.serving import PATIENCE_SECONDS
from tests.team.shared_town import Town

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def coast(town: Town) -> Town:
    """The town with readers of its own, since the server remembers each reader's recent queries."""
    ada, bob = town.store.reader("ann", "harbour"), town.store.reader("ben", "harbour", "lighthouse")
    return evolve(town, ada=ada, bob=bob)


@asynccontextmanager
async def connected(town: Town) -> AsyncIterator[Editor]:
    editor = Editor(*await asyncio.open_connection("127.0.0.1", town.served.addresses["lspPort"]))
    try:
        yield editor
    finally:
        editor.leave()
        if editor.listening is not None:
            await asyncio.wait_for(editor.listening, PATIENCE_SECONDS)


async def search(editor: Editor, query: str) -> dict[str, Any]:
    found: dict[str, Any] = await editor.request("cairn/search", {"query": query})
    return found


async def shown(editor: Editor, query: str) -> set[str]:
    return {result["folder"] for result in (await search(editor, query))["results"]}


async def shows_message(editor: Editor, text: str) -> None:
    """Wait for a message of the server that contains the text."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(
            each["method"] == "window/showMessage" and text in str(each["params"]) for each in editor.unasked
        ):
            await asyncio.sleep(0.01)


async def test_each_reader_has_what_they_may_see(coast: Town) -> None:
    question = "how the lamp of the lighthouse warns ships"
    async with connected(coast) as ada, connected(coast) as bob:
        await ada.initialize(token=coast.ada)
        await bob.initialize(token=coast.bob)
        assert "cairn-team:///lighthouse" not in await shown(ada, question)
        assert "cairn-team:///lighthouse" in await shown(bob, question)
        index_state = (await search(ada, "moor a ship"))["index"]
        commit = coast.harbour.git("rev-parse", "main")
        assert index_state["source"] == f"From the team's index: harbour, main at {commit[:8]}."


async def test_answers_are_those_of_rest(coast: Town) -> None:
    async with connected(coast) as editor:
        await editor.initialize(token=coast.bob)
        for name, params in (
            ("search", {"query": "moor a ship"}),
            ("references", {"symbol": "kindle_lamp"}),
            ("discover", {"query": "how does the lamp of the lighthouse warn ships"}),
            ("fetchPage", {"path": "src/lighthouse/lamp.py"}),
        ):
            here = await editor.request(f"cairn/{name}", params)
            path = "fetch_page" if name == "fetchPage" else name
            there = coast.served.ask(f"/api/v1/{path}", params, token=coast.bob).json
            for moving in ("timings", "metrics", "retrieval"):
                here.pop(moving, None)
                there.pop(moving, None)
            assert here == there, name


async def test_references_of_a_place_and_symbols(coast: Town) -> None:
    async with connected(coast) as editor:
        await editor.initialize(token=coast.bob, lsp={"navigation": ["*"]})
        document = {"uri": "cairn-team:///lighthouse/src/lighthouse/lamp.py"}
        at = {"textDocument": document, "position": {"line": 3, "character": 6}}
        found = await editor.request(
            "textDocument/references", {**at, "context": {"includeDeclaration": False}}
        )
        assert [(each["uri"], each["range"]["start"]["line"]) for each in found] == [(document["uri"], 10)]
        symbols = await editor.request("workspace/symbol", {"query": "keeper_rota"})
        assert [each["location"]["uri"] for each in symbols] == [document["uri"]]


async def test_open_folders_name_repositories(coast: Town) -> None:
    question = "ships at the reef and in the harbour"
    lighthouse, harbour_ = "cairn-team:///lighthouse", "cairn-team:///harbour"
    async with connected(coast) as editor:
        await editor.initialize(lighthouse, token=coast.bob)
        assert await shown(editor, question) == {lighthouse}
        changed = {"added": [{"uri": harbour_, "name": "harbour"}], "removed": []}
        editor.tell("workspace/didChangeWorkspaceFolders", {"event": changed})
        assert await shown(editor, question) == {lighthouse, harbour_}
        changed = {"added": [], "removed": [{"uri": lighthouse, "name": "lighthouse"}]}
        editor.tell("workspace/didChangeWorkspaceFolders", {"event": changed})
        assert await shown(editor, question) == {harbour_}


async def test_hidden_and_local_folders_are_refused_with_a_message(coast: Town, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def secret_soundings():\n    return 1\n")
    async with connected(coast) as editor:
        await editor.initialize("cairn-team:///lighthouse", tmp_path, token=coast.ada)
        await shows_message(editor, "there is no repository 'cairn-team:///lighthouse'")
        await shows_message(editor, "a team's index is served here")
        assert await editor.search("secret_soundings") == []


async def test_clients_cannot_change_the_answers_of_others(coast: Town) -> None:
    document = {"uri": "cairn-team:///harbour/src/harbour/berths.py", "languageId": "python", "version": 1}
    async with connected(coast) as ada, connected(coast) as bob:
        await ada.initialize(token=coast.ada)
        await bob.initialize(token=coast.bob)
        ada.tell("textDocument/didOpen", {"textDocument": {**document, "text": "quicksilver_gauge = 1\n"}})
        ada.tell(
            "workspace/didChangeConfiguration", {"settings": {"cairn": {"retrieval": {"enabled": False}}}}
        )
        assert await ada.search("quicksilver_gauge") == []
        assert "src/harbour/berths.py" in await bob.search("moor_ship")
        for name in ("pause", "reindex"):
            response = await ada.respond(f"cairn/{name}", {})
            assert "a team's index" in response["error"]["message"], name
    async with connected(coast) as editor:
        await editor.initialize(token=coast.ada)
        assert "src/harbour/berths.py" in await editor.search("moor_ship")


async def test_wrong_token_is_refused_with_the_remedy(coast: Town) -> None:
    for token in ("", "A" * 43, coast.ada[:-1], None):
        async with connected(coast) as editor:
            response = await editor.respond("initialize", {"initializationOptions": {"token": token}})
            assert response["error"]["code"] == -32001
            assert "cairn team grant" in response["error"]["message"]


async def test_revoked_repositories_are_refused_at_once(coast: Town) -> None:
    token = coast.store.reader("cora", "harbour", "lighthouse")
    async with connected(coast) as editor:
        await editor.initialize(token=token)
        assert "src/lighthouse/lamp.py" in await editor.search("kindle_lamp")
        coast.store.owned.revoke("cora", ["lighthouse"])
        assert await editor.search("kindle_lamp") == []
        coast.store.owned.revoke("cora", [])
        response = await editor.respond("cairn/search", {"query": "moor a ship"})
        assert "no longer valid" in response["error"]["message"]
