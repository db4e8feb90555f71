"""The daemon as an editor drives it: start, index, search, changes, cancel, bad input, end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from cairn.text.verbatim import stands_in

from .conftest import COMMAND, PATIENCE_SECONDS, Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_session_finds_the_definition_and_leaves_the_workspace_as_it_was(
    daemon: Start, workspace: Path
) -> None:
    before = contents(workspace)
    async with daemon(workspace) as cairn:
        status = await cairn.ready()
        assert status["files"]["indexed"] == status["files"]["total"] == len(before)
        assert status["embedded"] == status["chunks"] > 0
        assert status["phase"] == 3
        answer = await cairn.search("where are ships assigned to berths")
        first = answer["results"][0]
        assert first["path"] == "src/harbour/schedule.py"
        assert first["source"] == "hybrid"
        assert {"ships", "berths"} <= set(first["matchedTerms"])
        lines = (workspace / first["path"]).read_text().splitlines(keepends=True)
        shown = lines[first["range"]["start"]["line"] : first["range"]["end"]["line"]]
        assert first["snippet"] == "".join(shown)
        assert answer["index"]["complete"] is True
        assert first["uri"] == (workspace / first["path"]).as_uri()
    assert cairn.process.returncode == 0
    assert contents(workspace) == before


async def test_results_carry_their_neighbours_and_their_reasons(daemon: Start, workspace: Path) -> None:
    long = "\n\n".join(
        f"def step_{n}(cargo):\n    '''Load part {n} of the cargo.'''\n" + "    x = 1\n" * 100
        for n in range(5)
    )
    (workspace / "src" / "harbour" / "loading.py").write_text(long)
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await cairn.search("step_2", explain=True, context=1)
        first = answer["results"][0]
        assert first["symbol"] == "step_2"
        assert first["source"] == "exact"
        assert "step_1" in first["context"]["before"]
        assert "step_3" in first["context"]["after"]
        assert any(reason.startswith("defines the symbol") for reason in first["matchExplain"])
        assert 1 <= len(first["reasons"]) <= 3
        named = long.split("\n").index("def step_2(cargo):")
        assert first["selectionRange"]["start"] == {"line": named, "character": 0}
        assert first["symbolKind"] == "function"
        assert first["matchExplain"][0].startswith(first["reasons"][0])


async def test_a_small_definition_is_found_by_its_name_though_its_chunk_is_called_otherwise(
    daemon: Start, workspace: Path
) -> None:
    lines = ["def first_watch():", "    return 1", "", "", "def dog_watch():", "    return 2", ""]
    (workspace / "src" / "harbour" / "watches.py").write_text("\n".join(lines))
    async with daemon(workspace) as cairn:
        for name in ("first_watch", "dog_watch"):
            first = (await cairn.found(name, "src/harbour/watches.py"))["results"][0]
            assert (first["symbol"], first["title"], first["symbolKind"]) == (name, name, "function")
            assert first["selectionRange"]["start"]["line"] == lines.index(f"def {name}():")


async def test_edits_saves_renames_and_deletions_are_found(daemon: Start, workspace: Path) -> None:
    source = workspace / "src" / "harbour"
    async with daemon(workspace, options={"index": {"watch": False}}) as cairn:
        await cairn.ready()
        (source / "crew.py").write_text("def embark_pilot(vessel):\n    return vessel\n")
        cairn.saved(source / "crew.py")
        await cairn.found("embark_pilot", "src/harbour/crew.py")
        (source / "crew.py").write_text("def disembark_navigator(vessel):\n    return vessel\n")
        cairn.saved(source / "crew.py")
        await cairn.found("disembark_navigator", "src/harbour/crew.py")
        await cairn.found("embark_pilot", None)
        (source / "crew.py").unlink()
        cairn.saved(source / "crew.py")
        await cairn.found("disembark_navigator", None)


async def test_changes_that_nobody_announces_are_noticed(daemon: Start, workspace: Path) -> None:
    source = workspace / "src" / "harbour"
    async with daemon(workspace) as cairn:
        await cairn.ready()
        (source / "tugs.py").write_text("def dispatch_tugboat(ship):\n    return ship\n")
        await cairn.found("dispatch_tugboat", "src/harbour/tugs.py")
        source.rename(workspace / "src" / "port")
        await cairn.found("dispatch_tugboat", "src/port/tugs.py")
        shutil.rmtree(workspace / "src" / "port")
        await cairn.found("dispatch_tugboat", None)
        (workspace / ".gitignore").write_text("tests/\n")
        await cairn.until(
            lambda answer: all(r["path"] != "tests/test_berths.py" for r in answer["results"]),
            "cairn/search",
            {"query": "test a taken berth"},
        )


async def test_keyword_answers_come_before_the_vectors_and_say_so(daemon: Start, workspace: Path) -> None:
    for part in range(300):
        words = " ".join(f"word{part * 40 + n}" for n in range(40))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    async with daemon(workspace) as cairn:
        early = await cairn.found("high_water", "src/harbour/tides.py")
        assert early["index"]["complete"] is False
        status = await cairn.request("cairn/status")
        assert status["state"] == "indexing"
        assert status["searchable"] is True
        assert status["queued"] > 0


async def test_initialize_does_not_wait_for_the_workspace(daemon: Start, tmp_path: Path) -> None:
    root = tmp_path / "many"
    for folder in range(100):
        (root / str(folder)).mkdir(parents=True)
        for file in range(20):
            (root / str(folder) / f"{file}.py").write_text(f"def f{folder}_{file}(): pass\n")
    async with daemon(root) as cairn:
        status = await cairn.request("cairn/status")  # the first answer after `initialize`
        assert status["state"] in ("starting", "indexing")
        assert status["files"]["indexed"] < 2000
        await cairn.found("f99_19", "99/19.py")


async def test_a_cancelled_request_ends_and_the_daemon_goes_on(daemon: Start, workspace: Path) -> None:
    for part in range(150):
        words = " ".join(f"ship berth tide pilot word{part}x{n}." for n in range(60))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    async with daemon(workspace, options={"embedding": {"enabled": False}}) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        question = {"query": "which ship has which berth and pilot at what tide"}
        sending = cairn.client.protocol.send_request_async("cairn/discover", question, msg_id="slow")
        request = asyncio.ensure_future(sending)
        await asyncio.sleep(0)  # until it is sent
        cairn.client.cancel_request(types.CancelParams(id="slow"))
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(request, PATIENCE_SECONDS)
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("cairn/search", {}, "query"),
        ("cairn/search", {"query": 7}, "query"),
        ("cairn/search", {"query": "x", "limit": "ten"}, "limit"),
        ("cairn/search", {"query": "x", "filter": {"type": "novel"}}, "filter.type"),
        ("cairn/search", {"query": "x", "no-such": 1}, "no-such"),
        ("cairn/search", ["x"], "expected an object"),
        ("cairn/discover", {"query": "x", "config": {"broadK": "many"}}, "config.broadK"),
        ("cairn/discover", {"query": "x", "config": {"brodK": 3}}, "config.brodK"),
        ("cairn/discover", {"query": "x", "maxBullets": -1}, "maxBullets"),
        ("cairn/fetchPage", {"path": "no/such.py"}, "path"),
        ("cairn/reindex", {"path": "../secrets.md"}, "path"),
        ("cairn/reindex", {"path": "/etc/hosts"}, "path"),
        ("cairn/status", {"verbose": True}, "verbose"),
    ],
)  # fmt: skip
async def test_bad_params_are_refused_by_name(
    daemon: Start, workspace: Path, method: str, params: Any, field: str
) -> None:
    async with daemon(workspace) as cairn:
        with pytest.raises(JsonRpcInvalidParams, match=field.replace(".", r"\.")):
            await cairn.request(method, params)


async def test_standard_requests_with_unreadable_params_are_answered_too(workspace: Path) -> None:
    error = (await answer_to("workspace/executeCommand", {"command": {"not": "a string"}}))["error"]
    assert error["code"] == JsonRpcInvalidParams.CODE


async def test_requests_before_initialization_are_refused() -> None:
    error = (await answer_to("cairn/search", {"query": "berth"}))["error"]
    assert "initialized" in error["message"]


async def answer_to(method: str, params: Any) -> Any:
    """What a daemon that was never initialized answers, read off the wire; it then ends with its pipe."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    header = await asyncio.wait_for(process.stdout.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
    answer = json.loads(await process.stdout.readexactly(int(header.split(b"\r\n")[0].split(b":")[1])))
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1
    return answer


@pytest.mark.parametrize("query", ["", "   ", "?!*", '"', "the thing", "\0", "\ud800"])
async def test_questions_without_content_get_an_empty_answer(
    daemon: Start, workspace: Path, query: str
) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await cairn.search(query)
        assert answer["results"] == []
        assert answer["verdict"]["action"] == "noMatch"
        if not query.strip():
            with pytest.raises(JsonRpcInvalidParams, match="query: is empty"):
                await cairn.request("cairn/discover", {"query": query})
        else:
            assert (await cairn.request("cairn/discover", {"query": query}))["bullets"] == []


@pytest.mark.parametrize(
    "query", ['" OR NEAR(', "text: NOT", "{symbol_words} : x*", "ships AND (", "-- ; DROP TABLE chunks"]
)
async def test_query_syntax_is_just_text(daemon: Start, workspace: Path, query: str) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.search(query)
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_a_pasted_page_is_answered_from_its_beginning(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await cairn.search("where are ships assigned to berths " + "filler " * 15_000)
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert "only the first" in answer["query"]["corrections"][0]


async def test_filters_are_strict(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        for wanted, field in ((["code"], "type"), (["prose"], "type"), (["markdown"], "language")):
            answer = await cairn.search("berth ship", filter={field: wanted}, limit=50)
            assert answer["results"]
            assert {result[field] for result in answer["results"]} == set(wanted)
        answer = await cairn.search("berth", filter={"path": ["src/**"]}, limit=50)
        assert answer["results"]
        assert all(result["path"].startswith("src/") for result in answer["results"])
        answer = await cairn.search("berth", filter={"collection": ["harbour-tests"]}, limit=50)
        assert {result["path"] for result in answer["results"]} == {"tests/test_berths.py"}


async def test_discover_cites_lines_that_hold_the_evidence(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await cairn.request("cairn/discover", {"query": "how are ships assigned to berths"})
        assert answer["chunks"][0]["path"] == "src/harbour/schedule.py"
        assert answer["bullets"]
        for bullet in answer["bullets"]:
            lines = (workspace / bullet["path"]).read_text().splitlines()
            start, end = bullet["range"]["start"]["line"], bullet["range"]["end"]["line"]
            assert bullet["citation"] == f"{bullet['path']}#L{start + 1}-L{end}"
            assert stands_in(bullet["text"], lines[start:end])
        assert answer["excerpts"]
        for excerpt in answer["excerpts"]:
            lines = (workspace / excerpt["path"]).read_text().splitlines()
            start, end = excerpt["range"]["start"]["line"], excerpt["range"]["end"]["line"]
            assert excerpt["citation"] == f"{excerpt['path']}#L{start + 1}-L{end}"
            assert excerpt["text"] == "\n".join(lines[start:end])
            assert f"{excerpt['citation']}" in answer["answerPrompt"]
            assert excerpt["text"] in answer["answerPrompt"]
        assert set(answer["metrics"]["stages"]) == {
            "filter_collections", "score_collections", "expand_queries_baseline", "broad_discovery",
            "semantic_focus", "promote_readme", "compress_evidence", "build_answer_plan", "render_llm_prompt",
        }  # fmt: skip


async def test_an_empty_workspace_is_ready_and_answers_nothing(daemon: Start, tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    async with daemon(root) as cairn:
        status = await cairn.ready()
        assert status["files"] == {"total": 0, "indexed": 0}
        assert (await cairn.search("anything"))["results"] == []


async def test_without_folders_the_state_says_so(daemon: Start) -> None:
    async with daemon() as cairn:
        assert (await cairn.request("cairn/status"))["state"] == "disabled"
        assert (await cairn.search("anything"))["results"] == []


async def test_several_folders_are_searched_together_and_can_leave(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "lighthouse"
    other.mkdir()
    (other / "lamp.py").write_text("def rotate_lamp(degrees):\n    return degrees\n")
    async with daemon(workspace, other) as cairn:
        await cairn.ready()
        first = (await cairn.search("rotate_lamp"))["results"][0]
        assert (first["path"], first["folder"]) == ("lamp.py", other.as_uri())
        event = types.WorkspaceFoldersChangeEvent(
            added=[], removed=[types.WorkspaceFolder(other.as_uri(), "x")]
        )
        cairn.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await cairn.found("rotate_lamp", None)


async def test_hostile_files_do_not_stop_the_rest(daemon: Start, workspace: Path) -> None:
    (workspace / "latin.py").write_bytes(b"# caf\xe9\ndef brew_coffee():\n    pass\n")
    (workspace / "blob").write_bytes(b"\0\1\2" * 1000)
    (workspace / "one_line.js").write_text("var a=1;" * 50_000)
    (workspace / "loop").symlink_to(workspace, target_is_directory=True)
    (workspace / "dangling").symlink_to(workspace / "nowhere")
    os.mkfifo(workspace / "pipe")
    (Path(os.fsdecode(os.fsencode(workspace) + b"/bad\xff.py"))).write_text("def unspeakable():\n    pass\n")
    (workspace / "odd \n name.py").write_text("def oddly_named():\n    pass\n")
    async with daemon(workspace) as cairn:
        await cairn.ready()
        assert (await cairn.search("brew_coffee"))["results"][0]["path"] == "latin.py"
        assert (await cairn.search("oddly_named"))["results"][0]["path"] == "odd \n name.py"
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_a_folder_opened_through_a_link_keeps_the_name_the_editor_gave_it(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace, target_is_directory=True)
    async with daemon(link, options={"index": {"watch": False}}) as cairn:
        await cairn.ready()
        (workspace / "crew.py").write_text("def embark_pilot(vessel):\n    return vessel\n")
        cairn.saved(link / "crew.py")
        answer = await cairn.found("embark_pilot", "crew.py")
        assert answer["results"][0]["uri"] == (link / "crew.py").as_uri()
        assert answer["results"][0]["folder"] == link.as_uri()


async def test_a_changed_workspace_file_takes_effect(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        (workspace / ".cairn.toml").write_text('[index]\nexclude = ["src/"]\nexlude = []\n')
        await cairn.found("moor_ship", "tests/test_berths.py")
        status = await cairn.request("cairn/status")
        assert status["warnings"] == [".cairn.toml:3: index.exlude: unknown setting; did you mean exclude?"]


async def test_collections_are_named_in_the_workspace_file(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        (workspace / ".cairn.toml").write_text('[index.collections]\nmoorings = ["src/**/berths.py"]\n')
        named = await cairn.until(
            lambda found: "moorings" in {each["name"] for each in found}, "cairn/collections"
        )
        [own] = [each for each in named if each["name"] == "moorings"]
        assert (own["files"], own["kind"]) == (1, "source")
        answer = await cairn.search("moor", filter={"collection": ["moorings"]})
        assert {result["path"] for result in answer["results"]} == {"src/harbour/berths.py"}
        (workspace / ".cairn.toml").unlink()
        await cairn.until(
            lambda found: "moorings" not in {each["name"] for each in found}, "cairn/collections"
        )


async def test_a_killed_daemon_loses_nothing(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as first:
        ready = await first.ready()
        first.process.send_signal(signal.SIGKILL)
        await first.process.wait()
    async with daemon(workspace) as second:
        status = await second.ready()
        assert (status["chunks"], status["embedded"]) == (ready["chunks"], ready["embedded"])
        assert (await second.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_two_daemons_share_one_index_and_the_second_takes_over(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as reader:
        async with daemon(workspace) as other:
            await reader.ready()
            await other.ready()
            (workspace / "src" / "harbour" / "pilots.py").write_text("def embark_pilot():\n    pass\n")
            await reader.found("embark_pilot", "src/harbour/pilots.py")
            await other.found("embark_pilot", "src/harbour/pilots.py")
        (workspace / "src" / "harbour" / "tugs.py").write_text("def dispatch_tugboat():\n    pass\n")
        await reader.found("dispatch_tugboat", "src/harbour/tugs.py")


async def test_the_death_of_the_editor_ends_the_daemon_even_if_the_pipe_stays_open(workspace: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    assert process.stdin is not None
    folders = [{"uri": workspace.as_uri(), "name": "harbour"}]
    params = {"processId": editor.pid, "rootUri": None, "capabilities": {}, "workspaceFolders": folders}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
    ):
        body = json.dumps(message).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    editor.kill()
    await editor.wait()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1


async def test_leaving_at_once_is_clean(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        pass
    assert cairn.process.returncode == 0


async def test_the_end_of_the_pipe_ends_the_daemon(workspace: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=workspace
    )
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1
