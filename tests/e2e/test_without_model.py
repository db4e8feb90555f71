"""Without an installed model the code model that comes with Cairn answers; without that, keywords; and each says so."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import cairn
from cairn.embedding.packaged import describe_packaged, packaged_model

from .conftest import COMMAND, Daemon
from .index_files import index_path

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

IN_OTHER_WORDS = "boat anchorage timetable"
"""No word of it is in the project."""


@pytest.fixture
def own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the code model of a copy of Cairn, which processes started from now on run."""
    copy = tmp_path / "copy" / "cairn"
    shutil.copytree(Path(cairn.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    return copy / "embedding" / "code_model"


def sources(answer: Any) -> set[str]:
    return {result["source"] for result in answer["results"]}


def static_tables(data_dir: Path) -> str:
    with apsw.Connection(str(index_path(data_dir)), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return str(db.execute("SELECT value FROM meta WHERE key = 'static_table'").get)


async def ran(*arguments: str) -> tuple[int, str]:
    """A command's exit code, and what it prints."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND[:-1], *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode()


async def test_a_fresh_install_answers_by_meaning(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        status = await cairn.ready()
        model = packaged_model()
        assert status["model"] == {
            "name": model.name, "dimension": model.dimension, "id": model.id, "packaged": True,
        }  # fmt: skip
        assert (status["phase"], status["lastError"]) == (3, None)
        assert status["embedded"] == status["staticEmbedded"] == status["chunks"] > 0
        assert status["queued"] == 0
        answer = await cairn.search(IN_OTHER_WORDS, alpha=1.0)
        assert sources(answer) == {"embedding"}
        assert (answer["retrieval"]["phase"], answer["index"]["complete"]) == (3, True)
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["results"][0]["source"] == "hybrid"
        assert (await cairn.request("cairn/discover", {"query": "how are ships assigned to berths"}))[
            "bullets"
        ]
        found = await cairn.request("cairn/filterCollections", {"query": "ships"})
        assert {each["dimension"] for each in found["collections"]} == {model.dimension}


@pytest.mark.parametrize(("least", "action"), [(0.0, "answer"), (1.0, "noMatch")])
async def test_evidence_may_have_no_word_of_the_question(
    daemon: Start, workspace: Path, least: float, action: str
) -> None:
    verdict = {"minEvidence": least}
    async with daemon(workspace, options={"search": {"verdict": verdict}}) as cairn:
        await cairn.ready()
        answer = await cairn.request("cairn/discover", {"query": IN_OTHER_WORDS})
        assert answer["verdict"]["action"] == action


async def test_a_save_is_found_by_its_meaning(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        before = await cairn.ready()
        (workspace / "src" / "pay.py").write_text("def salary(worker):\n    return worker.wage\n")
        cairn.saved(workspace / "src" / "pay.py")
        status = await cairn.until(
            lambda status: status["state"] == "ready" and status["chunks"] > before["chunks"]
        )
        assert status["embedded"] == status["chunks"]
        answer = await cairn.search("salary", alpha=1.0, explain=True)
        assert answer["results"][0]["path"] == "src/pay.py"
        assert answer["results"][0]["source"] == "embedding"


async def test_a_lower_phase_makes_no_vectors_and_is_not_called_a_problem(
    daemon: Start, workspace: Path
) -> None:
    async with daemon(workspace, options={"retrieval": {"phase": 2}}) as cairn:
        status = await cairn.until(lambda status: status["state"] in ("ready", "degraded"))
        assert (status["phase"], status["embedded"], status["lastError"]) == (2, 0, None)
        assert sources(await cairn.search("where are ships assigned to berths")) == {"keyword"}


async def test_the_kill_switch_takes_the_vectors_out_and_in_again(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.request("cairn/setPhase", {"phase": 2})
        answer = await cairn.search("where are ships assigned to berths")
        assert (answer["retrieval"]["phase"], sources(answer)) == (2, {"keyword"})
        await cairn.request("cairn/setPhase", {"phase": None})
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["retrieval"]["phase"] == 3
        assert "hybrid" in sources(answer)


async def test_another_code_model_has_every_chunk_embedded_anew(
    daemon: Start, workspace: Path, bare_data_dir: Path, own_model: Path
) -> None:
    async with daemon(workspace) as cairn:
        first = (await cairn.ready())["model"]["id"]
    assert first in static_tables(bare_data_dir)
    entries = np.load(own_model / "vectors.npy")
    entries["vector"] = -entries["vector"]
    np.save(own_model / "vectors.npy", entries)
    describe_packaged(own_model)
    async with daemon(workspace) as cairn:
        status = await cairn.until(
            lambda status: status["state"] == "ready" and status["model"]["id"] != first
        )
        assert status["embedded"] == status["chunks"] > 0
        assert status["model"]["id"] in static_tables(bare_data_dir)
        assert sources(await cairn.search(IN_OTHER_WORDS, alpha=1.0)) == {"embedding"}


async def test_vectors_of_another_version_that_still_runs_are_not_compared(
    daemon: Start, workspace: Path, own_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = np.load(own_model / "vectors.npy")
    entries["vector"] = -entries["vector"]
    np.save(own_model / "vectors.npy", entries)
    describe_packaged(own_model)
    async with daemon(workspace) as other:
        await other.ready()
        monkeypatch.delenv("PYTHONPATH")
        async with daemon(workspace) as cairn:
            status = await cairn.until(lambda answer: answer["state"] == "degraded" and answer["lastError"])
            assert "Another version of Cairn" in status["lastError"]
            assert (status["embedded"], status["model"]["id"]) == (0, packaged_model().id)
            answer = await cairn.search("where are ships assigned to berths")
            assert (answer["results"][0]["path"], sources(answer)) == ("src/harbour/schedule.py", {"keyword"})


@pytest.mark.parametrize("name", ["vectors.npy", "vocabulary.txt", "cairn-model.toml"])
async def test_a_damaged_code_model_leaves_keywords_and_names_the_remedy(
    daemon: Start, workspace: Path, own_model: Path, name: str
) -> None:
    (own_model / name).write_bytes((own_model / name).read_bytes()[:-7])
    async with daemon(workspace) as cairn:
        status = await cairn.until(lambda answer: answer["state"] == "degraded" and answer["lastError"])
        assert "Install Cairn again" in status["lastError"]
        status = await cairn.until(lambda answer: answer["phase"] == 2)
        assert (status["model"], status["embedded"]) == (None, 0)
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["results"][0]["source"] == "keyword"
        assert answer["index"]["complete"] is True
    code, printed = await ran("doctor", "-C", str(workspace))
    assert code == 1
    assert "problem  code model: The code model that comes with Cairn cannot be used" in printed
    assert "Install Cairn again" in printed


async def test_the_command_line_says_which_model_it_is(workspace: Path) -> None:
    code, _ = await ran("index", str(workspace))
    assert code == 0
    code, printed = await ran("status", str(workspace))
    assert code == 0
    assert printed.startswith("ready  ")
    assert (
        f"model: {packaged_model().id}, which comes with Cairn; `cairn model install` adds a larger"
        in printed
    )
    code, printed = await ran("doctor", "-C", str(workspace), "--json")
    found = {check["name"]: check for check in json.loads(printed)["checks"]}
    assert code == 0
    assert [found[name]["level"] for name in ("code model", "model", "vectors")] == ["ok", "ok", "ok"]
    assert "`cairn model install` adds a larger one" in found["model"]["message"]
    assert packaged_model().id in found["vectors"]["message"]


async def test_an_installed_model_that_cannot_be_loaded_is_done_without(
    daemon: Start, workspace: Path, bare_data_dir: Path, real_models: Path
) -> None:
    shutil.copytree(real_models, bare_data_dir / "models")
    for graph in (bare_data_dir / "models").glob("*/model.onnx"):
        graph.write_bytes(graph.read_bytes()[:1000])
    async with daemon(workspace) as cairn:
        status = await cairn.until(lambda answer: answer["state"] == "degraded")
        assert "cairn model install" in status["lastError"]
        assert status["model"]["packaged"] is True
        assert status["embedded"] == status["chunks"] > 0
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["results"][0]["source"] == "hybrid"
        assert answer["index"]["complete"] is True


async def test_switched_off_it_says_so_and_indexes_nothing(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace, options={"retrieval": {"enabled": False}}) as cairn:
        status = await cairn.request("cairn/status")
        assert (status["state"], status["searchable"]) == ("disabled", False)
        assert (await cairn.search("moor_ship"))["results"] == []
