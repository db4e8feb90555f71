"""What an editor or a terminal can see of indexing, and how it is steered: progress, pause, index anew."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pytest_lsp import LanguageClient

from .conftest import PATIENCE_SECONDS, Daemon, plain

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("model_data_dir")]

SHOWS_PROGRESS = types.ClientCapabilities(window=types.WindowClientCapabilities(work_done_progress=True))
NO_MODEL = {"embedding": {"enabled": False}}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Some hundred real files, whose vectors take far longer than any test lasts."""
    installed = Path(sysconfig.get_paths()["purelib"])
    root = tmp_path / "library"
    for package in ("pygls", "rich", "click", "lsprotocol"):
        shutil.copytree(
            installed / package, root / package, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    return root


@pytest.fixture
def large_library(library: Path) -> Path:
    """As many files as take a fast machine several seconds to read."""
    for number in range(3):
        shutil.copytree(library / "rich", library / f"rich{number}")
        shutil.copytree(library / "lsprotocol", library / f"lsprotocol{number}")
        shutil.copytree(library / "pygls", library / f"pygls{number}")
    return library


async def until(holds: Callable[[], Any]) -> None:
    """Wait until `holds()` is true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        await asyncio.sleep(0.02)


async def command(cairn: Daemon, name: str, *arguments: Any) -> Any:
    params = types.ExecuteCommandParams(name, list(arguments) or None)
    return plain(
        await asyncio.wait_for(cairn.client.workspace_execute_command_async(params), PATIENCE_SECONDS)
    )


async def run_cairn(*arguments: str) -> str:
    """Run `cairn` while a daemon is served; its stdout. It must succeed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cairn", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problems = await asyncio.wait_for(process.communicate(), 2 * PATIENCE_SECONDS)
    assert process.returncode == 0, problems.decode()
    return out.decode()


def reports_of(client: LanguageClient) -> list[Any]:
    """All progress that was reported; pytest-lsp warns of what is reported without having been announced."""
    return [report for reports in client.progress_reports.values() for report in reports]


def has_ended(client: LanguageClient) -> bool:
    return any(isinstance(report, types.WorkDoneProgressEnd) for report in reports_of(client))


# --- progress -----------------------------------------------------------------------------------------


async def test_long_indexing_is_shown_from_begin_to_end(daemon: Start, library: Path) -> None:
    async with daemon(library, capabilities=SHOWS_PROGRESS) as cairn:
        await until(
            lambda: any("chunks left" in (report.message or "") for report in reports_of(cairn.client))
        )
        await cairn.request("cairn/pause")
        await until(lambda: has_ended(cairn.client))
    begin, *reports, end = reports_of(cairn.client)
    assert (type(begin), type(end)) == (types.WorkDoneProgressBegin, types.WorkDoneProgressEnd)
    assert (begin.title, begin.cancellable) == ("Cairn", False)
    assert all(isinstance(report, types.WorkDoneProgressReport) for report in reports)
    percentages = [report.percentage for report in (begin, *reports)]
    assert percentages == sorted(percentages)
    assert 0 <= percentages[0] <= percentages[-1] < 100
    assert "paused" in end.message


async def test_progress_ends_when_all_is_indexed_and_begins_anew(daemon: Start, large_library: Path) -> None:
    async with daemon(large_library, options=NO_MODEL, capabilities=SHOWS_PROGRESS) as cairn:
        for stretch in (1, 2):
            await until(lambda: has_ended(cairn.client))
            (reports,) = cairn.client.progress_reports.values()
            assert reports[0].message.endswith("chunks")
            assert "chunks" in reports[-1].message
            cairn.client.progress_reports.clear()
            if stretch == 1:
                await cairn.request("cairn/reindex")


async def test_a_client_without_progress_gets_none(daemon: Start, library: Path) -> None:
    async with daemon(library, options=NO_MODEL) as cairn:
        await cairn.until(lambda status: status["files"]["indexed"] == status["files"]["total"] > 0)
    assert cairn.client.progress_reports == {}


@pytest.mark.parametrize("refuses", [True, False], ids=["refusing", "slow"])
async def test_a_client_that_does_not_take_the_progress_disturbs_nothing(
    daemon: Start, large_library: Path, refuses: bool
) -> None:
    asked, late = [], asyncio.Event()

    async def create(params: Any) -> None:
        asked.append(params.token)
        if refuses:
            raise JsonRpcInvalidParams("no progress here")
        await late.wait()

    async with daemon(large_library, options=NO_MODEL, capabilities=SHOWS_PROGRESS) as cairn:
        del cairn.client.protocol.fm.features[types.WINDOW_WORK_DONE_PROGRESS_CREATE]
        cairn.client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(create)
        await until(lambda: asked)
        await cairn.request("cairn/reindex")
        await cairn.until(lambda status: status["state"] == "degraded")
        assert (await cairn.search("ServerCapabilitiesBuilder"))["results"]
        late.set()  # a token that comes after the end is not used
        await cairn.request("cairn/status")
    assert cairn.process.returncode == 0
    assert cairn.client.progress_reports == {}
    assert len(asked) == 1


# --- pause and resume ---------------------------------------------------------------------------------


async def test_pause_stops_vectors_while_saves_are_still_found(daemon: Start, library: Path) -> None:
    async with daemon(library) as cairn:
        await cairn.until(lambda status: status["activity"] == "embedding" and status["embedded"] > 0)
        assert await cairn.request("cairn/pause") == {"paused": True}
        paused = await cairn.until(lambda status: status["paused"] and status["activity"] == "paused")
        assert paused["queued"] > 0
        (library / "crew.py").write_text("def embark_pilot(vessel):\n    return vessel\n")
        cairn.saved(library / "crew.py")
        answer = await cairn.found("embark_pilot", "crew.py")
        assert answer["index"]["complete"] is False
        status = await cairn.request("cairn/status")
        assert status["queued"] >= paused["queued"]
        assert await cairn.request("cairn/resume") == {"paused": False}
        await cairn.until(lambda status: not status["paused"] and status["queued"] < paused["queued"])


async def test_resume_completes_what_a_pause_left(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        await command(cairn, "cairn.pause")
        await cairn.until(lambda status: status["paused"])
        (workspace / "crew.md").write_text("# Crew\n\nA pilot embarks before the ship enters.\n")
        cairn.saved(workspace / "crew.md")
        await cairn.until(lambda status: status["queued"] == 1)
        await command(cairn, "cairn.resume")
        status = await cairn.ready()
        assert (status["paused"], status["queued"]) == (False, 0)


# --- index anew and refresh ---------------------------------------------------------------------------


UNWATCHED = {"index": {"watch": False}}


@pytest.fixture
def tides(workspace: Path) -> Path:
    """A file that is older than a tick of the file system's clock, so that its time is trusted."""
    path = workspace / "src" / "harbour" / "tides.py"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def rename_unnoticed(path: Path) -> None:
    """Rename a function and leave the file's size and time as they were: only indexing it anew finds that."""
    status = path.stat()
    path.write_text(path.read_text().replace("high_water", "deep_water"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


@pytest.mark.parametrize("wanted", ["src/harbour/tides.py", "src/harbour", None])
async def test_a_file_a_folder_or_all_are_indexed_anew_on_request(
    daemon: Start, workspace: Path, tides: Path, wanted: str | None
) -> None:
    async with daemon(workspace, options={**UNWATCHED, **NO_MODEL}) as cairn:
        await cairn.found("high_water", "src/harbour/tides.py")
        rename_unnoticed(tides)
        params = {"path": wanted} if wanted else {}
        assert await cairn.request("cairn/reindex", params) == {"scheduled": True}
        await cairn.found("deep_water", "src/harbour/tides.py")


async def test_the_commands_reindex_and_refresh(daemon: Start, workspace: Path, tides: Path) -> None:
    async with daemon(workspace, options={**UNWATCHED, **NO_MODEL}) as cairn:
        await cairn.found("high_water", "src/harbour/tides.py")
        rename_unnoticed(tides)
        argument = {"path": "src", "folder": workspace.as_uri()}
        assert await command(cairn, "cairn.reindex", argument) == {"scheduled": True}
        await cairn.found("deep_water", "src/harbour/tides.py")
        assert await command(cairn, "cairn.reindex") == {"scheduled": True}
        assert await command(cairn, "cairn.refresh") is None


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("cairn.reindex", [{"path": 7}], "path"),
        ("cairn.reindex", [{"path": "../secrets.md"}], "path"),
        ("cairn.reindex", [{"path": "no/such.py"}], "path"),
        ("cairn.reindex", [{"file": "README.md"}], "file"),
        ("cairn.reindex", ["README.md"], "expected an object"),
        ("cairn.reindex", [{}, {}], "arguments"),
        ("cairn.pause", [{"folder": "x"}], "folder"),
        ("cairn.nonsense", [], "cairn.nonsense"),
    ],
)
async def test_bad_arguments_of_commands_are_refused_by_name(
    daemon: Start, workspace: Path, name: str, arguments: list[Any], field: str
) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.found("moor_ship", "src/harbour/berths.py")
        with pytest.raises(JsonRpcInvalidParams, match=field):
            await command(cairn, name, *arguments)


# --- what the editor tells ------------------------------------------------------------------------------

RECORDING = """
import sys, time
import cairn.engine.engine

class Recording(cairn.engine.engine.Engine):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.told = self.warnings
        time.sleep(0.5)  # the editor tells before there is an engine

    def document_opened(self, path): self.told.append(f"opened {path.name}")
    def document_changed(self, path, text):
        time.sleep(0.1)
        self.told.append(f"changed {path.name}: {text}")
    def document_closed(self, path): self.told.append(f"closed {path.name}")
    def changed(self, path): self.told.append(f"saved {path.name}")
    def configure(self, settings):
        self.told.append(f"configured {dict(settings)}")
        return [f"cairn.{key}: unknown setting" for key in settings if key != "index"]

cairn.engine.engine.Engine = Recording
sys.argv = ["cairn", "lsp"]
cairn.__main__.main()
"""
"""A daemon whose status lists, as warnings, what was handed to its engine."""


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"import cairn.__main__{RECORDING}"
    monkeypatch.setattr("tests.e2e.conftest.COMMAND", (sys.executable, "-c", script))


@pytest.mark.usefixtures("recording")
async def test_documents_are_handed_on_in_order_and_before_the_next_request(
    daemon: Start, workspace: Path
) -> None:
    readme = workspace / "README.md"
    for_memory = [types.TextDocumentItem("untitled:Untitled-1", "markdown", 1, "not a file")]
    async with daemon(workspace, options=NO_MODEL) as cairn:
        client = cairn.client
        for document in (types.TextDocumentItem(readme.as_uri(), "markdown", 1, "a\nc"), *for_memory):
            client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        for version, text in ((2, "b"), (3, "é")):
            start = types.Position(1, 0)
            change = types.TextDocumentContentChangePartial(range=types.Range(start, start), text=text)
            identifier = types.VersionedTextDocumentIdentifier(version, readme.as_uri())
            client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        cairn.saved(readme)
        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(readme.as_uri()))
        client.text_document_did_close(closed)
        assert (await cairn.request("cairn/status"))["warnings"] == [
            "opened README.md",
            "changed README.md: a\nc",
            "changed README.md: a\nbc",
            "changed README.md: a\nébc",
            "saved README.md",
            "closed README.md",
        ]


PULLS = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(configuration=True))


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("capabilities", [PULLS, None], ids=["pulled", "pushed"])
async def test_changed_settings_reach_the_engine_and_bad_ones_the_log(
    daemon: Start, workspace: Path, capabilities: types.ClientCapabilities | None
) -> None:
    settings = {"index": {"watch": False}, "nonsense": 1}
    async with daemon(workspace, options=NO_MODEL, capabilities=capabilities) as cairn:
        cairn.client.set_configuration({"cairn": settings} if capabilities else {})
        told = types.DidChangeConfigurationParams({"other": {}} if capabilities else {"cairn": settings})
        cairn.client.workspace_did_change_configuration(told)
        await cairn.until(lambda status: status["warnings"] == [f"configured {settings}"])
        await until(lambda: cairn.client.log_messages)
        (logged,) = cairn.client.log_messages
        assert logged.type == types.MessageType.Warning
        assert "cairn.nonsense: unknown setting" in logged.message


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("settings", [None, {}, {"other": {"x": 1}}, [1], {"cairn": None}])
async def test_settings_of_others_change_nothing(daemon: Start, workspace: Path, settings: Any) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        cairn.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
        assert (await cairn.request("cairn/status"))["warnings"] == []


# --- from a terminal, while a daemon holds the index ----------------------------------------------------


async def test_a_terminal_pauses_and_resumes_the_daemon(daemon: Start, library: Path) -> None:
    async with daemon(library) as cairn:
        await cairn.until(lambda status: status["activity"] == "embedding")
        assert "paused" in await run_cairn("pause", str(library))
        paused = await cairn.request("cairn/status")
        assert (paused["paused"], paused["queued"] > 0) == (True, True)
        assert "Indexing is paused" in await run_cairn("status", str(library))
        assert "paused" in await run_cairn("pause", str(library))  # once more changes nothing
        assert "resumed" in await run_cairn("resume", str(library))
        await cairn.until(lambda status: not status["paused"] and status["queued"] < paused["queued"])


async def test_a_terminal_has_the_daemon_index_anew_and_waits_for_it(
    daemon: Start, workspace: Path, tides: Path
) -> None:
    async with daemon(workspace, options=UNWATCHED) as cairn:
        await cairn.ready()
        rename_unnoticed(tides)
        status = json.loads(await run_cairn("reindex", str(tides), "-C", str(workspace), "--json"))
        assert status["state"] == "ready"
        first = (await cairn.search("deep_water"))["results"][0]  # no waiting: the terminal did that
        assert first["path"] == "src/harbour/tides.py"
