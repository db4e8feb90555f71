"""How an editor or a terminal sees and controls indexing: progress, pause, reindex, settings."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pytest_lsp import LanguageClient

from .command_line import run_cairn_beside
from .daemon import NO_MODEL, UNWATCHED, Daemon, run_daemon, wait_until
from .written_files import rename_unnoticed, write_function

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

SHOWS_PROGRESS = types.ClientCapabilities(window=types.WindowClientCapabilities(work_done_progress=True))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A hundred real files."""
    installed = Path(sysconfig.get_paths()["purelib"])
    root = tmp_path / "library"
    for package in ("rich", "click"):
        shutil.copytree(
            installed / package, root / package, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    return root


HASTY = """
import cairn.__main__
import sys
import cairn.lsp.editor_connection

cairn.lsp.editor_connection._PATIENCE_SECONDS = 0.1
sys.argv = ["cairn", "lsp"]
cairn.__main__.main()
"""


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the daemon show progress so soon that a fast machine cannot finish reading the library before."""
    monkeypatch.setattr("tests.e2e.daemon.COMMAND", (sys.executable, "-c", HASTY))


def stretches(client: LanguageClient) -> list[list[Any]]:
    """Return the progress reports of each stretch of work. On a busy machine there may be several.

    pytest-lsp warns of unannounced reports.
    """
    return list(client.progress_reports.values())


def has_ended(client: LanguageClient) -> bool:
    """Return whether there was progress, and all of it has ended."""
    ends = [isinstance(reports[-1], types.WorkDoneProgressEnd) for reports in stretches(client)]
    return bool(ends) and all(ends)


# --- progress ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("slow_model")
async def test_progress_shows_indexing_from_begin_to_end(library: Path) -> None:
    async with run_daemon(library, capabilities=SHOWS_PROGRESS) as cairn:
        await wait_until(
            lambda: any(
                "chunks left" in (report.message or "")
                for reports in stretches(cairn.client)[-1:]
                for report in reports
            )
        )
        await cairn.request("cairn/pause")
        await wait_until(lambda: has_ended(cairn.client))
    begin, *reports, end = stretches(cairn.client)[-1]
    assert (type(begin), type(end)) == (types.WorkDoneProgressBegin, types.WorkDoneProgressEnd)
    assert (begin.title, begin.cancellable) == ("Cairn", False)
    assert all(isinstance(report, types.WorkDoneProgressReport) for report in reports)
    percentages = [report.percentage for report in (begin, *reports)]
    assert percentages == sorted(percentages)
    assert 0 <= percentages[0] <= percentages[-1] < 100
    assert "paused" in end.message


@pytest.mark.usefixtures("hasty")
async def test_a_reindex_begins_progress_again(library: Path) -> None:
    async with run_daemon(library, options=NO_MODEL, capabilities=SHOWS_PROGRESS) as cairn:
        for stretch in (1, 2):
            await cairn.settled()
            await wait_until(lambda: has_ended(cairn.client))
            reports = stretches(cairn.client)[0]
            assert reports[0].message.endswith("chunks")
            assert "chunks" in reports[-1].message
            cairn.client.progress_reports.clear()
            if stretch == 1:
                await cairn.request("cairn/reindex")


async def test_a_client_without_progress_gets_none(library: Path) -> None:
    async with run_daemon(library, options=NO_MODEL) as cairn:
        await cairn.wait_for(lambda status: status["files"]["indexed"] == status["files"]["total"] > 0)
    assert cairn.client.progress_reports == {}


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("refuses", [True, False], ids=["refusing", "slow"])
async def test_a_client_that_takes_no_progress_disturbs_nothing(library: Path, refuses: bool) -> None:
    tokens, late = [], asyncio.Event()

    async def create(params: Any) -> None:
        tokens.append(params.token)
        if refuses:
            raise JsonRpcInvalidParams("no progress here")
        await late.wait()

    async with run_daemon(library, options=NO_MODEL, capabilities=SHOWS_PROGRESS) as cairn:
        del cairn.client.protocol.fm.features[types.WINDOW_WORK_DONE_PROGRESS_CREATE]
        cairn.client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(create)
        await wait_until(lambda: tokens)
        await cairn.request("cairn/reindex")
        await cairn.wait_for(lambda status: status["state"] == "degraded")
        assert (await cairn.search("ServerCapabilitiesBuilder"))["results"]
        await cairn.request("cairn/pause")
        await cairn.wait_for(lambda status: status["activity"] == "paused")
        late.set()  # the daemon does not use a token that comes after the end
        await cairn.status()
    assert cairn.process.returncode == 0
    assert cairn.client.progress_reports == {}
    assert len(tokens) == 1


# --- pause and resume --------------------------------------------------------------------------------


@pytest.mark.usefixtures("slow_model")
async def test_a_pause_stops_the_vectors_and_not_the_saves(library: Path) -> None:
    async with run_daemon(library) as cairn:
        await cairn.wait_for(lambda status: status["activity"] == "embedding" and status["embedded"] > 0)
        assert await cairn.request("cairn/pause") == {"paused": True}
        paused = await cairn.wait_for(lambda status: status["paused"] and status["activity"] == "paused")
        assert paused["queued"] > 0
        cairn.save(write_function(library / "crew.py", "embark_pilot"))
        answer = await cairn.found("embark_pilot", "crew.py")
        assert answer["index"]["complete"] is False
        assert (await cairn.status())["queued"] >= paused["queued"]
        assert await cairn.request("cairn/resume") == {"paused": False}
        await cairn.wait_for(lambda status: not status["paused"] and status["queued"] < paused["queued"])


@pytest.mark.usefixtures("slow_model")
async def test_a_resume_completes_the_work_of_the_pause(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.execute("cairn.pause")
        await cairn.wait_for(lambda status: status["paused"])
        cairn.save(workspace / "crew.md", "# Crew\n\nA pilot embarks before the ship enters.\n")
        await cairn.wait_for(lambda status: status["queued"] == 1)
        await cairn.execute("cairn.resume")
        status = await cairn.ready()
        assert (status["paused"], status["queued"]) == (False, 0)


# --- reindex and refresh -----------------------------------------------------------------------------


async def test_reindex_reads_a_file_a_folder_or_all_again(workspace: Path, tides: Path) -> None:
    names = ["high_water", "deep_water", "calm_water", "wide_water", "cold_water"]
    async with run_daemon(workspace, options={**UNWATCHED, **NO_MODEL}) as cairn:
        await cairn.found(names[0], "src/harbour/tides.py")
        for path in ("src/harbour/tides.py", "src/harbour", ""):
            before, after = names.pop(0), names[0]
            rename_unnoticed(tides, before, after)
            assert await cairn.request("cairn/reindex", {"path": path} if path else {}) == {"scheduled": True}
            await cairn.found(after, "src/harbour/tides.py")
        rename_unnoticed(tides, *names)
        argument = {"path": "src", "folder": workspace.as_uri()}
        assert await cairn.execute("cairn.reindex", argument) == {"scheduled": True}
        await cairn.found(names[-1], "src/harbour/tides.py")
        assert await cairn.execute("cairn.refresh") is None


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("cairn.reindex", [{"path": 7}], "path"),
        ("cairn.reindex", [{"path": "../secrets.md"}], "path"),
        ("cairn.reindex", [{"path": str(Path(__file__))}], "path"),
        ("cairn.reindex", [{"path": "no/such.py"}], "path"),
        ("cairn.reindex", [{"file": "README.md"}], "file"),
        ("cairn.reindex", ["README.md"], "expected an object"),
        ("cairn.reindex", [{}, {}], "arguments"),
        ("cairn.pause", [{"folder": "x"}], "folder"),
        ("cairn.nonsense", [], "cairn.nonsense"),
    ],
)
async def test_a_refusal_names_the_bad_argument_of_a_command(
    harbour: Daemon, name: str, arguments: list[Any], field: str
) -> None:
    with pytest.raises(JsonRpcInvalidParams, match=field):
        await harbour.execute(name, *arguments)


async def test_params_that_are_a_list_are_refused(harbour: Daemon) -> None:
    with pytest.raises(JsonRpcInvalidParams, match="expected an object"):
        await harbour.request("cairn/search", ["moor a ship"])


# --- notifications of the editor ---------------------------------------------------------------------

RECORDING = """
import cairn.__main__
import sys, time
import cairn.engine.engine, cairn.lsp.editor_connection

class Recording(cairn.engine.engine.Engine):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        time.sleep(0.5)  # notifications come before there is an engine

    def document_opened(self, path): self.warnings.append(f"opened {path.name}")
    def document_changed(self, path, text):
        time.sleep(0.1)
        self.warnings.append(f"changed {path.name}: {text}")
    def document_closed(self, path): self.warnings.append(f"closed {path.name}")
    def changed(self, path): self.warnings.append(f"saved {path.name}")
    def configure(self, settings):
        self.warnings.append(f"configured {dict(settings)}")
        return [f"cairn.{key}: unknown setting" for key in settings if key != "index"]

cairn.lsp.editor_connection._APPLY_SECONDS = 100  # a busy machine may take long
cairn.engine.engine.Engine = Recording
sys.argv = ["cairn", "lsp"]
cairn.__main__.main()
"""
"""A daemon whose status lists, as warnings, the notifications that its engine gets."""


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.e2e.daemon.COMMAND", (sys.executable, "-c", RECORDING))


@pytest.mark.usefixtures("recording")
async def test_the_engine_gets_notifications_in_order_and_before_requests(workspace: Path) -> None:
    readme = workspace / "README.md"
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        cairn.open(readme, "a\nc", "markdown")
        cairn.open("untitled:Untitled-1", "not a file", "markdown")
        for version, text in ((2, "b"), (3, "é")):
            start = types.Position(1, 0)
            change = types.TextDocumentContentChangePartial(range=types.Range(start, start), text=text)
            identifier = types.VersionedTextDocumentIdentifier(version, readme.as_uri())
            params = types.DidChangeTextDocumentParams(identifier, [change])
            cairn.client.text_document_did_change(params)
        cairn.save(readme)
        cairn.close(readme)
        assert (await cairn.status())["warnings"] == [
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
    workspace: Path, capabilities: types.ClientCapabilities | None
) -> None:
    settings = {"index": {"watch": False}, "nonsense": 1}
    async with run_daemon(workspace, options=NO_MODEL, capabilities=capabilities) as cairn:
        cairn.client.set_configuration({"cairn": settings} if capabilities else {})
        cairn.configure({"other": {}} if capabilities else {"cairn": settings})
        await cairn.wait_for(lambda status: status["warnings"] == [f"configured {settings}"])
        await wait_until(lambda: cairn.client.log_messages)
        (logged,) = cairn.client.log_messages
        assert logged.type == types.MessageType.Warning
        assert "cairn.nonsense: unknown setting" in logged.message


@pytest.mark.usefixtures("recording")
async def test_settings_of_other_servers_change_nothing(workspace: Path) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        for settings in (None, {}, {"other": {"x": 1}}, [1], {"cairn": None}):
            cairn.configure(settings)
            assert (await cairn.status())["warnings"] == [], settings


# --- a terminal beside a daemon ----------------------------------------------------------------------


@pytest.mark.usefixtures("slow_model")
async def test_a_terminal_pauses_and_resumes_the_daemon(library: Path) -> None:
    async def shown(command: str) -> str:
        return (await run_cairn_beside(command, str(library))).stdout

    async with run_daemon(library) as cairn:
        await cairn.wait_for(lambda status: status["activity"] == "embedding")
        assert "paused" in await shown("pause")
        paused = await cairn.status()
        assert (paused["paused"], paused["queued"] > 0) == (True, True)
        assert "Indexing is paused" in await shown("status")
        assert "paused" in await shown("pause")  # a second pause changes nothing
        assert "resumed" in await shown("resume")
        await cairn.wait_for(lambda status: not status["paused"] and status["queued"] < paused["queued"])


async def test_a_reindex_from_a_terminal_waits_for_the_daemon(workspace: Path, tides: Path) -> None:
    async with run_daemon(workspace, options=UNWATCHED) as cairn:
        await cairn.ready()
        rename_unnoticed(tides)
        done = await run_cairn_beside("reindex", str(tides), "-C", str(workspace), "--json")
        assert json.loads(done.stdout)["state"] == "ready"
        # The terminal has waited, so the daemon's first answer is up to date.
        assert (await cairn.search("deep_water"))["results"][0]["path"] == "src/harbour/tides.py"
