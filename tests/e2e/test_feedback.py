"""Opened results rank higher in later searches, through the real daemon and the real command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tests.serving import PATIENCE_SECONDS

from .command_line import run_cairn_beside
from .daemon import NO_MODEL, Daemon, run_daemon, wait_until

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

QUESTION = "where do ships moor at the quay"
ALIKE = "where do the ships moor"
UNLIKE = "high water of the tide"
REASON = "chosen for similar questions: "


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """Two files that answer the question nearly as well, and an unrelated one."""
    root = tmp_path / "port"
    (root / "src").mkdir(parents=True)
    body = "def {0}_mooring(ship):\n    # ships moor at the quay\n    return ship.rope\n{1}"
    (root / "src/east.py").write_text(body.format("east", ""))
    (root / "src/west.py").write_text(body.format("west", "\n\ndef far_away():\n    return None\n"))
    (root / "src/tides.py").write_text("def high_water(tide):\n    return tide\n")
    # The words of a settings file that a test writes must not count.
    (root / ".cairnignore").write_text(".cairn.toml\n.cairnignore\n")
    return root


async def ask(cairn: Daemon, question: str = QUESTION) -> Any:
    answer = await cairn.search(question, explain=True)
    return {**answer, "timings": {}}


def paths(answer: Any) -> list[str]:
    return [result["path"] for result in answer["results"]]


def reasons(answer: Any) -> dict[str, str]:
    """Return the effect of feedback on each result that has any, by path."""
    return {
        result["path"]: reason
        for result in answer["results"]
        for reason in result["matchExplain"]
        if reason.startswith(REASON)
    }


def choice(result: Any, action: str = "open", query: str = QUESTION, **more: str) -> dict[str, str]:
    return {"query": query, "contentHash": result["contentHash"], "action": action, **more}


def notify(cairn: Daemon, params: Any) -> None:
    cairn.client.protocol.notify("cairn/feedback", params)


async def indexed(cairn: Daemon, files: int = 3) -> None:
    await cairn.wait_for(lambda status: status["files"]["indexed"] == files and status["state"] == "degraded")


async def list_feedback(port: Path) -> Any:
    return json.loads((await run_cairn_beside("feedback", str(port), "--json")).stdout)


async def test_an_opened_result_ranks_first_before_a_reset(port: Path, bare_data_dir: Path) -> None:
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        before, before_alike, unlike = await ask(cairn), await ask(cairn, ALIKE), await ask(cairn, UNLIKE)
        first, second = paths(before)[:2]
        assert {first, second} == {"src/east.py", "src/west.py"}
        assert reasons(before) == {}
        notify(cairn, choice(before["results"][1]))
        notify(cairn, choice(before["results"][1], "helpful"))
        after = await ask(cairn)  # the cached answer is dropped
        assert paths(after)[:2] == [second, first]
        assert reasons(after).keys() == {second}
        assert reasons(after)[second].endswith("× 1 = +0.78")
        alike = await ask(cairn, ALIKE)
        assert paths(alike)[0] == second
        assert reasons(alike).keys() == {second}
        assert await ask(cairn, UNLIKE) == unlike
        assert (await cairn.discover(QUESTION))["chunks"][0]["path"] == second
    for file in bare_data_dir.rglob("feedback.db*"):
        assert b"where do ships" not in file.read_bytes()
        assert b"ship" in file.read_bytes()
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        assert (await ask(cairn))["results"] == after["results"]
        assert await cairn.execute("cairn.resetFeedback") == {"forgotten": 2}
        assert (await ask(cairn))["results"] == before["results"]
        assert (await ask(cairn, ALIKE))["results"] == before_alike["results"]
        assert await cairn.execute("cairn.resetFeedback", {"folder": port.as_uri()}) == {"forgotten": 0}


async def test_an_unhelpful_result_ranks_lower(port: Path) -> None:
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        before = await ask(cairn)
        notify(cairn, choice(before["results"][0], "notHelpful", path=before["results"][0]["path"]))
        after = await ask(cairn)
        assert paths(after)[:2] == paths(before)[1::-1]
        assert "= -0.63" in reasons(after)[paths(before)[0]]


async def test_other_editors_and_terminals_see_feedback_at_once(port: Path) -> None:
    async def shown(*options: str) -> str:
        return (await run_cairn_beside("feedback", str(port), *options)).stdout

    async with run_daemon(port, options=NO_MODEL) as one, run_daemon(port, options=NO_MODEL) as other:
        await indexed(one)
        before = await ask(one)
        assert paths(await ask(other)) == paths(before)
        notify(one, choice(before["results"][1]))
        notify(one, choice(before["results"][1], "copy"))
        assert paths(await ask(one))[:2] == paths(before)[1::-1]
        assert paths(await ask(other))[:2] == paths(before)[1::-1]
        (listed,) = await list_feedback(port)
        assert (listed["path"], listed["counts"]) == (paths(before)[1], {"open": 1, "copy": 1})
        assert paths(before)[1] in await shown()
        assert "1 × open, 1 × copy" in await shown()
        assert "forgotten: 2" in await shown("--reset")
        assert (await ask(other))["results"] == before["results"]
        assert "nothing was learned yet" in await shown()


async def test_the_setting_turns_feedback_off(port: Path, bare_data_dir: Path) -> None:
    settings = port / ".cairn.toml"
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        before = await ask(cairn)
        settings.write_text("[search]\nfeedback = false\n")
        chosen = choice(before["results"][1], "helpful")
        assert await cairn.request("cairn/feedback", chosen) == {"kept": False}
        assert list(bare_data_dir.rglob("feedback.db*")) == []
        settings.write_text("[search]\nfeedback = true\n")
        assert await cairn.request("cairn/feedback", chosen) == {"kept": True}
        assert paths(await ask(cairn))[0] == paths(before)[1]
        for off in ("[search]\nfeedback = false\n", '[search.weights]\n"chosen for similar questions" = 0\n'):
            settings.write_text(off)
            assert (await ask(cairn))["results"] == before["results"]


BAD = [
    ({"action": "printed"}, "action: expected one of open, copy, helpful, notHelpful"),
    ({"contentHash": "0" * 32}, "contentHash: no passage"),
    ({"contentHash": "x"}, "contentHash: 'x' is not a content hash"),
    ({"query": " "}, "query: is empty"),
    ({"query": "=>"}, "query: '=>' has no words"),
    ({"path": "src/tides.py"}, "'src/tides.py' holds"),
    ({"folder": "file:///elsewhere"}, "folder: 'file:///elsewhere' is not open"),
    ({"text": "x"}, "text: unknown field"),
]


async def test_bad_feedback_is_refused_and_as_a_notification_logged(port: Path, bare_data_dir: Path) -> None:
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        good = choice((await ask(cairn))["results"][1])
        for wrong, problem in BAD:
            with pytest.raises(JsonRpcInvalidParams) as refused:
                await cairn.request("cairn/feedback", {**good, **wrong})
            assert problem in str(refused.value)
            notify(cairn, {**good, **wrong})
        notify(cairn, None)
        notify(cairn, ["open"])
        await wait_until(lambda: len(cairn.client.log_messages) == len(BAD) + 2)
        for (_, problem), logged in zip(BAD, cairn.client.log_messages, strict=False):
            assert logged.type == types.MessageType.Warning
            assert "nothing was learned from cairn/feedback" in logged.message
            assert problem in logged.message
        assert cairn.client.messages == []  # the editor shows no message
        assert list(bare_data_dir.rglob("feedback.db*")) == []
        with pytest.raises(JsonRpcInvalidParams, match="folder"):
            await cairn.execute("cairn.resetFeedback", {"folder": "file:///elsewhere"})


async def test_feedback_takes_a_passage_of_unsaved_text(port: Path) -> None:
    query = "pilot boards vessel"
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        cairn.open(port / "src/tides.py", "def pilot_boards(vessel):\n    return vessel\n")
        found = await ask(cairn, query)
        assert paths(found)[0] == "src/tides.py"
        params = choice(found["results"][0], query=query)
        assert await cairn.request("cairn/feedback", params) == {"kept": True}
        assert reasons(await ask(cairn, query)).keys() == {"src/tides.py"}


async def test_feedback_without_a_path_counts_for_all_copies(port: Path) -> None:
    text = (port / "src/tides.py").read_text()
    (port / "src/copy.py").write_text(text)
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn, 4)
        first = (await ask(cairn, UNLIKE))["results"][0]
        await cairn.request("cairn/feedback", choice(first, query=UNLIKE, path="src/copy.py"))
        assert reasons(await ask(cairn, UNLIKE)).keys() == {"src/copy.py"}
        await cairn.request("cairn/feedback", choice(first, query=UNLIKE))
        assert reasons(await ask(cairn, UNLIKE)).keys() == {"src/copy.py", "src/tides.py"}
        for number in range(7):
            cairn.save(port / f"src/copy{number}.py", text)
        await cairn.wait_for(lambda status: status["files"]["indexed"] == 11)
        with pytest.raises(JsonRpcInvalidParams, match="path: is required: 9 files hold this passage"):
            await cairn.request("cairn/feedback", choice(first, query=UNLIKE))


async def test_feedback_survives_damage_to_the_index_and_its_own_file(
    port: Path, bare_data_dir: Path
) -> None:
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        before = await ask(cairn)
        await cairn.request("cairn/feedback", choice(before["results"][1], "helpful"))
        after = await ask(cairn)
        assert paths(after) != paths(before)
    (index,) = bare_data_dir.rglob("index.db")
    index.write_bytes(b"damaged" * 1_000)
    async with run_daemon(port, options=NO_MODEL) as cairn:
        await indexed(cairn)
        assert (await ask(cairn))["results"] == after["results"]
        (store,) = bare_data_dir.rglob("feedback.db")
        store.unlink()
        store.write_bytes(b"damaged" * 1_000)
        assert (await ask(cairn))["results"] == before["results"]
        warnings = (await cairn.status())["warnings"]
        assert [warning for warning in warnings if "set aside as feedback.db.damaged-" in warning]
        assert await cairn.request("cairn/feedback", choice(before["results"][1])) == {"kept": True}
        assert reasons(await ask(cairn))


async def test_concurrent_feedback_of_two_editors_is_all_kept(port: Path) -> None:
    async with run_daemon(port, options=NO_MODEL) as one, run_daemon(port, options=NO_MODEL) as other:
        await indexed(one)
        chosen = choice((await ask(one))["results"][1])
        for _ in range(30):
            notify(one, chosen)
            notify(other, chosen)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while [each["counts"]["open"] for each in await list_feedback(port)] != [60]:
                await asyncio.sleep(0.1)
