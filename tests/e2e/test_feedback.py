"""Which results are opened changes what is found first, through the real daemon and the real command line."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from .conftest import PATIENCE_SECONDS, Daemon
from .test_control import NO_MODEL, command, run_cairn, until

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

QUESTION = "where do ships moor at the quay"
ALIKE = "where do the ships moor"
UNLIKE = "high water of the tide"
REASON = "chosen for similar questions: "


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """Two files that answer the question nearly as well, and one of something else."""
    root = tmp_path / "port"
    (root / "src").mkdir(parents=True)
    body = "def {0}_mooring(ship):\n    # ships moor at the quay\n    return ship.rope\n{1}"
    (root / "src" / "east.py").write_text(body.format("east", ""))
    (root / "src" / "west.py").write_text(body.format("west", "\n\ndef far_away():\n    return None\n"))
    (root / "src" / "tides.py").write_text("def high_water(tide):\n    return tide\n")
    # Settings that a test writes would be one more file, with words of its own.
    (root / ".cairnignore").write_text(".cairn.toml\n.cairnignore\n")
    return root


async def ask(cairn: Daemon, question: str = QUESTION) -> Any:
    answer = await cairn.search(question, explain=True)
    return {**answer, "timings": {}}


def paths(answer: Any) -> list[str]:
    return [result["path"] for result in answer["results"]]


def reasons(answer: Any) -> dict[str, str]:
    """Of the results that were chosen before, what that made of them."""
    return {
        result["path"]: reason
        for result in answer["results"]
        for reason in result["matchExplain"]
        if reason.startswith(REASON)
    }


def chose(result: Any, action: str = "open", query: str = QUESTION, **more: str) -> dict[str, str]:
    return {"query": query, "contentHash": result["contentHash"], "action": action, **more}


def tell(cairn: Daemon, params: Any) -> None:
    cairn.client.protocol.notify("cairn/feedback", params)


async def scanned(cairn: Daemon) -> None:
    await cairn.until(lambda status: status["files"]["indexed"] == 3 and status["state"] == "degraded")


async def test_what_is_opened_comes_first_next_time_and_after_a_restart_until_it_is_forgotten(
    daemon: Start, port: Path, bare_data_dir: Path
) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        before, before_alike, unlike = await ask(cairn), await ask(cairn, ALIKE), await ask(cairn, UNLIKE)
        first, second = paths(before)[:2]
        assert {first, second} == {"src/east.py", "src/west.py"}
        assert reasons(before) == {}
        tell(cairn, chose(before["results"][1]))
        tell(cairn, chose(before["results"][1], "helpful"))
        after = await ask(cairn)  # the answer that was kept is not given again
        assert paths(after)[:2] == [second, first]
        assert reasons(after).keys() == {second}
        assert reasons(after)[second].endswith("× 1 = +0.78")
        alike = await ask(cairn, ALIKE)
        assert paths(alike)[0] == second
        assert reasons(alike).keys() == {second}
        assert await ask(cairn, UNLIKE) == unlike
        evidence = await cairn.request("cairn/discover", {"query": QUESTION})
        assert evidence["chunks"][0]["path"] == second
    for file in bare_data_dir.rglob("feedback.db*"):
        assert b"where do ships" not in file.read_bytes()
        assert b"ship" in file.read_bytes()
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        assert (await ask(cairn))["results"] == after["results"]
        assert await command(cairn, "cairn.resetFeedback") == {"forgotten": 2}
        assert (await ask(cairn))["results"] == before["results"]
        assert (await ask(cairn, ALIKE))["results"] == before_alike["results"]
        assert await command(cairn, "cairn.resetFeedback", {"folder": port.as_uri()}) == {"forgotten": 0}


async def test_what_was_not_helpful_steps_back(daemon: Start, port: Path) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        before = await ask(cairn)
        tell(cairn, chose(before["results"][0], "notHelpful", path=before["results"][0]["path"]))
        after = await ask(cairn)
        assert paths(after)[:2] == paths(before)[1::-1]
        assert "= -0.63" in reasons(after)[paths(before)[0]]


async def test_another_editor_and_a_terminal_know_it_at_once(daemon: Start, port: Path) -> None:
    async with daemon(port, options=NO_MODEL) as one, daemon(port, options=NO_MODEL) as other:
        await scanned(one)
        before = await ask(one)
        assert paths(await ask(other)) == paths(before)
        tell(one, chose(before["results"][1]))
        tell(one, chose(before["results"][1], "copy"))
        assert paths(await ask(one))[:2] == paths(before)[1::-1]
        assert paths(await ask(other))[:2] == paths(before)[1::-1]
        (listed,) = json.loads(await run_cairn("feedback", str(port), "--json"))
        assert (listed["path"], listed["counts"]) == (paths(before)[1], {"open": 1, "copy": 1})
        shown = await run_cairn("feedback", str(port))
        assert paths(before)[1] in shown
        assert "1 × open, 1 × copy" in shown
        assert "forgotten: 2" in await run_cairn("feedback", str(port), "--reset")
        assert (await ask(other))["results"] == before["results"]
        assert "nothing was learned yet" in await run_cairn("feedback", str(port))


async def test_with_the_setting_off_nothing_is_kept_or_used(
    daemon: Start, port: Path, bare_data_dir: Path
) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        before = await ask(cairn)
        (port / ".cairn.toml").write_text("[search]\nfeedback = false\n")
        chosen = chose(before["results"][1], "helpful")
        assert await cairn.request("cairn/feedback", chosen) == {"kept": False}
        assert list(bare_data_dir.rglob("feedback.db*")) == []
        (port / ".cairn.toml").write_text("[search]\nfeedback = true\n")
        assert await cairn.request("cairn/feedback", chosen) == {"kept": True}
        assert paths(await ask(cairn))[0] == paths(before)[1]
        (port / ".cairn.toml").write_text("[search]\nfeedback = false\n")
        assert (await ask(cairn))["results"] == before["results"]
        (port / ".cairn.toml").write_text('[search.weights]\n"chosen for similar questions" = 0\n')
        assert (await ask(cairn))["results"] == before["results"]


BAD = [
    ({"action": "printed"}, "action: expected one of open, copy, helpful, notHelpful"),
    ({"contentHash": "0" * 32}, "contentHash: no passage"),
    ({"contentHash": "x"}, "contentHash: 'x' is none"),
    ({"query": " "}, "query: is empty"),
    ({"query": "=>"}, "query: '=>' has no words"),
    ({"path": "src/tides.py"}, "'src/tides.py' holds"),
    ({"folder": "file:///elsewhere"}, "folder: 'file:///elsewhere' is not open"),
    ({"text": "x"}, "text: unknown field"),
]


async def test_what_cannot_be_taken_in_is_refused_and_as_a_notification_logged(
    daemon: Start, port: Path, bare_data_dir: Path
) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        good = chose((await ask(cairn))["results"][1])
        for wrong, problem in BAD:
            with pytest.raises(JsonRpcInvalidParams) as refused:
                await cairn.request("cairn/feedback", {**good, **wrong})
            assert problem in str(refused.value)
            tell(cairn, {**good, **wrong})
        tell(cairn, None)
        tell(cairn, ["open"])
        await until(lambda: len(cairn.client.log_messages) == len(BAD) + 2)
        for (_, problem), logged in zip(BAD, cairn.client.log_messages, strict=False):
            assert logged.type == types.MessageType.Warning
            assert "nothing was learned from cairn/feedback" in logged.message
            assert problem in logged.message
        assert cairn.client.messages == []  # nothing pops up
        assert list(bare_data_dir.rglob("feedback.db*")) == []
        with pytest.raises(JsonRpcInvalidParams, match="folder"):
            await command(cairn, "cairn.resetFeedback", {"folder": "file:///elsewhere"})


async def test_what_is_only_on_the_screen_can_be_chosen(daemon: Start, port: Path) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        path = port / "src" / "tides.py"
        text = "def pilot_boards(vessel):\n    return vessel\n"
        document = types.TextDocumentItem(path.as_uri(), "python", 1, text)
        cairn.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        found = await ask(cairn, "pilot boards vessel")
        assert paths(found)[0] == "src/tides.py"
        params = chose(found["results"][0], query="pilot boards vessel")
        assert await cairn.request("cairn/feedback", params) == {"kept": True}
        assert reasons(await ask(cairn, "pilot boards vessel")).keys() == {"src/tides.py"}


async def test_copies_are_all_meant_unless_the_path_tells_them_apart(daemon: Start, port: Path) -> None:
    (port / "src" / "copy.py").write_text((port / "src" / "tides.py").read_text())
    async with daemon(port, options=NO_MODEL) as cairn:
        await cairn.until(lambda status: status["files"]["indexed"] == 4 and status["state"] == "degraded")
        first = (await ask(cairn, UNLIKE))["results"][0]
        await cairn.request("cairn/feedback", chose(first, query=UNLIKE, path="src/copy.py"))
        assert reasons(await ask(cairn, UNLIKE)).keys() == {"src/copy.py"}
        await cairn.request("cairn/feedback", chose(first, query=UNLIKE))
        assert reasons(await ask(cairn, UNLIKE)).keys() == {"src/copy.py", "src/tides.py"}
        for number in range(7):
            copy = port / "src" / f"copy{number}.py"
            copy.write_text((port / "src" / "tides.py").read_text())
            cairn.saved(copy)
        await cairn.until(lambda status: status["files"]["indexed"] == 11)
        with pytest.raises(JsonRpcInvalidParams, match="path: is required: 9 files hold this passage"):
            await cairn.request("cairn/feedback", chose(first, query=UNLIKE))


async def test_a_rebuilt_index_and_a_damaged_file_stop_nothing(
    daemon: Start, port: Path, bare_data_dir: Path
) -> None:
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        before = await ask(cairn)
        await cairn.request("cairn/feedback", chose(before["results"][1], "helpful"))
        after = await ask(cairn)
        assert paths(after) != paths(before)
    (index,) = bare_data_dir.rglob("index.db")
    index.write_bytes(b"damaged" * 1_000)
    async with daemon(port, options=NO_MODEL) as cairn:
        await scanned(cairn)
        assert (await ask(cairn))["results"] == after["results"]
        (store,) = bare_data_dir.rglob("feedback.db")
        store.unlink()
        store.write_bytes(b"damaged" * 1_000)
        assert (await ask(cairn))["results"] == before["results"]
        status = await cairn.request("cairn/status")
        assert [warning for warning in status["warnings"] if "set aside as feedback.db.damaged-" in warning]
        assert await cairn.request("cairn/feedback", chose(before["results"][1])) == {"kept": True}
        assert reasons(await ask(cairn))


async def test_feedback_of_several_editors_at_once_is_all_kept(daemon: Start, port: Path) -> None:
    async with daemon(port, options=NO_MODEL) as one, daemon(port, options=NO_MODEL) as other:
        await scanned(one)
        chosen = chose((await ask(one))["results"][1])
        for _ in range(30):
            tell(one, chosen)
            tell(other, chosen)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (listed := json.loads(await run_cairn("feedback", str(port), "--json"))) == [] or listed[0][
            "counts"
        ]["open"] < 60:
            assert time.monotonic() < deadline, f"some was lost: {listed}"
            await asyncio.sleep(0.1)
