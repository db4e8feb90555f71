"""Code lenses above definitions, and the command behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pytest_lsp import LanguageClient

from tests.serving import PATIENCE_SECONDS

from .daemon import Daemon, plain, run_daemon, wait_until

T = TypeVar("T")

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

SCHEDULE = "src/harbour/schedule.py"
PORT = '''"""The port."""

from harbour.schedule import assign_berths


def open_port(ships):
    assign_berths(ships, [])
    assign_berths(ships[1:], [])
'''


@pytest.fixture
def schedule(workspace: Path) -> Path:
    (workspace / "src/harbour/port.py").write_text(PORT, encoding="utf-8")
    return workspace / SCHEDULE


def soon(sending: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    return asyncio.wait_for(sending, PATIENCE_SECONDS)


async def lenses(cairn: Daemon, path: Path) -> list[types.CodeLens]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(path.as_uri()))
    return list(await soon(cairn.client.text_document_code_lens_async(params)) or ())


async def resolved(cairn: Daemon, lens: types.CodeLens) -> types.Command:
    lens = lens if lens.command else await soon(cairn.client.code_lens_resolve_async(lens))
    assert lens.command is not None
    return lens.command


async def titles(cairn: Daemon, path: Path) -> list[tuple[int, str]]:
    """Return the line and the title of each lens, resolved where necessary."""
    found = await lenses(cairn, path)
    return [(each.range.start.line, (await resolved(cairn, each)).title) for each in found]


def known(found: list[types.CodeLens]) -> list[tuple[int, str]]:
    """Return the line of each lens, and its title, "" if it must be resolved."""
    return [(each.range.start.line, each.command.title if each.command else "") for each in found]


def argument_of(command: types.Command) -> Any:
    assert command.command == "cairn.show"
    (argument,) = plain(command.arguments)
    return argument


def shown(cairn: Daemon) -> list[str]:
    return [each.message for each in cairn.client.messages]


async def test_lenses_are_counted_when_they_are_resolved(schedule: Path, workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        assert cairn.capabilities.code_lens_provider == types.CodeLensOptions(resolve_provider=True)
        assert known(await lenses(cairn, schedule)) == [(5, "")]
        assert await titles(cairn, schedule) == [(5, "2 callers")]
        assert known(await lenses(cairn, schedule)) == [(5, "2 callers")]
        assert await lenses(cairn, workspace / "nothing.py") == []


async def test_command_lists_what_the_lens_counted(schedule: Path, workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        (lens,) = await lenses(cairn, schedule)
        argument = argument_of(await resolved(cairn, lens))
        position = {"line": 5, "character": 4}
        assert argument == {"uri": schedule.as_uri(), "position": position, "section": "callers"}
        await cairn.execute("cairn.show", argument)
        await wait_until(lambda: shown(cairn) == ["src/harbour/port.py:7\nsrc/harbour/port.py:8"])
        await cairn.execute("cairn.show", {**argument, "section": "tests"})
        await wait_until(lambda: len(shown(cairn)) == 2)
        assert shown(cairn)[1] == "Nothing is known for tests of this place."


@pytest.mark.parametrize("argument", [[], [{}], [{"uri": "file:///x", "section": "tests"}], ["x"], [1, 2]])
async def test_command_refuses_what_is_no_place(workspace: Path, argument: list[Any]) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        with pytest.raises(JsonRpcInvalidParams):
            await cairn.execute("cairn.show", *argument)


async def test_command_opens_the_only_place(schedule: Path, workspace: Path) -> None:
    (workspace / "src/harbour/port.py").write_text(PORT.replace("    assign_berths(ships, [])\n", ""))
    window = types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True))
    capabilities = types.ClientCapabilities(window=window)
    async with run_daemon(workspace, capabilities=capabilities) as cairn:
        await cairn.ready()
        (lens,) = await lenses(cairn, schedule)
        await cairn.execute("cairn.show", argument_of(await resolved(cairn, lens)))
        (opened,) = cairn.client.shown_documents
        assert opened.uri.endswith("/port.py")
        assert opened.selection is not None
        assert opened.selection.start == types.Position(6, 4)
        assert not shown(cairn)


REFRESHING = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True)
    )
)
"""A client that the server can ask to request its lenses again."""


class Refreshes:
    """Counts the requests to ask for the lenses again."""

    def __init__(self) -> None:
        self.count = 0

    def handle(self, client: LanguageClient) -> None:
        @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh(_: Any) -> None:
            self.count += 1


async def test_titles_stay_while_the_user_types_and_follow_the_index(schedule: Path, workspace: Path) -> None:
    refreshes, text = Refreshes(), schedule.read_text(encoding="utf-8")
    async with run_daemon(workspace, capabilities=REFRESHING, prepare=refreshes.handle) as cairn:
        await cairn.ready()
        cairn.open(schedule, text)
        assert await titles(cairn, schedule) == [(5, "2 callers")]
        for version in range(2, 12):
            cairn.change(schedule, "# typed\n" * version + text, version)
            assert known(await lenses(cairn, schedule)) == [(5 + version, "2 callers")]
        before = refreshes.count
        cairn.save(workspace / "src/harbour/port.py", PORT + "    assign_berths([], [])\n")
        await wait_until(lambda: refreshes.count > before)
        assert known(await lenses(cairn, schedule)) == [(16, "3 callers")]


async def test_other_lenses_are_announced_once_they_are_counted(schedule: Path, workspace: Path) -> None:
    refreshes = Refreshes()
    (workspace / "docs").mkdir()
    guide = "# Guide\n\n## Ships\n\nUse `assign_berths` and `assign_berths()` for ships.\n"
    (workspace / "docs/guide.md").write_text(guide, encoding="utf-8")
    async with run_daemon(workspace, capabilities=REFRESHING, prepare=refreshes.handle) as cairn:
        await cairn.ready()
        cairn.open(schedule, schedule.read_text(encoding="utf-8"))
        assert await titles(cairn, schedule) == [(5, "2 callers")]
        await wait_until(lambda: refreshes.count)
        found = known(await lenses(cairn, schedule))
        assert found == [(5, "2 callers"), (5, "explained in guide.md")]
        cairn.save(workspace / "README.md", "# Another text\n")
        cairn.save(workspace / "src/harbour/port.py", PORT + "    assign_berths([], [])\n")
        await wait_until(lambda: refreshes.count == 2)
        assert (5, "3 callers") in known(await lenses(cairn, schedule))


async def test_lenses_follow_the_setting_without_a_restart(schedule: Path, workspace: Path) -> None:
    refreshes, readme = Refreshes(), workspace / "README.md"
    text = f"{readme.read_text(encoding='utf-8')}\nCall `assign_berths()`.\n"
    readme.write_text(text, encoding="utf-8")
    async with run_daemon(workspace, capabilities=REFRESHING, prepare=refreshes.handle) as cairn:
        await cairn.ready()
        assert len(await lenses(cairn, schedule)) == 1
        assert await lenses(cairn, readme) == []
        for number, (setting, symbols, headings) in enumerate((("all", 1, 1), ("off", 0, 0)), 1):
            cairn.configure({"cairn": {"lsp": {"lenses": setting}}})
            await wait_until(lambda number=number: refreshes.count >= number)
            assert (len(await lenses(cairn, schedule)), len(await lenses(cairn, readme))) == (
                symbols,
                headings,
            )


async def test_dynamic_clients_are_registered_for_what_is_on(schedule: Path, workspace: Path) -> None:
    received: list[tuple[str, bool]] = []

    def handle_registrations(client: LanguageClient) -> None:
        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            received.extend((each.method, True) for each in params.registrations)

        @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
        def unregister(params: types.UnregistrationParams) -> None:
            received.extend((each.method, False) for each in params.unregisterations)

    text_document = types.TextDocumentClientCapabilities(
        code_lens=types.CodeLensClientCapabilities(dynamic_registration=True),
        hover=types.HoverClientCapabilities(dynamic_registration=True),
    )
    capabilities = types.ClientCapabilities(text_document=text_document)
    async with run_daemon(workspace, capabilities=capabilities, prepare=handle_registrations) as cairn:
        assert (cairn.capabilities.code_lens_provider, cairn.capabilities.hover_provider) == (None, None)
        both = [(types.TEXT_DOCUMENT_CODE_LENS, True), (types.TEXT_DOCUMENT_HOVER, True)]
        await wait_until(lambda: received == both)
        cairn.configure({"cairn": {"lsp": {"lenses": "off"}}})
        await wait_until(lambda: received == [*both, (types.TEXT_DOCUMENT_CODE_LENS, False)])


async def test_hover_says_which_document_explains_the_name(schedule: Path, workspace: Path) -> None:
    readme = workspace / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(f"{text}\nCall `assign_berths()` every hour.\n", encoding="utf-8")

    async def hover(cairn: Daemon, line: int) -> types.Hover | None:
        document, position = types.TextDocumentIdentifier(schedule.as_uri()), types.Position(line, 5)
        return await soon(cairn.client.text_document_hover_async(types.HoverParams(document, position)))

    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        found = await hover(cairn, 5)
        assert found is not None
        link = f"[README.md]({readme.as_uri()}#L9)"
        assert plain(found.contents.value) == f"Explained in {link}\n\nCall `assign_berths()` every hour."
        assert await hover(cairn, 0) is None
        cairn.configure({"cairn": {"lsp": {"hover": False}}})
        await cairn.status()
        assert await hover(cairn, 5) is None
