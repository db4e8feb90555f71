"""The same request has the same answer through LSP, REST, MCP and the command line, byte for byte but for times."""

from __future__ import annotations

import json
import os
import subprocess
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
from tests.harbour import HARBOUR

from .conftest import PATIENCE_SECONDS, PATIENT

QUESTION = "how are ships assigned to berths"
Ask = Callable[[str, Mapping[str, Any]], Any]


@frozen
class Fronts:
    """Every way to ask, by name; each raises AnswerError."""

    root: Path
    by_name: Mapping[str, Ask]

    def answers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """The answers as JSON text, without what no two requests have in common.

        MCP has no tool for some methods, and leaves out what its answer to `discover` says elsewhere.
        """
        asked = self.by_name.items()
        tools = (TOOLS | set(STAGES)) - {"discover"}
        return {
            name: json.dumps(timeless(ask(method, params)), ensure_ascii=False)
            for name, ask in asked
            if method in tools or not name.startswith("mcp")
        }


TOOLS = {"search", "discover", "related", "references", "fetchPage", "status"}
_TIMES = ("timings", "totalTimeMs", "stages")


def timeless(answer: Any) -> Any:
    """Without what took how long."""
    if isinstance(answer, dict):
        return {key: timeless(value) for key, value in answer.items() if key not in _TIMES}
    return [timeless(value) for value in answer] if isinstance(answer, list) else answer


def mcp_over_stdio(root: Path) -> Mcp:
    """`cairn mcp` in a process of its own."""
    command = ["-m", "cairn", "mcp", str(root)]
    return Mcp(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ)))


def from_command_line(root: Path) -> Ask:
    def ask(method: str, params: Mapping[str, Any]) -> Any:
        command = (sys.executable, "-m", "cairn", "call", method, "-", "-C", str(root))
        done = subprocess.run(
            command,
            input=json.dumps(params),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE_SECONDS,
        )
        printed = json.loads(done.stdout)
        if done.returncode:
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
def fronts(real_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronts]:
    """Six ways to ask about the harbour, over one index."""
    root, data = tmp_path_factory.mktemp("work") / "harbour", tmp_path_factory.mktemp("data")
    for path, text in HARBOUR.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    for shared in ("models", "grammars"):
        (data / shared).symlink_to(real_models.parent / shared, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(data))
        patch.setenv("CAIRN_CONFIG_DIR", str(data / "settings"))
        patch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", str(PATIENT["legDeadlineMs"]))
        # A file that was written when it was read is read again a little later, which raises the generation.
        for _ in range(2):
            subprocess.run(
                (sys.executable, "-m", "cairn", "index", str(root)), check=True, capture_output=True
            )
        with serving(root, data) as server, Daemon(root, data) as daemon:
            clients: dict[str, Asker] = {
                "rest": Rest(server),
                "lsp over a socket": Lsp(server, root),
                "mcp over http": Mcp(server),
                "mcp over stdio": mcp_over_stdio(root),
            }
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not is_at_rest(clients["rest"].ask("status", {})):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            asks = {name: client.ask for name, client in clients.items()}
            asks["lsp over stdio"] = over_stdio(daemon)
            asks["command line"] = from_command_line(root)
            yield Fronts(root, asks)
            for client in clients.values():
                client.close()


def is_at_rest(status: Any) -> bool:
    """Nothing is left to do that would raise the generation: history and imports come after the vectors."""
    return bool(status["state"] == "ready" and status["activity"] == "idle")


def requests(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Of every method that changes nothing; the stages come in a test of their own."""
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
        ("context", {"textDocument": berths, "range": place, "openDocuments": [], "recentQueries": []}),
        ("fetchPage", {"path": "README.md"}),
        ("collections", {}),
    ]


def test_every_method_that_changes_nothing_answers_alike_through_every_front(fronts: Fronts) -> None:
    asked = requests(fronts.root)
    unasked = {name for name, method in METHODS.items() if not method.changes} - {name for name, _ in asked}
    assert unasked == {"status", *STAGES}, "a new method is asked here, too"
    for method, params in asked:
        answers = fronts.answers(method, params)
        assert len(answers) == (6 if method in TOOLS - {"discover"} else 4)
        assert len(set(answers.values())) == 1, (method, params, answers)
        assert len(next(iter(answers.values()))) > 100, "they are not alike because they are empty"


def test_mcp_hands_over_a_discovery_without_what_it_says_elsewhere(fronts: Fronts) -> None:
    whole = timeless(fronts.by_name["rest"]("discover", {"query": QUESTION}))
    assert whole["excerpts"]
    for name in ("mcp over http", "mcp over stdio"):
        answer = timeless(fronts.by_name[name]("discover", {"query": QUESTION}))
        assert answer == {key: value for key, value in whole.items() if key in answer}
        assert whole.keys() - answer.keys() == {"answerPrompt", "bullets", "chunks"}


def test_the_stages_answer_alike_each_with_what_the_one_before_it_returned(fronts: Fronts) -> None:
    def agreed(method: str, **params: Any) -> Any:
        answers = fronts.answers(method, params)
        assert len(answers) == 6
        assert len(set(answers.values())) == 1, (method, answers)
        (answer,) = json.loads(next(iter(answers.values()))).values() if method != "renderPrompt" else ({},)
        return answer

    chosen = agreed("filterCollections", query=QUESTION)
    scored = agreed("scoreCollections", query=QUESTION, collections=chosen)
    queries = agreed("expandQueries", query=QUESTION)
    broad = agreed("broadDiscovery", queries=queries, collections=scored)
    focused = agreed("semanticFocus", collection=scored[0], queries=queries)
    hits = agreed("promoteReadme", hits=[*broad, *focused], query=QUESTION)
    bullets = agreed("compressEvidence", chunks=hits, query=QUESTION)
    plan = agreed("buildAnswerPlan", bullets=bullets)
    agreed("renderPrompt", plan=plan, query=QUESTION)
    assert bullets


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("search", {}, "query: is required"),
        ("search", {"query": "x", "limit": 0}, "limit: expected 1 to 200, got 0"),
        ("search", {"query": "x", "filter": {"language": "pythom"}}, "did you mean python"),
        ("discover", {"query": "x", "config": {"broad": {"kPerQueri": 3}}}, "did you mean kPerQuery"),
        ("fetchPage", {"path": "../secret"}, "is not in the workspace folder"),
        ("renderPrompt", {"plan": 3}, "plan: expected an object, got 3"),
    ],
)
def test_a_bad_request_is_refused_in_the_same_words(
    fronts: Fronts, method: str, params: dict[str, Any], message: str
) -> None:
    for name, ask in fronts.by_name.items():
        with pytest.raises(AnswerError) as refused:
            ask(method, params)
        assert message in str(refused.value), name


def test_the_status_has_the_same_fields_everywhere(fronts: Fronts) -> None:
    answers = [ask("status", {}) for ask in fronts.by_name.values()]
    assert len({tuple(answer) for answer in answers}) == 1
    assert {answer["chunks"] for answer in answers} == {answers[0]["chunks"]}
