"""The daemon as an editor drives it: start, index, search, changes, bad input, end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.text.verbatim import stands_in
from tests.serving import PATIENCE_SECONDS

from .daemon import COMMAND, UNWATCHED, Daemon, run_daemon
from .written_files import write_wordy_notes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_session_finds_a_definition_and_leaves_the_workspace_alone(workspace: Path) -> None:
    before = contents(workspace)
    async with run_daemon(workspace) as cairn:
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


async def test_a_result_carries_its_neighbours_and_reasons(workspace: Path) -> None:
    long = "\n\n".join(
        f"def step_{n}(cargo):\n    '''Load part {n} of the cargo.'''\n" + "    x = 1\n" * 100
        for n in range(5)
    )
    (workspace / "src/harbour/loading.py").write_text(long)
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        first = (await cairn.search("step_2", explain=True, context=1))["results"][0]
        assert (first["symbol"], first["symbolKind"], first["source"]) == ("step_2", "function", "exact")
        assert "step_1" in first["context"]["before"]
        assert "step_3" in first["context"]["after"]
        assert any(reason.startswith("defines the symbol") for reason in first["matchExplain"])
        assert 1 <= len(first["reasons"]) <= 3
        line = long.split("\n").index("def step_2(cargo):")
        assert first["selectionRange"]["start"] == {"line": line, "character": 0}
        assert first["matchExplain"][0].startswith(first["reasons"][0])


async def test_search_finds_each_small_definition_of_a_chunk(workspace: Path) -> None:
    lines = ["def first_watch():", "    return 1", "", "", "def dog_watch():", "    return 2", ""]
    (workspace / "src/harbour/watches.py").write_text("\n".join(lines))
    async with run_daemon(workspace) as cairn:
        for name in ("first_watch", "dog_watch"):
            first = (await cairn.found(name, "src/harbour/watches.py"))["results"][0]
            assert (first["symbol"], first["title"], first["symbolKind"]) == (name, name, "function")
            assert first["selectionRange"]["start"]["line"] == lines.index(f"def {name}():")


async def test_search_follows_saves_and_deletions(workspace: Path) -> None:
    crew = workspace / "src/harbour/crew.py"
    async with run_daemon(workspace, options=UNWATCHED) as cairn:
        await cairn.ready()
        cairn.save(crew, "def embark_pilot(vessel):\n    return vessel\n")
        await cairn.found("embark_pilot", "src/harbour/crew.py")
        cairn.save(crew, "def disembark_navigator(vessel):\n    return vessel\n")
        await cairn.found("disembark_navigator", "src/harbour/crew.py")
        await cairn.found("embark_pilot", None)
        crew.unlink()
        cairn.save(crew)
        await cairn.found("disembark_navigator", None)


async def test_keywords_answer_before_the_vectors_are_made(workspace: Path) -> None:
    write_wordy_notes(workspace, 300)
    async with run_daemon(workspace) as cairn:
        early = await cairn.found("high_water", "src/harbour/tides.py")
        assert early["index"]["complete"] is False
        status = await cairn.status()
        assert (status["state"], status["searchable"], status["queued"] > 0) == ("indexing", True, True)


async def test_initialize_does_not_wait_for_the_index(tmp_path: Path) -> None:
    root = tmp_path / "many"
    for folder in range(100):
        (root / str(folder)).mkdir(parents=True)
        for file in range(20):
            (root / str(folder) / f"{file}.py").write_text(f"def f{folder}_{file}(): pass\n")
    async with run_daemon(root) as cairn:
        status = await cairn.status()  # the first answer after `initialize`
        assert status["state"] in ("starting", "indexing")
        assert status["files"]["indexed"] < 2000
        await cairn.found("f99_19", "99/19.py")


async def test_a_refusal_answers_unreadable_params_of_a_standard_request() -> None:
    error = (await answer_to("workspace/executeCommand", {"command": {"not": "a string"}}))["error"]
    assert error["code"] == JsonRpcInvalidParams.CODE


async def test_the_daemon_refuses_requests_before_initialization() -> None:
    error = (await answer_to("cairn/search", {"query": "berth"}))["error"]
    assert "initialized" in error["message"]


async def answer_to(method: str, params: Any) -> Any:
    """Return the answer of a daemon that was never initialized, and assert that it ends with its pipe."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(message_of(id=1, method=method, params=params))
    header = await asyncio.wait_for(process.stdout.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
    answer = json.loads(await process.stdout.readexactly(int(header.split(b"\r\n")[0].split(b":")[1])))
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1
    return answer


def message_of(**fields: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("query", ["", "   ", "?!*", '"', "the thing", "\0", "\ud800"])
async def test_a_question_without_content_gets_an_empty_answer(harbour: Daemon, query: str) -> None:
    answer = await harbour.search(query)
    assert (answer["results"], answer["verdict"]["action"]) == ([], "noMatch")
    if query.strip():
        assert (await harbour.discover(query))["bullets"] == []
    else:
        with pytest.raises(JsonRpcInvalidParams, match="query: is empty"):
            await harbour.discover(query)


@pytest.mark.parametrize(
    "query", ['" OR NEAR(', "text: NOT", "{symbol_words} : x*", "ships AND (", "-- ; DROP TABLE chunks"]
)
async def test_search_reads_query_syntax_as_text(harbour: Daemon, query: str) -> None:
    await harbour.search(query)
    assert (await harbour.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_search_uses_the_beginning_of_a_long_query(harbour: Daemon) -> None:
    answer = await harbour.search("where are ships assigned to berths " + "filler " * 15_000)
    assert answer["results"][0]["path"] == "src/harbour/schedule.py"
    assert "only the first" in answer["query"]["corrections"][0]


async def test_filters_are_strict(harbour: Daemon) -> None:
    for wanted, field in ((["code"], "type"), (["prose"], "type"), (["markdown"], "language")):
        answer = await harbour.search("berth ship", filter={field: wanted}, limit=50)
        assert answer["results"]
        assert {result[field] for result in answer["results"]} == set(wanted)
    answer = await harbour.search("berth", filter={"path": ["src/**"]}, limit=50)
    assert answer["results"]
    assert all(result["path"].startswith("src/") for result in answer["results"])
    answer = await harbour.search("berth", filter={"collection": ["harbour-tests"]}, limit=50)
    assert {result["path"] for result in answer["results"]} == {"tests/test_berths.py"}


async def test_discover_cites_the_lines_of_its_evidence(harbour: Daemon) -> None:
    answer = await harbour.discover("how are ships assigned to berths")
    assert answer["chunks"][0]["path"] == "src/harbour/schedule.py"
    assert answer["bullets"]
    assert answer["excerpts"]
    for evidence in (*answer["bullets"], *answer["excerpts"]):
        lines = (harbour.root / evidence["path"]).read_text().splitlines()
        start, end = evidence["range"]["start"]["line"], evidence["range"]["end"]["line"]
        assert evidence["citation"] == f"{evidence['path']}#L{start + 1}-L{end}"
        if evidence in answer["bullets"]:
            assert stands_in(evidence["text"], lines[start:end])
        else:
            assert evidence["text"] == "\n".join(lines[start:end])
            assert f"### {evidence['path']}\n" in answer["answerPrompt"]
            assert all(line.strip() in answer["answerPrompt"] for line in lines[start:end])
    assert set(answer["metrics"]["stages"]) == {
        "filter_collections", "score_collections", "expand_queries_baseline", "broad_discovery",
        "semantic_focus", "promote_readme", "compress_evidence", "build_answer_plan", "render_llm_prompt",
    }  # fmt: skip


async def test_an_empty_workspace_is_ready_and_answers_nothing(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    async with run_daemon(root) as cairn:
        assert (await cairn.ready())["files"] == {"total": 0, "indexed": 0}
        assert (await cairn.search("anything"))["results"] == []


async def test_a_daemon_without_folders_is_disabled() -> None:
    async with run_daemon() as cairn:
        assert (await cairn.status())["state"] == "disabled"
        assert (await cairn.search("anything"))["results"] == []


async def test_search_covers_all_folders_and_one_can_leave(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "lighthouse"
    other.mkdir()
    (other / "lamp.py").write_text("def rotate_lamp(degrees):\n    return degrees\n")
    async with run_daemon(workspace, other) as cairn:
        await cairn.ready()
        first = (await cairn.search("rotate_lamp"))["results"][0]
        assert (first["path"], first["folder"]) == ("lamp.py", other.as_uri())
        event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(other.as_uri(), "x")])
        cairn.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await cairn.found("rotate_lamp", None)


async def test_hostile_files_do_not_stop_indexing(workspace: Path) -> None:
    (workspace / "latin.py").write_bytes(b"# caf\xe9\ndef brew_coffee():\n    pass\n")
    (workspace / "blob").write_bytes(b"\0\1\2" * 1000)
    (workspace / "one_line.js").write_text("var a=1;" * 50_000)
    (workspace / "loop").symlink_to(workspace, target_is_directory=True)
    (workspace / "dangling").symlink_to(workspace / "nowhere")
    os.mkfifo(workspace / "pipe")
    (Path(os.fsdecode(os.fsencode(workspace) + b"/bad\xff.py"))).write_text("def unspeakable():\n    pass\n")
    (workspace / "odd \n name.py").write_text("def oddly_named():\n    pass\n")
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        assert (await cairn.search("brew_coffee"))["results"][0]["path"] == "latin.py"
        assert (await cairn.search("oddly_named"))["results"][0]["path"] == "odd \n name.py"
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_a_linked_folder_keeps_the_name_that_the_editor_uses(workspace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace, target_is_directory=True)
    async with run_daemon(link, options=UNWATCHED) as cairn:
        await cairn.ready()
        cairn.save(link / "crew.py", "def embark_pilot(vessel):\n    return vessel\n")
        first = (await cairn.found("embark_pilot", "crew.py"))["results"][0]
        assert (first["uri"], first["folder"]) == ((link / "crew.py").as_uri(), link.as_uri())


async def test_a_changed_workspace_file_takes_effect(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        (workspace / ".cairn.toml").write_text('[index]\nexclude = ["src/"]\nexlude = []\n')
        await cairn.found("moor_ship", "tests/test_berths.py")
        warning = ".cairn.toml:3: index.exlude: unknown setting; did you mean exclude?"
        assert (await cairn.status())["warnings"] == [warning]


async def test_the_workspace_file_names_collections(workspace: Path) -> None:
    def is_named(collections: Any) -> bool:
        return "moorings" in {each["name"] for each in collections}

    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        (workspace / ".cairn.toml").write_text('[index.collections]\nmoorings = ["src/**/berths.py"]\n')
        collections = await cairn.wait_for(is_named, "cairn/collections")
        [own] = [each for each in collections if each["name"] == "moorings"]
        assert (own["files"], own["kind"]) == (1, "source")
        answer = await cairn.search("moor", filter={"collection": ["moorings"]})
        assert {result["path"] for result in answer["results"]} == {"src/harbour/berths.py"}
        (workspace / ".cairn.toml").unlink()
        await cairn.wait_for(lambda collections: not is_named(collections), "cairn/collections")


async def test_a_killed_daemon_loses_nothing(workspace: Path) -> None:
    async with run_daemon(workspace) as first:
        ready = await first.ready()
        await first.kill()
    async with run_daemon(workspace) as second:
        status = await second.ready()
        assert (status["chunks"], status["embedded"]) == (ready["chunks"], ready["embedded"])
        assert (await second.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"


async def test_a_dead_editor_ends_the_daemon_though_the_pipe_stays_open(workspace: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    assert process.stdin is not None
    folders = [{"uri": workspace.as_uri(), "name": "harbour"}]
    params = {"processId": editor.pid, "rootUri": None, "capabilities": {}, "workspaceFolders": folders}
    process.stdin.write(message_of(id=1, method="initialize", params=params))
    process.stdin.write(message_of(method="initialized", params={}))
    editor.kill()
    await editor.wait()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1


async def test_a_daemon_that_leaves_at_once_ends_cleanly(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        pass
    assert cairn.process.returncode == 0


async def test_the_end_of_the_pipe_ends_the_daemon(workspace: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=workspace
    )
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 1
