"""What a panel that follows the cursor gets, and the prompt that is copied from it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from .conftest import PATIENCE_SECONDS, Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("model_data_dir")]

QUOTED = re.compile(
    r"^### (\S+)#L(\d+)-L(\d+)[^\n]*\n(?:Why: [^\n]*\n)?\n(`{3,})\S*\n(.*?)^\4$", re.MULTILINE | re.DOTALL
)


def open_document(cairn: Daemon, uri: str, text: str, language: str = "python") -> None:
    document = types.TextDocumentItem(uri, language, 1, text)
    cairn.client.text_document_did_open(types.DidOpenTextDocumentParams(document))


def change_document(cairn: Daemon, uri: str, text: str, version: int) -> None:
    document = types.VersionedTextDocumentIdentifier(version, uri)
    change = types.TextDocumentContentChangeWholeDocument(text)
    cairn.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


async def context(cairn: Daemon, uri: str, line: int = 0, **params: Any) -> Any:
    place = {} if "range" in params else {"position": {"line": line, "character": 0}}
    return await cairn.request("cairn/context", {"textDocument": {"uri": uri}, **place, **params})


def by_path(answer: Any) -> dict[str, Any]:
    return {each["result"]["path"]: each for each in answer["passages"]}


def selected(workspace: Path, passage: Any) -> str:
    """The lines of the file at which the passage is related."""
    result = passage["result"]
    first, end = (result["selectionRange"][side]["line"] for side in ("start", "end"))
    return "".join((workspace / result["path"]).read_text().splitlines(keepends=True)[first:end])


def part(answer: Any, name: str) -> Any:
    return next(each for each in answer["parts"] if each["name"] == name)


async def test_a_cursor_in_a_function_gets_what_belongs_to_it(daemon: Start, workspace: Path) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs" / "assigning.md").write_text(
        "# Assigning berths\n\nEach arriving ship is assigned the shortest free berth by `assign_berths`.\n"
    )
    schedule = (workspace / "src/harbour/schedule.py").as_uri()
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await context(cairn, schedule, 8)
        found = by_path(answer)
        berths, document = found["src/harbour/berths.py"], found["docs/assigning.md"]
        assert (berths["group"], document["group"]) == ("code", "documents")
        assert berths["reasons"][0] == "called by `assign_berths`"
        assert "file that it imports" in berths["reasons"]
        assert "mentions `assign_berths`" in document["reasons"]
        assert "def moor_ship" in selected(workspace, berths)
        assert "`assign_berths`" in selected(workspace, document)
        assert "moor_ship" in berths["result"]["matchedTerms"]
        assert "src/harbour/schedule.py" not in found  # it is one chunk
        assert answer["place"]["symbol"] == "assign_berths"
        assert answer["place"]["range"]["start"]["line"] <= 8 < answer["place"]["range"]["end"]["line"]
        assert answer["index"]["complete"] is True
        # The text for a language model.
        text = answer["context"]
        assert "- Project: `harbour`" in text
        assert "Harbour is a small library that schedules ships into the berths of a port." in text
        assert "- Cursor: `src/harbour/schedule.py`, line 9, in `assign_berths`" in text
        assert text.index("## Core concepts") < text.index("## Relevant passages") < text.index("## Editor")
        citations = QUOTED.findall(text)
        assert {path for path, *_ in citations} >= {
            "README.md",
            "docs/assigning.md",
            "src/harbour/schedule.py",
        }
        for path, first, last, _, quoted in citations:
            lines = (workspace / path).read_text().splitlines(keepends=True)
            assert "".join(lines[int(first) - 1 : int(last)]) == quoted
        assert answer["tokens"] <= answer["budget"] == 3000
        assert sum(each["tokens"] for each in answer["parts"]) == answer["tokens"]
        assert answer["dropped"] == []


async def test_moving_in_a_chunk_is_free_until_anything_changes(daemon: Start, workspace: Path) -> None:
    cranes = workspace / "src/harbour/cranes.py"
    cranes.write_text("def lift(cargo):\n    weight = cargo\n    return weight\n")
    uri = cranes.as_uri()
    async with daemon(workspace, options={"index": {"watch": False}}) as cairn:
        await cairn.ready()
        first = await context(cairn, uri, 0)
        moved = await context(cairn, uri, 1)
        assert ("cached" in first["timings"], "cached" in moved["timings"]) == (False, True)
        assert moved["passages"] == first["passages"]
        assert "line 2, in `lift`" in moved["context"]
        again = await context(cairn, uri, 1)
        assert {**again, "timings": {}} == {**moved, "timings": {}}
        # What is typed counts before it is saved.
        assert "src/harbour/berths.py" not in [
            path for path, each in by_path(first).items() if "called by `lift`" in each["reasons"]
        ]
        open_document(cairn, uri, cranes.read_text())
        change_document(
            cairn, uri, "def lift(cargo, berth):\n    berth.moor_ship(cargo)\n    return cargo\n", 2
        )
        typed = await context(cairn, uri, 1)
        assert "cached" not in typed["timings"]
        assert "called by `lift`" in by_path(typed)["src/harbour/berths.py"]["reasons"]
        assert "berth.moor_ship(cargo)" in typed["context"]


async def test_core_concepts_are_those_of_the_readme_as_it_is(daemon: Start, workspace: Path) -> None:
    tides, readme = workspace / "src/harbour/tides.py", workspace / "README.md"
    async with daemon(
        workspace, options={"embedding": {"enabled": False}, "index": {"watch": False}}
    ) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        assert "Harbour is a small library that" in (await context(cairn, tides.as_uri()))["context"]
        open_document(cairn, readme.as_uri(), "# Harbour\n\nHarbour is being written anew just now.\n")
        typed = (await context(cairn, tides.as_uri()))["context"]
        assert "### README.md#L3-L3\n\n```markdown\nHarbour is being written anew just now.\n```\n" in typed
        package = workspace / "src/harbour/README.rst"
        package.write_text("Source\n======\n\nThis is the source of the whole harbour.\n")
        cairn.saved(package)
        both = await cairn.until(
            lambda answer: "This is the source of the whole harbour." in answer["context"],
            "cairn/context",
            {"textDocument": {"uri": tides.as_uri()}, "position": {"line": 0, "character": 0}},
        )
        concepts = both["context"].partition("## Relevant passages")[0]
        assert concepts.index("### src/harbour/README.rst#L4-L4") < concepts.index("### README.md#L3-L3")


async def test_over_the_budget_the_least_goes_first_and_is_told(daemon: Start, workspace: Path) -> None:
    berths = (workspace / "src/harbour/berths.py").as_uri()
    options = {"context": {"passages": 300}}
    async with daemon(workspace, options=options) as cairn:
        await cairn.ready()
        answer = await context(cairn, berths, 12)
        assert answer["budget"] == 1800
        assert part(answer, "passages")["tokens"] <= part(answer, "passages")["budget"] == 300
        gone = [each for each in answer["dropped"] if each["part"] == "passages"]
        assert gone
        assert all("over the budget of 300 tokens" in each["why"] for each in gone)
        scores = {
            f"{r['path']}#L{r['range']['start']['line'] + 1}-L{r['range']['end']['line']}": r["score"]
            for r in (each["result"] for each in answer["passages"])
        }
        shown = [citation for citation in scores if f"### {citation}" in answer["context"]]
        assert shown
        assert min(scores[citation] for citation in shown) >= max(each["score"] for each in gone)
        assert all(each["citation"] in scores and each["tokens"] > 0 for each in gone)
        for budget in (0, 40, 170, 400, 5000):
            small = await context(cairn, berths, 12, budget=budget)
            assert small["tokens"] <= small["budget"] == budget
            assert sum(each["budget"] for each in small["parts"]) == budget
            assert small["passages"] == answer["passages"]
        assert len((await context(cairn, berths, 12, limit=2))["passages"]) == 2


async def test_what_the_editor_shows_is_part_of_it(daemon: Start, workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text('[search]\ncore_concepts = ["berth", "tide"]\n')
    berths, tides = ((workspace / "src/harbour" / name) for name in ("berths.py", "tides.py"))
    async with daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.search("w")
        await cairn.search("where are ships moored")
        open_document(cairn, tides.as_uri(), tides.read_text())
        problem = {
            "range": {"start": {"line": 9, "character": 4}, "end": {"line": 9, "character": 20}},
            "severity": 2, "message": "ship may be None", "source": "ty", "code": 17,
        }  # fmt: skip
        wanted = {"start": {"line": 10, "character": 0}, "end": {"line": 12, "character": 3}}
        answer = await context(cairn, berths.as_uri(), range=wanted, diagnostics=[problem])
        text = answer["context"]
        for line in (
            "- Terms: `berth`, `tide`",
            "- Open: `src/harbour/tides.py`",
            "- Selection: `src/harbour/berths.py`, lines 11 to 13, in `Berth`",
            "### src/harbour/berths.py#L11-L13 selected",
            "- Warning, `src/harbour/berths.py#L10-L10` (ty 17): ship may be None",
            "- `where are ships moored`",
        ):
            assert f"{line}\n" in text
        assert "- `w`\n" not in text
        told = await context(
            cairn, berths.as_uri(), 5, openDocuments=[(workspace / "README.md").as_uri(), "untitled:Notes"],
            recentQueries=["tide tables"],
        )  # fmt: skip
        assert "- Open: `README.md`\n- Open: `Notes`\n" in told["context"]
        assert "tides.py`" not in told["context"].partition("## Editor")[2]
        assert told["context"].endswith("## Recent queries\n\n- `tide tables`\n")


async def test_a_query_about_the_place_comes_first(daemon: Start, workspace: Path) -> None:
    berths = (workspace / "src/harbour/berths.py").as_uri()
    async with daemon(workspace) as cairn:
        await cairn.ready()
        answer = await context(cairn, berths, 5, query="hour of high water")
        first = answer["passages"][0]
        assert first["result"]["path"] == "src/harbour/tides.py"
        assert "found by the query" in first["reasons"]
        assert any("tests `Berth`" in each["reasons"] for each in answer["passages"])
        assert "src/harbour/berths.py" not in by_path(answer)
        assert "- `hour of high water`\n" in answer["context"]
        assert "hour of high water" not in (await context(cairn, berths, 5))["context"]


async def test_a_document_without_an_index_is_answered_by_its_text(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".gitignore").write_text("scratch/\n")
    (workspace / "scratch").mkdir()
    ignored = workspace / "scratch" / "try.py"
    ignored.write_text("x = 1\n")
    outside = tmp_path / "outside.py"
    text = "def unload(tide):\n    return high_water(tide, [])\n"
    async with daemon(workspace) as cairn:
        await cairn.ready()
        with pytest.raises(JsonRpcInvalidParams, match=r"'scratch/try.py' is not indexed"):
            await context(cairn, ignored.as_uri())
        for uri, name in (
            ("untitled:Untitled-1", "Untitled-1"),
            (ignored.as_uri(), "scratch/try.py"),
            (outside.as_uri(), "outside.py"),
        ):
            open_document(cairn, uri, text)
            answer = await context(cairn, uri, 1)
            tides = by_path(answer)["src/harbour/tides.py"]
            assert "defines `high_water`" in tides["reasons"]
            assert "similar in meaning" in {
                reason for each in answer["passages"] for reason in each["reasons"]
            }
            assert answer["place"]["path"] == name
            assert f"### {name}#L1-L2 at the cursor\n\n```" in answer["context"]
            assert text in answer["context"]
        # What no prompt may hold, whatever it is called, and what is too large for an index.
        key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"
        for uri, secret in (
            ((workspace / ".env").as_uri(), "TOKEN=1\n"),
            ((tmp_path / ".aws" / "config").as_uri(), "x\n"),
            ("untitled:Key", key),
        ):
            open_document(cairn, uri, secret)
            with pytest.raises(JsonRpcInvalidParams, match="may hold secrets"):
                await context(cairn, uri)
        open_document(cairn, (tmp_path / "big.log").as_uri(), "x\n" * 600_000)
        with pytest.raises(JsonRpcInvalidParams, match=r"textDocument\.uri"):
            await context(cairn, (tmp_path / "big.log").as_uri())
        given = await context(cairn, "memo:7", 0, text="ships and berths\n")
        assert given["passages"]
        # Nothing written yet.
        open_document(cairn, (workspace / "empty.py").as_uri(), "")
        empty = await context(cairn, (workspace / "empty.py").as_uri())
        assert empty["passages"] == []
        assert "- Project: `harbour`" in empty["context"]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"position": None}, "position: give either a position or a range"),
        ({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}}, "either a position"),
        ({"position": {"line": -1, "character": 0}}, "position: lines and characters are counted from 0"),
        ({"position": {"line": 99, "character": 0}}, "position: starts at line 99; the document has"),
        ({"budget": -1}, "budget: expected 0 to"),
        ({"budget": "big"}, "budget: expected a whole number"),
        ({"limit": 0}, "limit"),
        ({"textDocument": {}}, r"textDocument\.uri"),
        ({"textDocument": {"uri": "untitled:Nowhere"}}, r"textDocument\.uri: .* names no file"),
        ({"diagnostics": [{"message": "x"}]}, r"diagnostics\.range: is required"),
        ({"diagnostics": [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                           "message": "x", "severity": 9}]}, r"diagnostics\.severity: expected 1 to 4"),
        ({"diagnostics": [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                           "message": "x", "code": [1]}]}, r"diagnostics\.code: expected a string"),
        ({"openDocuments": [1]}, "openDocuments"),
        ({"cursor": 3}, "cursor: unknown field"),
    ],
)  # fmt: skip
async def test_what_cannot_be_answered_is_refused_by_name(
    daemon: Start, workspace: Path, params: dict[str, Any], problem: str
) -> None:
    uri = (workspace / "src/harbour/tides.py").as_uri()
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    async with daemon(workspace, options={"embedding": {"enabled": False}}) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        with pytest.raises(JsonRpcInvalidParams, match=problem):
            await cairn.request("cairn/context", {**place, **params})


async def test_a_cancelled_context_ends_and_the_next_one_is_answered(daemon: Start, workspace: Path) -> None:
    for number in range(150):
        words = " ".join(f"ship berth tide pilot word{number}x{n}." for n in range(60))
        (workspace / f"note{number}.md").write_text(f"# Note {number}\n\n{words}\n")
    uri = (workspace / "note7.md").as_uri()
    async with daemon(workspace, options={"embedding": {"enabled": False}}) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        asked = {
            "textDocument": {"uri": uri},
            "position": {"line": 0, "character": 0},
            "query": "which ship has which berth and pilot at what tide",
        }
        request = asyncio.ensure_future(
            cairn.client.protocol.send_request_async("cairn/context", asked, msg_id="slow")
        )
        await asyncio.sleep(0)  # until it is sent
        cairn.client.cancel_request(types.CancelParams(id="slow"))
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(request, PATIENCE_SECONDS)
        answer = await context(cairn, uri)
        assert answer["place"]["path"] == "note7.md"
        assert answer["tokens"] <= answer["budget"]


async def test_without_a_model_names_relate_and_tokens_are_estimated(daemon: Start, workspace: Path) -> None:
    schedule = (workspace / "src/harbour/schedule.py").as_uri()
    async with daemon(workspace, options={"embedding": {"enabled": False}}) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        answer = await context(cairn, schedule, 8)
        assert "called by `assign_berths`" in by_path(answer)["src/harbour/berths.py"]["reasons"]
        assert 0 <= sum(each["tokens"] for each in answer["parts"]) - answer["tokens"] < 60
        assert answer["tokens"] == -(-len(answer["context"]) // 4)
