"""`cairn mcp` as an agent's client drives it, over stdio."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytest.importorskip("mcp")

import mcp_types as types

from cairn.agents.tools import DEFAULT, INSTRUCTIONS, TOOLS
from cairn.engine.methods import STAGES
from tests.harbour import HARBOUR
from tests.serving import PATIENCE_SECONDS

from .command_line import run_cairn
from .daemon import wait_until
from .mcp_agent import (
    HELLO,
    QUESTION,
    call,
    call_for_text,
    each_era,
    ready,
    roots_of,
    run_agent,
    run_wire,
    text_of,
    wait_for,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("patient")]


async def test_structured_tools_are_listed_with_schemas_and_answer_with_data(workspace: Path) -> None:
    async with run_agent(workspace, "--tools", "all", "--structured") as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [*TOOLS]
        assert all(tool.output_schema and tool.annotations.read_only_hint for tool in listed)
        await ready(client)
        result = await client.call_tool("read", {"path": "README.md"})
        assert not result.content
        assert result.structured_content["text"] == HARBOUR["README.md"]


async def test_a_connection_is_not_shown_lines_twice(workspace: Path) -> None:
    async with run_agent(workspace) as client:
        await ready(client)
        place = "src/harbour/berths.py:4-15"
        assert "4:class Berth:" in await call_for_text(client, "read", path=place)
        assert "4-15 shown above (again=true" in await call_for_text(client, "read", path=place)
        async with run_agent(workspace) as other:
            assert "4:class Berth:" in await call_for_text(other, "read", path=place)


@each_era
async def test_the_default_tools_answer_with_text_alone(workspace: Path, era: str) -> None:
    async with run_agent(workspace, era=era) as client:
        assert client.instructions == INSTRUCTIONS
        listing = await client.list_tools()
        assert [tool.name for tool in listing.tools] == [*DEFAULT]
        assert all(tool.output_schema is None for tool in listing.tools)
        assert len(listing.model_dump_json(by_alias=True, exclude_none=True)) < 6_000
        await ready(client)
        found = await call_for_text(client, "search", query=QUESTION)
        assert found.startswith("src/harbour/schedule.py:")
        assert "def assign_berths" in found
        assert "# Harbour" in await call_for_text(client, "read", path="README.md", again=True)
        calls = await call_for_text(client, "references", symbol="moor_ship")
        assert "src/harbour/schedule.py:11 in assign_berths: berth.moor_ship(ship)" in calls
        assert await call_for_text(client, "discover", query=QUESTION)
        assert (await call_for_text(client, "status")).startswith("ready: ")
        # A tool can be called although it is not listed.
        queries = await call_for_text(client, "expand_queries", query=QUESTION)
        assert json.loads(queries)["queries"][0] == QUESTION


async def test_the_process_refuses_an_unknown_tool_at_its_start(workspace: Path) -> None:
    done = run_cairn("mcp", "--tools", "serch,read", str(workspace), code=1)
    assert "did you mean search?" in done.stderr


@pytest.fixture
def lighthouse(tmp_path: Path) -> Path:
    """Another folder, with one file."""
    folder = tmp_path / "lighthouse"
    folder.mkdir()
    (folder / "lamp.py").write_text("def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n")
    return folder


@each_era
async def test_a_search_without_folders_covers_the_roots_of_the_client(workspace: Path, era: str) -> None:
    async with run_agent(era=era, list_roots_callback=roots_of([workspace])) as client:
        status = await ready(client)
        assert {each["folder"] for each in status["collections"]} == {workspace.as_uri()}


async def test_changed_roots_are_followed(workspace: Path, lighthouse: Path) -> None:
    roots = [workspace]
    async with run_agent(era="legacy", list_roots_callback=roots_of(roots)) as client:
        await ready(client)
        roots[:] = [lighthouse]
        await client.session.send_notification(types.RootsListChangedNotification())
        status = await wait_for(
            client, lambda s: [c["folder"] for c in s["collections"]] == [lighthouse.as_uri()]
        )
        assert status["files"]["total"] == 1


async def test_a_search_without_folders_or_roots_covers_the_current_directory(workspace: Path) -> None:
    async with run_agent(cwd=workspace) as client:
        status = await ready(client)
        assert {each["folder"] for each in status["collections"]} == {workspace.resolve().as_uri()}


async def test_the_home_folder_is_indexed_only_if_it_is_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.setenv("USERPROFILE", str(workspace))
    for start in (workspace, workspace.parent):
        async with run_agent(cwd=start) as client:
            for tool, arguments in (("search", {"query": "x"}), ("status", {})):
                result = await call(client, tool, **arguments)
                assert result.is_error
                assert "cairn mcp FOLDER" in text_of(result)
    async with run_agent(workspace) as client:
        assert (await ready(client))["files"]["indexed"] > 0


async def test_the_status_says_how_complete_the_first_index_is(tmp_path: Path) -> None:
    root = tmp_path / "large"
    root.mkdir()
    step = "def step_{0}_{1}(cargo):\n    '''Load part {1} of cargo {0}.'''\n    return cargo + {1}\n"
    for number in range(400):
        text = "\n\n".join(step.format(number, part) for part in range(20))
        (root / f"cargo_{number}.py").write_text(text)
    async with run_agent(root) as client:
        status = ""
        while "Index incomplete" not in status:
            status = await call_for_text(client, "status")
        assert "your own search" in status
        assert "cairn index" not in status
        assert "read" in status or "have vectors" in status
        answer = await wait_for(client, lambda a: a["results"], "search", query="step_1_1")
        assert answer["results"][0]["path"].startswith("cargo_")


async def test_each_stage_of_discovery_is_reported_as_progress(workspace: Path) -> None:
    reports: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        reports.append((done, total, message))

    async with run_agent(workspace) as client:
        await ready(client)
        await client.call_tool("discover", {"query": QUESTION}, progress_callback=progress)
        await wait_until(lambda: len(reports) == len(STAGES))  # the client delivers each in its own task
    assert sorted(reports)[-1][:2] == (9.0, 9.0)
    assert len({message for _, _, message in reports}) == len(STAGES)


# --- the process -------------------------------------------------------------------------------------


async def test_the_end_of_stdin_ends_the_process_and_its_children(workspace: Path) -> None:
    async with run_wire(workspace) as cairn:
        await cairn.initialize()
        cairn.send(id=1, method="tools/call", params={"name": "status", "arguments": {}})
        assert (await cairn.receive())["id"] == 1
        children = psutil.Process(cairn.process.pid).children(recursive=True)
        cairn.stdin.close()
        assert await cairn.end() == 0
        await asyncio.to_thread(psutil.wait_procs, children, PATIENCE_SECONDS)
        assert not [child for child in children if child.is_running()]


async def test_stdin_may_end_before_the_first_message(workspace: Path) -> None:
    async with run_wire(workspace) as cairn:
        cairn.stdin.close()
        assert await cairn.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals end a process there without asking it")
async def test_a_signal_ends_the_process_though_stdin_stays_open(workspace: Path) -> None:
    async with run_wire(workspace) as cairn:
        await cairn.initialize()
        cairn.process.send_signal(signal.SIGTERM)
        assert await cairn.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are inherited in another way there")
async def test_the_process_ends_with_its_client_though_the_pipe_stays_open(workspace: Path) -> None:
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
        client.stdin.write(json.dumps(HELLO).encode() + b"\n")
        client.stdin.flush()
        assert json.loads(client.stdout.readline())["id"] == 0
        client.kill()
        client.wait()
        await wait_until(lambda: not cairn.is_running() or cairn.status() == psutil.STATUS_ZOMBIE)


async def test_a_missing_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    error = run_cairn("mcp", str(tmp_path / "nowhere"), code=1).stderr
    assert error.count("\n") == 1
    assert "is not a directory" in error


async def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    script = (
        "import sys\nsys.modules['mcp'] = None\nsys.modules['starlette'] = None\n"
        "from cairn.__main__ import main\nsys.argv = ['cairn', 'mcp']\nmain()\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert 'pip install "cairn-ls[serve]"' in done.stderr
