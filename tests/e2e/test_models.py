"""The packaged code model answers, or a user's own model; without them, keywords; and each says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import cairn
from cairn.embedding.packaged import describe_packaged, packaged_model
from tests.onnx_models import make_onnx_model

from .command_line import run_cairn_beside
from .daemon import Daemon, run_daemon
from .index_files import index_path

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

IN_OTHER_WORDS = "boat anchorage timetable"
"""A query of which the project has no word."""
ASSIGNED = "where are ships assigned to berths"


@pytest.fixture
def own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the code model in a copy of Cairn, which processes run that start later."""
    copy = tmp_path / "copy" / "cairn"
    shutil.copytree(Path(cairn.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    return copy / "embedding" / "code_model"


def sources(answer: Any) -> set[str]:
    return {result["source"] for result in answer["results"]}


def static_tables(data_dir: Path) -> str:
    with apsw.Connection(str(index_path(data_dir)), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return str(db.execute("SELECT value FROM meta WHERE key = 'static_table'").get)


def negate_vectors(model: Path) -> None:
    """Make another code model of the one in a copy of Cairn."""
    entries = np.load(model / "vectors.npy")
    entries["vector"] = -entries["vector"]
    np.save(model / "vectors.npy", entries)
    describe_packaged(model)


async def test_a_fresh_install_answers_by_meaning(harbour: Daemon) -> None:
    status = await harbour.status()
    model = packaged_model()
    described = {"name": model.name, "dimension": model.dimension, "id": model.id, "packaged": True}
    assert status["model"] == described
    assert (status["phase"], status["lastError"]) == (3, None)
    assert status["embedded"] == status["staticEmbedded"] == status["chunks"] > 0
    assert status["queued"] == 0
    answer = await harbour.search(IN_OTHER_WORDS, alpha=1.0)
    assert sources(answer) == {"embedding"}
    assert (answer["retrieval"]["phase"], answer["index"]["complete"]) == (3, True)
    first = (await harbour.search(ASSIGNED))["results"][0]
    assert (first["path"], first["source"]) == ("src/harbour/schedule.py", "hybrid")
    assert (await harbour.discover("how are ships assigned to berths"))["bullets"]
    found = await harbour.request("cairn/filterCollections", {"query": "ships"})
    assert {each["dimension"] for each in found["collections"]} == {model.dimension}


@pytest.mark.parametrize(("least", "action"), [(0.0, "answer"), (1.0, "noMatch")])
async def test_evidence_needs_no_word_of_the_question(workspace: Path, least: float, action: str) -> None:
    verdict = {"minEvidence": least}
    async with run_daemon(workspace, options={"search": {"verdict": verdict}}) as cairn:
        await cairn.ready()
        answer = await cairn.discover(IN_OTHER_WORDS)
        assert answer["verdict"]["action"] == action


async def test_a_save_is_found_by_its_meaning(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        before = await cairn.ready()
        cairn.save(workspace / "src/pay.py", "def salary(worker):\n    return worker.wage\n")
        status = await cairn.wait_for(
            lambda status: status["state"] == "ready" and status["chunks"] > before["chunks"]
        )
        assert status["embedded"] == status["chunks"]
        answer = await cairn.search("salary", alpha=1.0, explain=True)
        assert answer["results"][0]["path"] == "src/pay.py"
        assert answer["results"][0]["source"] == "embedding"


async def test_a_lower_phase_makes_no_vectors_and_is_not_an_error(workspace: Path) -> None:
    async with run_daemon(workspace, options={"retrieval": {"phase": 2}}) as cairn:
        status = await cairn.wait_for(lambda status: status["state"] in ("ready", "degraded"))
        assert (status["phase"], status["embedded"], status["lastError"]) == (2, 0, None)
        assert sources(await cairn.search(ASSIGNED)) == {"keyword"}


async def test_a_phase_without_vectors_can_be_set_and_reset(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.request("cairn/setPhase", {"phase": 2})
        answer = await cairn.search(ASSIGNED)
        assert (answer["retrieval"]["phase"], sources(answer)) == (2, {"keyword"})
        await cairn.request("cairn/setPhase", {"phase": None})
        answer = await cairn.search(ASSIGNED)
        assert answer["retrieval"]["phase"] == 3
        assert "hybrid" in sources(answer)


async def test_another_code_model_embeds_every_chunk_again(
    workspace: Path, bare_data_dir: Path, own_model: Path
) -> None:
    async with run_daemon(workspace) as cairn:
        first = (await cairn.ready())["model"]["id"]
    assert first in static_tables(bare_data_dir)
    negate_vectors(own_model)
    async with run_daemon(workspace) as cairn:
        status = await cairn.wait_for(
            lambda status: status["state"] == "ready" and status["model"]["id"] != first
        )
        assert status["embedded"] == status["chunks"] > 0
        assert status["model"]["id"] in static_tables(bare_data_dir)
        assert sources(await cairn.search(IN_OTHER_WORDS, alpha=1.0)) == {"embedding"}


async def test_vectors_of_another_running_version_are_not_compared(
    workspace: Path, own_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    negate_vectors(own_model)
    async with run_daemon(workspace) as other:
        await other.ready()
        monkeypatch.delenv("PYTHONPATH")
        async with run_daemon(workspace) as cairn:
            status = await cairn.wait_for(
                lambda answer: answer["state"] == "degraded" and answer["lastError"]
            )
            assert "Another version of Cairn" in status["lastError"]
            assert (status["embedded"], status["model"]["id"]) == (0, packaged_model().id)
            answer = await cairn.search(ASSIGNED)
            assert (answer["results"][0]["path"], sources(answer)) == ("src/harbour/schedule.py", {"keyword"})


@pytest.mark.parametrize("name", ["vectors.npy", "vocabulary.txt", "cairn-model.toml"])
async def test_a_damaged_code_model_leaves_keywords_and_names_the_remedy(
    workspace: Path, own_model: Path, name: str
) -> None:
    (own_model / name).write_bytes((own_model / name).read_bytes()[:-7])
    async with run_daemon(workspace) as cairn:
        status = await cairn.wait_for(lambda answer: answer["state"] == "degraded" and answer["lastError"])
        assert "Install Cairn again" in status["lastError"]
        status = await cairn.wait_for(lambda answer: answer["phase"] == 2)
        assert (status["model"], status["embedded"]) == (None, 0)
        answer = await cairn.search(ASSIGNED)
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["results"][0]["source"] == "keyword"
        assert answer["index"]["complete"] is True
    printed = (await run_cairn_beside("doctor", "-C", str(workspace), code=1, is_process=True)).stdout
    assert "problem  code model: The code model that comes with Cairn cannot be used" in printed
    assert "Install Cairn again" in printed


async def test_commands_name_the_code_model(indexed_harbour: Path) -> None:
    shown = (await run_cairn_beside("status", str(indexed_harbour))).stdout
    assert shown.startswith("ready  ")
    assert f"model: {packaged_model().id}, which comes with Cairn\n" in shown
    doctor = await run_cairn_beside("doctor", "-C", str(indexed_harbour), "--json")
    checks = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}
    assert [checks[name]["level"] for name in ("code model", "vectors")] == ["ok", "ok"]
    assert packaged_model().id in checks["vectors"]["message"]


SHIP = {"?": (0.1, 0.1, 1), "boat": (1, 0, 0), "ship": (1, 0, 0), "ships": (1, 0, 0), "pay": (0, 1, 0)}


async def test_a_model_of_the_users_own_makes_the_vectors(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
    folder = make_onnx_model(tmp_path / "ships", words=SHIP)
    monkeypatch.setenv("CAIRN_EMBEDDING__MODEL", str(folder))
    async with run_daemon(workspace) as cairn:
        status = await cairn.wait_for(
            lambda status: status["state"] == "ready" and not status["model"]["packaged"]
        )
        assert (status["model"]["name"], status["model"]["dimension"]) == ("ships", 3)
        assert status["embedded"] == status["chunks"] > 0
        assert status["model"]["id"] in static_tables(bare_data_dir)
        answer = await cairn.search("boat", alpha=1.0)
        assert "ship" in answer["results"][0]["snippet"]
        assert sources(answer) == {"embedding"}
        cairn.open(workspace / "src/pay.py", "def wage(worker):\n    return pay(worker)\n")
        assert (await cairn.search("pay pay", alpha=1.0))["results"][0]["path"] == "src/pay.py"
        found = await cairn.request("cairn/filterCollections", {"query": "ships"})
        assert {each["dimension"] for each in found["collections"]} == {3}
    shown = (await run_cairn_beside("status", str(workspace))).stdout
    assert f"model: {status['model']['id']}\n" in shown


@pytest.mark.parametrize("damage", ["no folder", "no graph"])
async def test_the_code_model_replaces_an_unusable_model_of_the_users_own(
    workspace: Path, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ships"
    if damage == "no graph":
        graph = make_onnx_model(folder, words=SHIP) / "model.onnx"
        graph.write_bytes(graph.read_bytes()[:100])
    monkeypatch.setenv("CAIRN_EMBEDDING__MODEL", str(folder))
    async with run_daemon(workspace) as cairn:
        status = await cairn.wait_for(lambda status: status["state"] == "ready" and status["lastError"])
        assert "Correct the folder or `embedding.model`" in status["lastError"]
        assert status["model"]["packaged"] is True
        assert status["embedded"] == status["chunks"] > 0
        answer = await cairn.search(ASSIGNED)
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert (answer["results"][0]["source"], answer["retrieval"]["phase"]) == ("hybrid", 3)


async def test_the_former_command_says_what_replaced_it(workspace: Path, bare_data_dir: Path) -> None:
    (bare_data_dir / "models" / "all-MiniLM-L6-v2").mkdir(parents=True)  # Cairn 0.2 had installed it.
    failed = await run_cairn_beside("model", "install", str(workspace), code=1)
    assert "set `embedding.model` to a folder with model.onnx and tokenizer.json" in failed.stderr
    async with run_daemon(workspace) as cairn:
        status = await cairn.ready()
        assert (status["model"]["packaged"], status["lastError"]) == (True, None)


async def test_a_disabled_daemon_says_so_and_finds_nothing(workspace: Path) -> None:
    async with run_daemon(workspace, options={"retrieval": {"enabled": False}}) as cairn:
        status = await cairn.status()
        assert (status["state"], status["searchable"]) == ("disabled", False)
        assert (await cairn.search("moor_ship"))["results"] == []
