"""`cairn/context`: the passages for a panel that follows the cursor, and the prompt copied from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

from cairn.embedding.packaged import load_vocabulary

from .daemon import NO_MODEL, UNWATCHED, Daemon, run_daemon

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

QUOTED = re.compile(
    r"^### (\S+)#L(\d+)-L(\d+)[^\n]*\n(?:Why: [^\n]*\n)?\n(`{3,})\S*\n(.*?)^\4$", re.MULTILINE | re.DOTALL
)
"""A quoted passage of a prompt: path, first line, last line, fence, text."""
BERTHS = "src/harbour/berths.py"
SCHEDULE = "src/harbour/schedule.py"
TIDES = "src/harbour/tides.py"


def at(document: Path | str, line: int = 0) -> dict[str, Any]:
    uri = document if isinstance(document, str) else document.as_uri()
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}


def span(first: int, end: int) -> dict[str, Any]:
    return {"start": {"line": first, "character": 0}, "end": {"line": end, "character": 0}}


async def context(cairn: Daemon, document: Path | str, line: int = 0, **params: Any) -> Any:
    return await cairn.request("cairn/context", {**at(document, line), **params})


def by_path(answer: Any) -> dict[str, Any]:
    return {each["result"]["path"]: each for each in answer["passages"]}


def selected(workspace: Path, passage: Any) -> str:
    """Return the lines of the file for which the passage is related."""
    result = passage["result"]
    first, end = (result["selectionRange"][side]["line"] for side in ("start", "end"))
    return "".join((workspace / result["path"]).read_text().splitlines(keepends=True)[first:end])


def check_sizes(answer: Any) -> None:
    """Assert that the whole has as many tokens as its parts, except for blank lines that it does not need."""
    assert 0 <= sum(each["tokens"] for each in answer["parts"]) - answer["tokens"] <= len(answer["parts"])


def part(answer: Any, name: str) -> Any:
    return next(each for each in answer["parts"] if each["name"] == name)


async def test_a_cursor_in_a_function_gets_related_passages_and_a_prompt(workspace: Path) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs/assigning.md").write_text(
        "# Assigning berths\n\nEach arriving ship is assigned the shortest free berth by `assign_berths`.\n"
    )
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        answer = await context(cairn, workspace / SCHEDULE, 8)
    found = by_path(answer)
    berths, document = found[BERTHS], found["docs/assigning.md"]
    assert (berths["group"], document["group"]) == ("code", "documents")
    assert berths["reasons"][0] == "called by `assign_berths`"
    assert "file that it imports" in berths["reasons"]
    assert "explains `assign_berths`" in document["reasons"]
    assert "def moor_ship" in selected(workspace, berths)
    assert "`assign_berths`" in selected(workspace, document)
    assert "moor_ship" in berths["result"]["matchedTerms"]
    assert SCHEDULE not in found  # the file is a single chunk
    assert answer["place"]["symbol"] == "assign_berths"
    assert answer["place"]["range"]["start"]["line"] <= 8 < answer["place"]["range"]["end"]["line"]
    assert answer["index"]["complete"] is True
    prompt = answer["context"]
    assert "- Project: `harbour`" in prompt
    assert "Harbour is a small library that schedules ships into the berths of a port." in prompt
    assert "- Cursor: `src/harbour/schedule.py`, line 9, in `assign_berths`" in prompt
    assert prompt.index("## Core concepts") < prompt.index("## Relevant passages") < prompt.index("## Editor")
    citations = QUOTED.findall(prompt)
    assert {path for path, *_ in citations} >= {"README.md", "docs/assigning.md", SCHEDULE}
    for path, first, last, _, quoted in citations:
        lines = (workspace / path).read_text().splitlines(keepends=True)
        assert "".join(lines[int(first) - 1 : int(last)]) == quoted
    assert answer["tokens"] <= answer["budget"] == 3000
    check_sizes(answer)
    assert answer["dropped"] == []


async def test_a_move_within_a_chunk_uses_the_cache_and_typing_does_not(workspace: Path) -> None:
    cranes = workspace / "src/harbour/cranes.py"
    cranes.write_text("def lift(cargo):\n    weight = cargo\n    return weight\n")
    async with run_daemon(workspace, options=UNWATCHED) as cairn:
        await cairn.ready()
        first = await context(cairn, cranes, 0)
        moved = await context(cairn, cranes, 1)
        assert ("cached" in first["timings"], "cached" in moved["timings"]) == (False, True)
        assert moved["passages"] == first["passages"]
        assert "line 2, in `lift`" in moved["context"]
        again = await context(cairn, cranes, 1)
        assert {**again, "timings": {}} == {**moved, "timings": {}}
        assert "called by `lift`" not in by_path(first).get(BERTHS, {"reasons": ()})["reasons"]
        cairn.open(cranes, cranes.read_text())
        cairn.change(cranes, "def lift(cargo, berth):\n    berth.moor_ship(cargo)\n    return cargo\n")
        typed = await context(cairn, cranes, 1)
        assert "cached" not in typed["timings"]
        assert "berth.moor_ship(cargo)" in typed["context"]


async def test_a_prompt_keeps_the_budget_of_the_settings_or_of_the_request(workspace: Path) -> None:
    berths = workspace / BERTHS
    async with run_daemon(workspace, options={"context": {"passages": 250}}) as cairn:
        await cairn.ready()
        answer = await context(cairn, berths, 12)
        assert answer["budget"] == 1750
        assert part(answer, "passages")["tokens"] <= part(answer, "passages")["budget"] == 250
        assert {each["part"] for each in answer["dropped"]} == {"passages"}
        small = await context(cairn, berths, 12, budget=170)
        assert small["tokens"] <= small["budget"] == 170
        assert small["passages"] == answer["passages"]
        assert len((await context(cairn, berths, 12, limit=1))["passages"]) == 1 < len(answer["passages"])


async def test_a_prompt_describes_the_state_of_the_editor(workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text('[search]\ncore_concepts = ["berth", "tide"]\n')
    berths, tides = workspace / BERTHS, workspace / TIDES
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        await cairn.search("w")
        await cairn.search("where are ships moored")
        cairn.open(tides, tides.read_text())
        problem = {
            "range": {"start": {"line": 9, "character": 4}, "end": {"line": 9, "character": 20}},
            "severity": 2, "message": "ship may be None", "source": "ty", "code": 17,
        }  # fmt: skip
        selection = {"start": {"line": 10, "character": 0}, "end": {"line": 12, "character": 3}}
        params = {"textDocument": {"uri": berths.as_uri()}, "range": selection, "diagnostics": [problem]}
        prompt = (await cairn.request("cairn/context", params))["context"]
        for line in (
            "- Terms: `berth`, `tide`",
            "- Open: `src/harbour/tides.py`",
            "- Selection: `src/harbour/berths.py`, lines 11 to 13, in `Berth`",
            "### src/harbour/berths.py#L11-L13 selected",
            "- Warning, `src/harbour/berths.py#L10-L10` (ty 17): ship may be None",
            "- `where are ships moored`",
        ):
            assert f"{line}\n" in prompt
        assert "- `w`\n" not in prompt
        documents = [(workspace / "README.md").as_uri(), "untitled:Notes"]
        answer = await context(cairn, berths, 5, openDocuments=documents, recentQueries=["tide tables"])
        assert "- Open: `README.md`\n- Open: `Notes`\n" in answer["context"]
        assert "tides.py`" not in answer["context"].partition("## Editor")[2]
        assert answer["context"].endswith("## Recent queries\n\n- `tide tables`\n")


async def test_the_query_of_a_request_ranks_its_passages_first(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        answer = await context(cairn, workspace / BERTHS, 5, query="hour of high water")
        first = answer["passages"][0]
        assert first["result"]["path"] == TIDES
        assert "found by the query" in first["reasons"]
        assert any("tests `Berth`" in each["reasons"] for each in answer["passages"])
        assert BERTHS not in by_path(answer)
        assert "- `hour of high water`\n" in answer["context"]
        assert "hour of high water" not in (await context(cairn, workspace / BERTHS, 5))["context"]


async def test_the_open_text_answers_for_a_document_without_index(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".gitignore").write_text("scratch/\n")
    (workspace / "scratch").mkdir()
    ignored = workspace / "scratch/try.py"
    ignored.write_text("x = 1\n")
    outside = tmp_path / "outside.py"
    text = "def unload(tide):\n    return high_water(tide, [])\n"
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        with pytest.raises(JsonRpcInvalidParams, match=r"'scratch/try.py' is not indexed"):
            await context(cairn, ignored)
        names = {"untitled:Untitled-1": "Untitled-1", ignored: "scratch/try.py", outside: "outside.py"}
        for document, name in names.items():
            cairn.open(document, text)
            answer = await context(cairn, document, 1)
            assert "defines `high_water`" in by_path(answer)[TIDES]["reasons"]
            assert answer["place"]["path"] == name
            assert f"### {name}#L1-L2 at the cursor\n\n```" in answer["context"]
            assert text in answer["context"]
        # Text that no prompt may contain, whatever its name, and text that is too large for an index.
        key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"
        secrets = {workspace / ".env": "TOKEN=1\n", tmp_path / ".aws/config": "x\n", "untitled:Key": key}
        secrets[tmp_path / "crane.toml"] = 'password = "m0untainLake7m0untain"\n'
        for document, secret in secrets.items():
            cairn.open(document, secret)
            with pytest.raises(JsonRpcInvalidParams, match="may hold secrets"):
                await context(cairn, document)
        cairn.open(tmp_path / "big.log", "x\n" * 600_000)
        with pytest.raises(JsonRpcInvalidParams, match=r"textDocument\.uri"):
            await context(cairn, tmp_path / "big.log")
        assert (await context(cairn, "memo:7", text="ships and berths\n"))["message"]
        cairn.open(workspace / "empty.py", "")
        empty = await context(cairn, workspace / "empty.py")
        assert empty["passages"] == []
        assert "- Project: `harbour`" in empty["context"]


PROBLEM = {"range": span(0, 0), "message": "x"}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"position": None}, "position: give either a position or a range"),
        ({"range": span(0, 1)}, "either a position"),
        ({"position": {"line": -1, "character": 0}}, "position: lines and characters are counted from 0"),
        ({"position": {"line": 99, "character": 0}}, "position: starts at line 99; the document has"),
        ({"budget": -1}, "budget: expected 0 to"),
        ({"budget": "big"}, "budget: expected a whole number"),
        ({"limit": 0}, "limit"),
        ({"textDocument": {}}, r"textDocument\.uri"),
        ({"textDocument": {"uri": "untitled:Nowhere"}}, r"textDocument\.uri: .* names no file"),
        ({"diagnostics": [{"message": "x"}]}, r"diagnostics\.range: is required"),
        ({"diagnostics": [{**PROBLEM, "severity": 9}]}, r"diagnostics\.severity: expected 1 to 4"),
        ({"diagnostics": [{**PROBLEM, "code": [1]}]}, r"diagnostics\.code: expected a string"),
        ({"openDocuments": [1]}, "openDocuments"),
        ({"cursor": 3}, "cursor: unknown field"),
    ],
)
async def test_a_refusal_names_the_bad_param(harbour: Daemon, params: dict[str, Any], problem: str) -> None:
    with pytest.raises(JsonRpcInvalidParams, match=problem):
        await context(harbour, harbour.root / TIDES, **params)


async def test_names_relate_and_tokens_are_counted_without_a_model(workspace: Path) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        answer = await context(cairn, workspace / SCHEDULE, 8)
        assert "called by `assign_berths`" in by_path(answer)[BERTHS]["reasons"]
        check_sizes(answer)
        assert answer["tokens"] == load_vocabulary().count(answer["context"])
