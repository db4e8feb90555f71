"""Go to definition, find references, implementations and the call hierarchy, in editors that have Cairn alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from .conftest import PATIENCE_SECONDS, Daemon, plain, started

Start = Callable[..., AbstractAsyncContextManager[Daemon]]
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


@pytest.fixture
def port(workspace: Path) -> Path:
    """A file of the project that uses what others define."""
    path = workspace / "src" / "harbour" / "port.py"
    path.write_text(PORT, encoding="utf-8")
    return path


def soon(asked: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    return asyncio.wait_for(asked, PATIENCE_SECONDS)


def at(path: Path, word: str) -> dict[str, Any]:
    """The document and the position of a word in it, in its first line that has it."""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
        if word in line:
            position = types.Position(number, line.index(word) + 1)
            return {"text_document": types.TextDocumentIdentifier(path.as_uri()), "position": position}
    raise AssertionError(f"{word} is not in {path}")


def lines(locations: Any) -> list[tuple[str, int]]:
    """The name of the file and the line of each location."""
    return [(each.uri.rpartition("/")[2], each.range.start.line) for each in locations]


async def definition(cairn: Daemon, path: Path, word: str) -> Any:
    return await soon(cairn.client.text_document_definition_async(types.DefinitionParams(**at(path, word))))


def announced(cairn: Daemon) -> set[str]:
    return {name for name in PROVIDERS if getattr(cairn.capabilities, name)}


async def test_nothing_is_offered_unless_it_is_asked_for(daemon: Start, port: Path, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        assert announced(cairn) == set()
        assert not await definition(cairn, port, "assign_berths(ships, [")
    async with daemon(workspace, options={"lsp": {"navigation": ["lua"]}}) as cairn:
        await cairn.ready()
        assert announced(cairn) == set(PROVIDERS)
        assert not await definition(cairn, port, "assign_berths(ships, [")


@pytest.mark.parametrize("language", ["*", "python"])
async def test_a_name_leads_to_its_definition_references_and_implementations(
    daemon: Start, port: Path, workspace: Path, language: str
) -> None:
    async with daemon(workspace, options={"lsp": {"navigation": [language]}}) as cairn:
        await cairn.ready()
        assert announced(cairn) == set(PROVIDERS)
        assert lines(await definition(cairn, port, "assign_berths(ships, [")) == [("schedule.py", 5)]
        assert not await definition(cairn, port, '"""The port')
        place = at(port, "assign_berths(ships, [")
        for declaration in (True, False):
            context = types.ReferenceContext(include_declaration=declaration)
            asked = types.ReferenceParams(context=context, **place)
            found = lines(await soon(cairn.client.text_document_references_async(asked)))
            assert (("schedule.py", 5) in found) is declaration
            assert {("port.py", 11), ("port.py", 12)} <= set(found)
        implementing = types.ImplementationParams(**at(workspace / "src/harbour/berths.py", "Berth:"))
        found = await soon(cairn.client.text_document_implementation_async(implementing))
        assert lines(found) == [("port.py", 6)]


async def test_the_call_hierarchy_goes_both_ways(daemon: Start, port: Path, workspace: Path) -> None:
    async with daemon(workspace, options=EVERYWHERE) as cairn:
        await cairn.ready()
        place = types.CallHierarchyPrepareParams(**at(port, "assign_berths(ships, ["))
        (assign,) = await soon(cairn.client.text_document_prepare_call_hierarchy_async(place))
        assert (assign.name, assign.kind, assign.detail) == (
            "assign_berths",
            types.SymbolKind.Function,
            "src/harbour/schedule.py",
        )
        incoming = types.CallHierarchyIncomingCallsParams(assign)
        (caller,) = await soon(cairn.client.call_hierarchy_incoming_calls_async(incoming))
        assert caller.from_.name == "open_port"
        assert [each.start.line for each in caller.from_ranges] == [11, 12]
        (top,) = await soon(
            cairn.client.call_hierarchy_incoming_calls_async(
                types.CallHierarchyIncomingCallsParams(caller.from_)
            )
        )
        assert (top.from_.name, top.from_.kind) == ("port.py", types.SymbolKind.File)
        outgoing = types.CallHierarchyOutgoingCallsParams(caller.from_)
        callees = await soon(cairn.client.call_hierarchy_outgoing_calls_async(outgoing))
        assert [(each.to.name, len(each.from_ranges)) for each in callees] == [
            ("assign_berths", 2),
            ("DeepBerth", 1),
        ]


async def test_a_document_that_is_not_indexed_has_no_answer(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("def assign_berths():\n    pass\n", encoding="utf-8")
    async with daemon(workspace, options=EVERYWHERE) as cairn:
        await cairn.ready()
        assert not await definition(cairn, outside, "assign_berths")


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
"""All can be registered later but the call hierarchy."""


async def test_what_can_be_registered_follows_the_settings(port: Path, workspace: Path) -> None:
    told: list[tuple[str, Any]] = []

    def hears(client: LanguageClient) -> None:
        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            told.extend((each.method, plain(each.register_options)) for each in params.registrations)

        @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
        def unregister(params: types.UnregistrationParams) -> None:
            told.extend((each.method, None) for each in params.unregisterations)

    def navigation() -> list[tuple[str, Any]]:
        return [(method, options) for method, options in told if method.startswith("textDocument/")]

    async with started(
        workspace, options={"lsp": {"navigation": ["lua"]}}, capabilities=DYNAMIC, prepare=hears
    ) as cairn:
        await cairn.ready()
        assert announced(cairn) == {"call_hierarchy_provider"}
        lua = {"documentSelector": [{"scheme": "file", "language": "lua"}]}
        methods = [
            types.TEXT_DOCUMENT_DEFINITION,
            types.TEXT_DOCUMENT_REFERENCES,
            types.TEXT_DOCUMENT_IMPLEMENTATION,
        ]
        await until(lambda: navigation() == [(method, lua) for method in methods])
        told.clear()
        cairn.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"cairn": EVERYWHERE})
        )
        everywhere = {"documentSelector": [{"scheme": "file"}]}
        await until(
            lambda: navigation() == [*((m, None) for m in methods), *((m, everywhere) for m in methods)]
        )
        assert lines(await definition(cairn, port, "assign_berths(ships, [")) == [("schedule.py", 5)]


async def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
