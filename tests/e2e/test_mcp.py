"""`cairn mcp` as an agent's client drives it, over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest

pytest.importorskip("mcp")

import mcp_types as types
from hostile_traffic import ESCAPES, escaped, lay_secret
from jsonschema import Draft202012Validator
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from cairn.agents.tools import DEFAULT, INSTRUCTIONS
from cairn.engine.engine import Engine
from cairn.engine.methods import STAGES
from cairn.engine.runner import Runner
from cairn.engine.startup_wait import Missing, StartupWait
from cairn.mcp.server import build_server
from tests.harbour import HARBOUR

from .conftest import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("patient")]

QUESTION = "where are ships assigned to berths"
ERAS = ("legacy", "auto")
each_era = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def patient(bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No leg of a search is broken off on a busy machine."""
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "config.toml").write_text(f"[search]\nleg_deadline_ms = {1000 * PATIENCE_SECONDS}\n")
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(settings))


@asynccontextmanager
async def agent(
    *folders: Path | str, era: str = "auto", cwd: Path | None = None, **options: Any
) -> AsyncIterator[Client]:
    command = ["-m", "cairn", "mcp", *map(str, folders)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ), cwd=cwd)
    async with asyncio.timeout(2 * PATIENCE_SECONDS), Client(server, mode=era, **options) as client:
        yield client


DATA: Any = {"cairn/structured": True}
"""The `_meta` of a call that asks for data instead of text."""


async def called(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    """The answer as text."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    assert result.structured_content is None
    return result


async def data_of(client: Client, tool: str, **arguments: Any) -> Any:
    """The answer as data."""
    result = await client.call_tool(tool, arguments, meta=DATA)
    assert not result.is_error, text_of(result)
    assert not result.content
    return result.structured_content


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def until(client: Client, holds: Callable[[Any], bool], tool: str = "status", **arguments: Any) -> Any:
    """Call again until the answer as data satisfies `holds`; the answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        result = await client.call_tool(tool, arguments, meta=DATA)
        if not result.is_error and holds(result.structured_content):
            return result.structured_content
        assert time.monotonic() < deadline, f"{tool} did not come true: {result}"
        await asyncio.sleep(0.02)


async def ready(client: Client) -> Any:
    return await until(client, lambda status: status["state"] == "ready")


async def answers(client: Client) -> dict[str, Any]:
    """The data of every tool, each stage with what the one before it returned."""
    found = {
        "search": await data_of(client, "search", query=QUESTION, limit=3),
        "discover": await data_of(client, "discover", query=QUESTION),
        "read": await data_of(client, "read", path="README.md"),
        "status": await data_of(client, "status"),
        "references": await data_of(client, "references", symbol="moor_ship"),
        "related": await data_of(client, "related", path="src/harbour/berths.py:4-12"),
    }

    async def stage(name: str, key: str, **arguments: Any) -> Any:
        found[name] = await data_of(client, name, **arguments)
        return found[name][key]

    chosen = await stage("filter_collections", "collections", query=QUESTION)
    scored = await stage("score_collections", "collections", query=QUESTION, collections=chosen)
    queries = await stage("expand_queries", "queries", query=QUESTION)
    broad = await stage("broad_discovery", "chunks", queries=queries, collections=scored)
    focus = await stage("semantic_focus", "chunks", collection=scored[0], queries=queries)
    hits = await stage("promote_readme", "chunks", hits=[*broad, *focus], query=QUESTION)
    bullets = await stage("compress_evidence", "bullets", chunks=hits, query=QUESTION)
    plan = await stage("build_answer_plan", "plan", bullets=bullets)
    await stage("render_prompt", "prompt", plan=plan, query=QUESTION)
    return found


@each_era
async def test_every_tool_answers_with_data_that_fits_its_schema(workspace: Path, era: str) -> None:
    async with agent(workspace, "--tools", "all", "--structured", era=era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        await ready(client)
        found = await answers(client)
        assert found.keys() == tools.keys()
        for name, data in found.items():
            schema = tools[name].output_schema
            assert schema is not None
            Draft202012Validator(schema).validate(data)
            annotations = tools[name].annotations
            assert annotations is not None
            assert annotations.read_only_hint

    assert found["search"]["results"][0]["path"] == "src/harbour/schedule.py"
    assert found["read"]["text"] == HARBOUR["README.md"]
    assert found["discover"].keys().isdisjoint({"answerPrompt", "bullets", "chunks"})
    assert "berth" in found["render_prompt"]["prompt"]


@each_era
async def test_the_usual_tools_answer_with_text_alone(workspace: Path, era: str) -> None:
    async with agent(workspace, era=era) as client:
        assert client.instructions == INSTRUCTIONS
        listing = await client.list_tools()
        assert [tool.name for tool in listing.tools] == [*DEFAULT]
        assert all(tool.output_schema is None for tool in listing.tools)
        assert len(listing.model_dump_json(by_alias=True, exclude_none=True)) < 6_000
        await ready(client)
        found = text_of(await called(client, "search", query=QUESTION))
        assert found.startswith("src/harbour/schedule.py:")
        assert "def assign_berths" in found
        assert "# Harbour" in text_of(await called(client, "cairn_fetch_page", path="README.md"))
        calls = text_of(await called(client, "references", symbol="moor_ship"))
        assert "src/harbour/schedule.py:11 in assign_berths: berth.moor_ship(ship)" in calls
        assert (await called(client, "discover", query=QUESTION)).content
        assert text_of(await called(client, "status")).startswith("ready: ")
        # Tools that are not shown can be called all the same.
        queries = text_of(await called(client, "cairn_expand_queries", query=QUESTION))
        assert json.loads(queries)["queries"][0] == QUESTION


async def test_a_tool_that_there_is_not_is_named_at_the_start(workspace: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cairn", "mcp", "--tools", "serch,read", str(workspace)),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert "did you mean search?" in said.decode()


async def test_what_is_wrong_with_a_call_is_said_to_the_model(workspace: Path) -> None:
    async with agent(workspace) as client:
        await ready(client)
        for tool, arguments, said in (
            ("search", {}, "query: is required"),
            ("search", {"query": "x", "limit": 0}, "limit: expected 1 to 200, got 0"),
            ("search", {"query": "x", "limt": 3}, "Did you mean limit?"),
            ("search", {"query": "x", "limit": "many"}, "expected a whole number"),
            ("search", {"query": "x", "filter": {"type": ["novel"]}}, "expected one of prose, code"),
            ("search", {"query": "x", "workspace": "elsewhere"}, "is not open"),
            ("search", {"query": "x", "workspace": 3}, "expected a string"),
            ("references", {}, "symbol: is required"),
            ("references", {"symbol": "x", "direction": "up"}, "expected one of callers, callees"),
            ("read", {"path": "../secret"}, "is outside of the workspace"),
        ):
            result = await called(client, tool, **arguments)
            assert result.is_error
            assert said in text_of(result)
            assert "Example: {" in text_of(result) or "workspace" in arguments
        with pytest.raises(MCPError, match="did you mean search"):
            await client.call_tool("cairn_serch", {})


async def test_no_path_leads_out_of_the_workspace_over_mcp(workspace: Path) -> None:
    lay_secret(workspace)
    async with agent(workspace) as client:
        await ready(client)
        for path in (*ESCAPES, str(workspace.parent / "secret.txt"), "link.txt"):
            refused = await called(client, "read", path=path)
            assert refused.is_error, path
            assert not escaped(refused.model_dump_json().encode())


async def test_an_argument_that_is_null_counts_as_absent(workspace: Path) -> None:
    nothing = {"limit": None, "alpha": None, "filter": {"type": None}, "explain": None, "workspace": None}
    async with agent(workspace) as client:
        await ready(client)
        plainly = await called(client, "search", query=QUESTION)
        assert text_of(await called(client, "search", query=QUESTION, **nothing)) == text_of(plainly)
        refused = await client.call_tool("search", {"query": None})
        assert refused.is_error
        assert "query" in text_of(refused)


async def test_several_folders_are_asked_together_or_one_by_one(workspace: Path, tmp_path: Path) -> None:
    lighthouse = tmp_path / "lighthouse"
    lighthouse.mkdir()
    (lighthouse / "lamp.py").write_text("def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n")
    async with agent(workspace, lighthouse) as client:
        await ready(client)

        async def paths(**arguments: Any) -> set[str]:
            found = await data_of(client, "search", query="kindle_lamp or moor_ship", **arguments)
            return {each["path"] for each in found["results"]}

        assert {"lamp.py", "src/harbour/berths.py"} <= await paths()
        assert await paths(workspace="lighthouse") == {"lamp.py"}
        assert await paths(workspace=lighthouse.as_uri()) == {"lamp.py"}
        assert "lamp.py" not in await paths(workspace=str(workspace))


@each_era
async def test_without_folders_the_roots_of_the_client_are_searched(workspace: Path, era: str) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=workspace.as_uri())])  # type: ignore[arg-type]

    async with agent(era=era, list_roots_callback=roots) as client:
        status = await ready(client)
        assert {each["folder"] for each in status["collections"]} == {workspace.as_uri()}


async def test_roots_that_change_are_followed(workspace: Path, tmp_path: Path) -> None:
    lighthouse = tmp_path / "lighthouse"
    lighthouse.mkdir()
    (lighthouse / "lamp.py").write_text("def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n")
    root = [workspace]

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=each.as_uri()) for each in root])  # type: ignore[arg-type]

    async with agent(era="legacy", list_roots_callback=roots) as client:
        await ready(client)
        root[:] = [lighthouse]
        await client.session.send_notification(types.RootsListChangedNotification())
        status = await until(
            client, lambda s: [c["folder"] for c in s["collections"]] == [lighthouse.as_uri()]
        )
        assert status["files"]["total"] == 1


async def test_without_folders_or_roots_the_current_directory_is_searched(workspace: Path) -> None:
    async with agent(cwd=workspace) as client:
        status = await ready(client)
        assert {each["folder"] for each in status["collections"]} == {workspace.resolve().as_uri()}


async def test_the_home_folder_is_not_indexed_by_accident(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.setenv("USERPROFILE", str(workspace))
    for start in (workspace, workspace.parent):
        async with agent(cwd=start) as client:
            for tool in ("search", "status"):
                result = await called(client, tool, **({"query": "x"} if tool == "search" else {}))
                assert result.is_error
                assert "cairn mcp FOLDER" in text_of(result)
    async with agent(workspace) as client:
        assert (await ready(client))["files"]["indexed"] > 0


async def test_while_the_first_indexing_runs_the_status_says_how_complete_it_is(tmp_path: Path) -> None:
    root = tmp_path / "large"
    root.mkdir()
    for number in range(400):
        text = "\n\n".join(
            f"def step_{number}_{part}(cargo):\n    '''Load part {part} of cargo {number}.'''\n    return cargo + {part}\n"
            for part in range(20)
        )
        (root / f"cargo_{number}.py").write_text(text)
    async with agent(root) as client:
        said = ""
        while "Index incomplete" not in said:
            result = await called(client, "status")
            assert not result.is_error
            said = text_of(result)
        assert "your own search" in said
        assert "cairn index" not in said
        assert "read" in said or "have vectors" in said
        answer = await until(client, lambda a: a["results"], "search", query="step_1_1")
        assert answer["results"][0]["path"].startswith("cargo_")


async def test_the_first_question_about_a_folder_that_nobody_indexed_finds_its_files(workspace: Path) -> None:
    runner = Runner(Engine)

    async def given(*_: Any) -> Runner:
        return runner

    try:
        runner.engine.add_folder(workspace)
        patient = partial(StartupWait, dict.fromkeys(Missing, PATIENCE_SECONDS))
        with mock.patch("cairn.mcp.server.StartupWait", patient):
            server = build_server(given)
        async with Client(server) as client:
            found = await data_of(client, "search", query="moor_ship")
        assert found["results"]
    finally:
        runner.close()
        runner.engine.stop()


async def test_each_stage_of_discovery_is_told_to_whom_wants_to_know(workspace: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with agent(workspace) as client:
        await ready(client)
        await client.call_tool("discover", {"query": QUESTION}, progress_callback=progress)
        while len(told) < len(STAGES):  # the client hands them on in tasks of their own
            await asyncio.sleep(0.01)
    assert sorted(told)[-1][:2] == (9.0, 9.0)
    assert len({message for _, _, message in told}) == len(STAGES)


class Slow(Engine):
    """An engine whose search ends only when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.cancelled = threading.Event()
        self.fallback = self  # type: ignore[assignment]

    def searchable(self) -> bool:
        return True

    def ask(self, _method: Any, request: Any, _params: Any) -> Any:
        """What the fallback does."""
        self.began.set()
        while not request.cancelled():
            threading.Event().wait(0.01)
        self.cancelled.set()
        raise AssertionError("nobody waits for this")


async def happens(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE_SECONDS)


@each_era
async def test_a_question_that_is_cancelled_ends(era: str) -> None:
    slow = Slow()
    runner = Runner(lambda: slow)

    async def given(*_: Any) -> Runner:
        return runner

    async with Client(build_server(given), mode=era) as client:
        asked = asyncio.create_task(client.call_tool("search", {"query": "x"}))
        await happens(slow.began)
        asked.cancel()
        await happens(slow.cancelled)
        await asyncio.gather(asked, return_exceptions=True)
    runner.close()


# --- the process -----------------------------------------------------------------------------------


HELLO = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


class Wire:
    """`cairn mcp` as a process, and the lines it takes and gives."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, **message: Any) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    async def receive(self) -> Any:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_SECONDS)
        return json.loads(line)

    async def initialize(self) -> Any:
        self.send(**HELLO)
        answer = await self.receive()
        self.send(method="notifications/initialized")
        return answer

    async def end(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)


@asynccontextmanager
async def wire(*folders: Path) -> AsyncIterator[Wire]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cairn", "mcp", *map(str, folders), stdin=pipe, stdout=pipe, limit=2**24
    )
    try:
        yield Wire(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_end_of_stdin_ends_the_process_and_all_that_it_started(workspace: Path) -> None:
    async with wire(workspace) as cairn:
        await cairn.initialize()
        cairn.send(id=1, method="tools/call", params={"name": "status", "arguments": {}})
        assert (await cairn.receive())["id"] == 1
        children = psutil.Process(cairn.process.pid).children(recursive=True)
        assert cairn.process.stdin is not None
        cairn.process.stdin.close()
        assert await cairn.end() == 0
        await asyncio.to_thread(psutil.wait_procs, children, PATIENCE_SECONDS)
        assert not [child for child in children if child.is_running()]


async def test_stdin_may_end_before_anything_was_asked(workspace: Path) -> None:
    async with wire(workspace) as cairn:
        assert cairn.process.stdin is not None
        cairn.process.stdin.close()
        assert await cairn.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals end a process there without asking it")
async def test_a_signal_ends_the_process_though_stdin_stays_open(workspace: Path) -> None:
    async with wire(workspace) as cairn:
        await cairn.initialize()
        cairn.process.send_signal(signal.SIGTERM)
        assert await cairn.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are handed on otherwise there")
async def test_the_process_ends_with_its_client_though_somebody_holds_the_pipe(workspace: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "process = subprocess.Popen([sys.executable, '-m', 'cairn', 'mcp', sys.argv[1]])\n"
        "print(process.pid, file=sys.stderr, flush=True)\n"
        "process.wait()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script, str(workspace)], stdin=pipe, stdout=pipe, stderr=pipe
    ) as client:
        assert client.stdin
        assert client.stdout
        assert client.stderr
        cairn = psutil.Process(int(client.stderr.readline()))
        client.stdin.write(json.dumps({"jsonrpc": "2.0", **HELLO}).encode() + b"\n")
        client.stdin.flush()
        assert json.loads(client.stdout.readline())["id"] == 0
        client.kill()
        client.wait()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while cairn.is_running() and cairn.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.05)


async def test_a_folder_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cairn", "mcp", str(tmp_path / "nowhere"), stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode().count("\n") == 1
    assert "is not a directory" in said.decode()


async def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    script = (
        "import sys\nsys.modules['mcp'] = None\nsys.modules['starlette'] = None\n"
        "from cairn.__main__ import main\nsys.argv = ['cairn', 'mcp']\nmain()\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stderr=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode().count("\n") == 1
    assert 'pip install "cairn-ls[serve]"' in said.decode()
