"""A request has the same answer, except for times, through LSP, REST, MCP and the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from engine.daemon import Daemon, RequestError
from mcp.client.stdio import StdioServerParameters
from serving.clients import AnswerError, Asker, Lsp, Mcp, Rest
from serving.server import serving

from cairn.engine.methods import METHODS, STAGES
from tests.harbour import HARBOUR, MOOR_DIFF, write_files
from tests.serving import PATIENCE_SECONDS

from .command_line import run_cairn
from .daemon import PATIENT
from .shared import environment_of

QUESTION = "how are ships assigned to berths"
Ask = Callable[[str, Mapping[str, Any]], Any]


@frozen
class Fronts:
    """All ways to ask, by name; each raises AnswerError."""

    root: Path
    by_name: Mapping[str, Ask]

    def answers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """Return the answers as JSON text without what varies, by front.

        MCP is left out for methods without a tool, and for `discover`, of which it answers only a part.
        """
        tools = (TOOLS | set(STAGES)) - {"discover"}
        return {
            name: json.dumps(without_varying(ask(method, params)), ensure_ascii=False)
            for name, ask in self.by_name.items()
            if method in tools or not name.startswith("mcp")
        }


TOOLS = {"search", "discover", "related", "references", "change", "fetchPage", "status"}
_VARYING = ("timings", "totalTimeMs", "stages", "generation")
"""Times, and the generation, which upkeep of an idle index raises without another effect on answers."""


def without_varying(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: without_varying(value) for key, value in answer.items() if key not in _VARYING}
    return [without_varying(value) for value in answer] if isinstance(answer, list) else answer


def mcp_over_stdio(root: Path) -> Mcp:
    command = ["-m", "cairn", "mcp", str(root)]
    return Mcp(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ)))


def from_command_line(root: Path) -> Ask:
    def ask(method: str, params: Mapping[str, Any]) -> Any:
        ran = run_cairn("call", method, "-", "-C", str(root), stdin=json.dumps(params), code=None)
        printed = json.loads(ran.stdout)
        if "error" in printed:
            raise AnswerError(printed["error"]["message"])
        return printed

    return ask


def over_stdio(daemon: Daemon) -> Ask:
    def ask(method: str, params: Mapping[str, Any]) -> Any:
        try:
            return daemon.request(f"cairn/{method}", dict(params), PATIENCE_SECONDS)
        except RequestError as problem:
            raise AnswerError(str(problem)) from problem

    return ask


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronts]:
    """Six ways to ask about the small project, over one index."""
    root = write_files(tmp_path_factory.mktemp("shared") / "harbour", HARBOUR)
    with (
        environment_of(root),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", str(PATIENT["legDeadlineMs"]))
        run_cairn("index", str(root))
        data = root.with_name("data")
        with serving(root, data) as server, Daemon(root, data) as daemon:
            clients: dict[str, Asker] = {
                "rest": Rest(server),
                "lsp over a socket": Lsp(server, root),
                "mcp over http": Mcp(server),
                "mcp over stdio": mcp_over_stdio(root),
            }
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not is_complete(clients["rest"].ask("status", {})):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            asks = {name: client.ask for name, client in clients.items()}
            asks["lsp over stdio"] = over_stdio(daemon)
            asks["command line"] = from_command_line(root)
            yield Fronts(root, asks)
            for client in clients.values():
                client.close()


def is_complete(status: Any) -> bool:
    """Return whether nothing is left to do: history and imports come after the vectors."""
    return bool(status["state"] == "ready" and status["activity"] == "idle")


def requests(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return requests to every method that changes nothing, except for the stages of discovery."""
    berths = {"uri": (root / "src/harbour/berths.py").as_uri()}
    place = {"start": {"line": 9, "character": 0}, "end": {"line": 12, "character": 0}}
    return [
        ("search", {"query": QUESTION}),
        ("search", {"query": "moor_ship", "explain": True, "context": 2, "limit": 3}),
        ("search", {"query": '"berth is taken"', "filter": {"type": "code", "path": ["src/**"]}}),
        ("search", {"query": "tides", "alpha": 1, "filter": {"collection": ["harbour-source"]}}),
        ("search", {"query": "quantum chromodynamics Größe 船"}),
        ("discover", {"query": QUESTION}),
        ("discover", {"query": "What is Harbour?", "maxBullets": 3, "format": "json"}),
        ("related", {"textDocument": berths, "range": place, "limit": 3}),
        ("references", {"symbol": "Berth.moor_ship", "depth": 2}),
        ("references", {"symbol": "assign_berths", "direction": "callees"}),
        ("change", {"diff": MOOR_DIFF, "maxTokens": 1_000}),
        ("context", {"textDocument": berths, "range": place, "openDocuments": [], "recentQueries": []}),
        ("fetchPage", {"path": "README.md"}),
        ("collections", {}),
    ]


def differing(answers: Mapping[str, str]) -> dict[str, str]:
    """Return each front's answer from shortly before the first character in which the answers differ."""
    characters = zip(*answers.values(), strict=False)
    equal = next((place for place, each in enumerate(characters) if len(set(each)) > 1), 0)
    return {name: text[max(0, equal - 40) : equal + 80] for name, text in answers.items()}


def test_every_front_gives_the_same_answer(fronts: Fronts) -> None:
    asked = requests(fronts.root)
    missing = {name for name, method in METHODS.items() if not method.changes} - {name for name, _ in asked}
    assert missing == {"status", *STAGES}, "add a request to the new method"
    for method, params in asked:
        answers = fronts.answers(method, params)
        assert len(answers) == (6 if method in TOOLS - {"discover"} else 4)
        assert len(set(answers.values())) == 1, (method, params, differing(answers))
        assert len(next(iter(answers.values()))) > 100, "empty answers prove nothing"


def test_mcp_answers_the_parts_of_a_discovery_that_agents_use(fronts: Fronts) -> None:
    whole = without_varying(fronts.by_name["rest"]("discover", {"query": QUESTION}))
    assert whole["excerpts"]
    for name in ("mcp over http", "mcp over stdio"):
        answer = without_varying(fronts.by_name[name]("discover", {"query": QUESTION}))
        assert answer == {key: value for key, value in whole.items() if key in answer}
        assert whole.keys() - answer.keys() == {"answerPrompt", "bullets", "chunks"}


def test_every_front_gives_the_same_answers_of_the_stages_in_a_row(fronts: Fronts) -> None:
    def stage(method: str, **params: Any) -> Any:
        answers = fronts.answers(method, params)
        assert len(answers) == 6
        assert len(set(answers.values())) == 1, (method, answers)
        (answer,) = json.loads(next(iter(answers.values()))).values() if method != "renderPrompt" else ({},)
        return answer

    chosen = stage("filterCollections", query=QUESTION)
    scored = stage("scoreCollections", query=QUESTION, collections=chosen)
    queries = stage("expandQueries", query=QUESTION)
    broad = stage("broadDiscovery", queries=queries, collections=scored)
    focused = stage("semanticFocus", collection=scored[0], queries=queries)
    hits = stage("promoteReadme", hits=[*broad, *focused], query=QUESTION)
    bullets = stage("compressEvidence", chunks=hits, query=QUESTION)
    plan = stage("buildAnswerPlan", bullets=bullets)
    stage("renderPrompt", plan=plan, query=QUESTION)
    assert bullets


BUDGET = "config.render.maxPromptTokens"


def with_budget(tokens: int) -> dict[str, Any]:
    return {"query": "x", "config": {"render": {"maxPromptTokens": tokens}}}


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("search", {}, "query: is required"),
        ("search", {"query": "x", "limit": 0}, "limit: expected 1 to 10,000, got 0"),
        ("search", {"query": "x", "filter": {"language": "pythom"}}, "did you mean python"),
        ("discover", {"query": "x", "config": {"broad": {"kPerQueri": 3}}}, "did you mean kPerQuery"),
        ("discover", {"query": ""}, "query: is empty; ask a question or name a symbol"),
        ("discover", {"query": " \n\t"}, "query: is empty; ask a question or name a symbol"),
        ("discover", {"query": "x", "config": [4000]}, "config: expected an object, got [4000]"),
        ("discover", with_budget(0), f"{BUDGET}: expected 100 to 1,000,000, got 0"),
        ("discover", with_budget(-1), f"{BUDGET}: expected 100 to 1,000,000, got -1"),
        ("discover", with_budget(10_000_000), f"{BUDGET}: expected 100 to 1,000,000, got 10000000"),
        ("fetchPage", {"path": "../secret"}, "is not in the workspace folder"),
        ("renderPrompt", {"plan": 3}, "plan: expected an object, got 3"),
    ],
)
def test_every_front_refuses_a_bad_request_in_the_same_words(
    fronts: Fronts, method: str, params: dict[str, Any], message: str
) -> None:
    for name, ask in fronts.by_name.items():
        with pytest.raises(AnswerError) as refused:
            ask(method, params)
        assert message in str(refused.value), name


def test_every_front_gives_the_same_fields_of_the_status(fronts: Fronts) -> None:
    answers = [ask("status", {}) for ask in fronts.by_name.values()]
    assert len({tuple(answer) for answer in answers}) == 1
    assert {answer["chunks"] for answer in answers} == {answers[0]["chunks"]}
