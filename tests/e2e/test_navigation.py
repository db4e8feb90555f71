"""Definitions, references, implementations and call hierarchies, for editors without a language server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.serving import PATIENCE_SECONDS

from .daemon import Daemon, plain, run_daemon, wait_until

T = TypeVar("T")

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

EVERYWHERE = {"lsp": {"navigation": ["*"]}}
PROVIDERS = (
    "definition_provider",
    "references_provider",
    "implementation_provider",
    "call_hierarchy_provider",
)
PORT = '''"""The port."""

from harbour.berths import Berth
from harbour.schedule import assign_berths


class DeepBerth(Berth):
    """For ships that lie deep."""


def open_port(ships):
    assign_berths(ships, [DeepBerth(9.5)])
    assign_berths(ships[1:], [])


open_port([])
'''


CALL = "assign_berths(ships, ["


@pytest.fixture
def port(workspace: Path) -> Path:
    """A file of the project that uses definitions of other files."""
    path = workspace / "src/harbour/port.py"
    path.write_text(PORT, encoding="utf-8")
    return path


def soon(sending: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    return asyncio.wait_for(sending, PATIENCE_SECONDS)


def at(path: Path, word: str) -> dict[str, Any]:
    """Return the document and the position of a word in the first line that has it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    number = next(number for number, line in enumerate(lines) if word in line)
    position = types.Position(number, lines[number].index(word) + 1)
    return {"text_document": types.TextDocumentIdentifier(path.as_uri()), "position": position}


def lines(locations: Any) -> list[tuple[str, int]]:
    """Return the name of the file and the line of each location."""
    return [(each.uri.rpartition("/")[2], each.range.start.line) for each in locations]


async def definition(cairn: Daemon, path: Path, word: str) -> Any:
    return await soon(cairn.client.text_document_definition_async(types.DefinitionParams(**at(path, word))))


def announced(cairn: Daemon) -> set[str]:
    return {name for name in PROVIDERS if getattr(cairn.capabilities, name)}


async def test_navigation_is_off_unless_the_settings_name_the_language(port: Path, workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        assert announced(cairn) == set()
        assert not await definition(cairn, port, CALL)
    async with run_daemon(workspace, options={"lsp": {"navigation": ["lua"]}}) as cairn:
        await cairn.ready()
        assert announced(cairn) == set(PROVIDERS)
        assert not await definition(cairn, port, CALL)


@pytest.mark.parametrize("language", ["*", "python"])
async def test_a_name_leads_to_definition_references_and_implementations(
    port: Path, workspace: Path, tmp_path: Path, language: str
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("def assign_berths():\n    pass\n", encoding="utf-8")
    async with run_daemon(workspace, options={"lsp": {"navigation": [language]}}) as cairn:
        await cairn.ready()
        assert announced(cairn) == set(PROVIDERS)
        assert lines(await definition(cairn, port, CALL)) == [("schedule.py", 5)]
        assert not await definition(cairn, port, '"""The port')
        assert not await definition(cairn, outside, "assign_berths")  # the file is not indexed
        for declaration in (True, False):
            context = types.ReferenceContext(include_declaration=declaration)
            params = types.ReferenceParams(context=context, **at(port, CALL))
            found = lines(await soon(cairn.client.text_document_references_async(params)))
            assert (("schedule.py", 5) in found) is declaration
            assert {("port.py", 11), ("port.py", 12)} <= set(found)
        implementing = types.ImplementationParams(**at(workspace / "src/harbour/berths.py", "Berth:"))
        found = await soon(cairn.client.text_document_implementation_async(implementing))
        assert lines(found) == [("port.py", 6)]


async def test_the_call_hierarchy_goes_both_ways(port: Path, workspace: Path) -> None:
    async with run_daemon(workspace, options=EVERYWHERE) as cairn:

        async def callers(item: types.CallHierarchyItem) -> Any:
            params = types.CallHierarchyIncomingCallsParams(item)
            return await soon(cairn.client.call_hierarchy_incoming_calls_async(params))

        await cairn.ready()
        place = types.CallHierarchyPrepareParams(**at(port, CALL))
        (assign,) = await soon(cairn.client.text_document_prepare_call_hierarchy_async(place))
        assert (assign.name, assign.kind) == ("assign_berths", types.SymbolKind.Function)
        assert assign.detail == "src/harbour/schedule.py"
        (caller,) = await callers(assign)
        assert caller.from_.name == "open_port"
        assert [each.start.line for each in caller.from_ranges] == [11, 12]
        (top,) = await callers(caller.from_)
        assert (top.from_.name, top.from_.kind) == ("port.py", types.SymbolKind.File)
        outgoing = types.CallHierarchyOutgoingCallsParams(caller.from_)
        callees = await soon(cairn.client.call_hierarchy_outgoing_calls_async(outgoing))
        counts = [(each.to.name, len(each.from_ranges)) for each in callees]
        assert counts == [("assign_berths", 2), ("DeepBerth", 1)]


DYNAMIC = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True)
    ),
    text_document=types.TextDocumentClientCapabilities(
        definition=types.DefinitionClientCapabilities(dynamic_registration=True),
        references=types.ReferenceClientCapabilities(dynamic_registration=True),
        implementation=types.ImplementationClientCapabilities(dynamic_registration=True),
    ),
)
"""A client for which all but the call hierarchy can be registered later."""


async def test_registrations_follow_the_settings(port: Path, workspace: Path) -> None:
    received: list[tuple[str, Any]] = []

    def handle_registrations(client: LanguageClient) -> None:
        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            received.extend((each.method, plain(each.register_options)) for each in params.registrations)

        @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
        def unregister(params: types.UnregistrationParams) -> None:
            received.extend((each.method, None) for each in params.unregisterations)

    def navigation() -> list[tuple[str, Any]]:
        return [(method, options) for method, options in received if method.startswith("textDocument/")]

    options = {"lsp": {"navigation": ["lua"]}}
    async with run_daemon(
        workspace, options=options, capabilities=DYNAMIC, prepare=handle_registrations
    ) as cairn:
        await cairn.ready()
        assert announced(cairn) == {"call_hierarchy_provider"}
        lua = {"documentSelector": [{"scheme": "file", "language": "lua"}]}
        methods = [
            types.TEXT_DOCUMENT_DEFINITION,
            types.TEXT_DOCUMENT_REFERENCES,
            types.TEXT_DOCUMENT_IMPLEMENTATION,
        ]
        await wait_until(lambda: navigation() == [(method, lua) for method in methods])
        received.clear()
        cairn.configure({"cairn": EVERYWHERE})
        everywhere = {"documentSelector": [{"scheme": "file"}]}
        expected = [(method, options) for options in (None, everywhere) for method in methods]
        await wait_until(lambda: navigation() == expected)
        assert lines(await definition(cairn, port, CALL)) == [("schedule.py", 5)]
