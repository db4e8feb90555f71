"""`cairn serve --store`: each reader gets answers from what they may see, without a trace of the rest."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.git_repository import GitRepository
from tests.killable_server import KillableServer
from tests.postgres import QUICK_SETTINGS, execute
from tests.serving import Answer, wait_for
from tests.team.git_repositories import harbour, index
from tests.team.shared_town import BERTHS, PLACE, QUERIES, Town, comparable
from tests.team.team_server import LIGHTHOUSE, PASSWORD, TeamStore, machine, team_serving
from tests.web.conftest import Browser

from cairn.serve.command import serve

ENOUGH_SECONDS = 20.0
"""Seconds within which a request is answered by another server, or fails with the reason."""


def paths(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [result["path"] for result in answer.json["results"]]


def refusal(answer: Answer) -> tuple[int, str, str]:
    error = answer.json["error"]
    return answer.status, error["code"], error["message"]


# --- what is answered --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_hidden_repository_changes_no_answer(town: Town, number: int) -> None:
    name, params = QUERIES[number]
    status, answer = comparable(town.ask(town.bob, name, params))
    assert (status, answer) != town.before[number] or name in ("expand_queries", "context", "related")
    assert comparable(town.ask(town.ada, name, params)) == town.before[number]


def test_reader_with_a_grant_finds_what_is_hidden_from_others(town: Town) -> None:
    assert paths(town.ask(town.bob, "search", {"query": "kindle the lamp"}))[0] == "src/lighthouse/lamp.py"
    found = town.ask(town.bob, "references", {"symbol": "kindle_lamp"}).json
    assert [each["enclosing"]["symbol"] for each in found["references"]] == ["keeper_rota"]
    folders = {each["folder"] for each in town.ask(town.bob, "collections", {}).json}
    assert folders == {"cairn-team:///harbour", "cairn-team:///lighthouse"}
    assert "kindle_lamp" in town.ask(town.bob, "fetch_page", {"path": "src/lighthouse/lamp.py"}).json["text"]
    page = {"path": "README.md"}
    assert "cairn-team:///lighthouse" in refusal(town.ask(town.bob, "fetch_page", page))[2]
    page["folder"] = "cairn-team:///lighthouse"
    assert town.ask(town.bob, "fetch_page", page).json["text"] == LIGHTHOUSE["README.md"]


def test_place_in_a_stored_file_has_related_passages_and_a_context(town: Town) -> None:
    place = {"textDocument": BERTHS, "range": PLACE}
    related = town.ask(town.ada, "related", place).json
    assert "tests/test_berths.py" in {each["path"] for each in related["results"]}
    context = town.ask(town.ada, "context", place).json
    assert "Berth" in context["context"]


def test_status_shows_a_complete_index(town: Town) -> None:
    status = town.ask(town.ada, "status", {}).json
    assert (status["state"], status["activity"], status["warnings"]) == ("ready", "idle", [])
    assert status["files"] == {"total": 6, "indexed": 6}
    assert status["lastError"] is None


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("fetch_page", {"path": "src/lighthouse/lamp.py"}),
        ("fetch_page", {"path": "src/lighthouse"}),
        ("references", {"symbol": "kindle_lamp"}),
        ("references", {"symbol": "kindle_lanp"}),
        ("search", {"query": "a", "filter": {"path": ["lighthouse"]}}),
        ("search", {"query": "a", "filter": {"path": ["lighthuose/src"]}}),
        ("search", {"query": "a", "filter": {"collection": ["lighthouse-source"]}}),
        ("fetch_page", {"path": "README.md", "folder": "cairn-team:///lighthouse"}),
        ("related", {"textDocument": {"uri": "cairn-team:///lighthouse/README.md"}, "range": PLACE}),
        ("context", {"textDocument": {"uri": "cairn-team:///lighthouse/README.md"}, "range": PLACE}),
    ],
)
def test_hidden_name_is_refused_as_one_that_does_not_exist(town: Town, name: str, params: Any) -> None:
    absent = json.dumps(params)
    words = {"lighthouse": "greenhouse", "lighthuose": "greenhuose", "lamp.py": "vine.py"}
    words |= {"kindle_lamp": "prune_vines", "kindle_lanp": "prune_vimes"}
    for hidden_word, absent_word in words.items():
        absent = absent.replace(hidden_word, absent_word)
    answer = json.dumps(comparable(town.ask(town.ada, name, json.loads(absent))))
    for hidden_word, absent_word in words.items():
        answer = answer.replace(absent_word, hidden_word)
    assert json.dumps(comparable(town.ask(town.ada, name, params))) == answer


def test_metrics_name_no_repository(town: Town) -> None:
    town.ask(town.bob, "search", {"query": "kindle the lamp"})
    metrics = town.served.ask("/metrics", token=town.ada).body.decode()
    assert "cairn_http_requests" in metrics
    assert not any(word in metrics for word in ("lighthouse", "harbour", "lamp", "bob"))


def test_mcp_tool_answers_as_its_reader(town: Town) -> None:
    def call(token: str, tool: str, arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
            # Another reader's session does not give its rights.
            "Mcp-Session-Id": "0123456789abcdef0123456789abcdef",
        }
        body = town.served.ask("/mcp", request, headers=headers, token=token).body.decode()
        data = next((line for line in body.splitlines() if line.startswith("data: ")), f"data: {body}")
        return json.loads(data.removeprefix("data: "))["result"]

    question = {"query": "kindle the lamp"}
    assert "src/lighthouse/lamp.py" in call(town.bob, "search", question)["content"][0]["text"]
    assert "lighthouse" not in json.dumps(call(town.ada, "search", question))
    narrowed = call(town.bob, "search", {**question, "workspace": "harbour"})
    assert "lighthouse" not in json.dumps(narrowed)
    refused = call(town.ada, "search", {**question, "workspace": "lighthouse"})
    absent = call(town.ada, "search", {**question, "workspace": "greenhouse"})
    assert refused["isError"]
    assert json.dumps(absent).replace("greenhouse", "lighthouse") == json.dumps(refused)

    for path in ("lighthouse/src/lighthouse/lamp.py:1-11", "src/lighthouse/lamp.py", "kindle_lamp"):
        assert "kindle_lamp" in call(town.bob, "read", {"path": path})["content"][0]["text"]
        hidden = call(town.ada, "read", {"path": path})
        assert hidden["isError"]
        assert "kindle_lamp(" not in json.dumps(hidden)


def test_requests_that_change_answers_are_refused(town: Town) -> None:
    for name, params in [
        ("set_phase", {"phase": 0}),
        ("reindex", {}),
        ("pause", {}),
        ("feedback", {"query": "a", "contentHash": "b", "action": "opened"}),
    ]:
        assert refusal(town.ask(town.bob, name, params))[:2] == (400, "invalidParams")
    assert town.ask(town.ada, "status", {}).json["phase"] == 3


# --- one repository, one ref --------------------------------------------------------------------------


def test_workspace_names_a_repository_or_one_of_its_refs(town: Town) -> None:
    town.harbour.git("checkout", "--quiet", "-b", "feature/pilots")
    town.harbour.write({"src/harbour/pilots.py": "def guide_tanker(tanker):\n    return tanker\n"})
    commit = town.harbour.commit("Pilots")
    town.harbour.git("checkout", "--quiet", "main")
    town.index(town.harbour, "feature/pilots")
    question = {"query": "guide_tanker"}
    for workspace in ("harbour@feature/pilots", "cairn-team:///harbour@feature/pilots"):
        answer = town.ask(town.ada, "search", question, workspace)
        assert paths(answer)[0] == "src/harbour/pilots.py"
        (revision,) = answer.json["index"]["revisions"]
        assert (revision["ref"], revision["commit"]) == ("feature/pilots", commit)
        named = f"From the team's index: harbour, feature/pilots at {commit[:8]}."
        assert answer.json["index"]["source"] == named
    for workspace in ("harbour", "harbour@main", "cairn-team:///harbour", ""):
        answer = town.ask(town.ada, "search", question, workspace)
        assert "src/harbour/pilots.py" not in paths(answer)
        assert answer.json["index"]["revisions"][0]["ref"] == "main"
    only = town.ask(town.bob, "collections", {}, "lighthouse").json
    assert {each["folder"] for each in only} == {"cairn-team:///lighthouse"}


def test_workspace_names_several_repositories(town: Town) -> None:
    def folders(workspace: str) -> set[str]:
        answer = town.ask(town.bob, "collections", {}, workspace)
        return {each["folder"] for each in answer.json}

    assert folders("harbour@main,lighthouse") == folders("harbour") | folders("lighthouse")
    refused = town.ask(town.bob, "collections", {}, "harbour,greenhouse")
    assert refusal(refused)[:2] == (400, "invalidParams")


@pytest.mark.parametrize("suffix", ["", "@main", "@nowhere"])
def test_hidden_workspace_is_refused_as_one_that_does_not_exist(town: Town, suffix: str) -> None:
    hidden = town.ask(town.ada, "search", {"query": "lamp"}, f"lighthouse{suffix}")
    absent = town.ask(town.ada, "search", {"query": "lamp"}, f"greenhouse{suffix}")
    assert refusal(hidden)[:2] == (400, "invalidParams")
    assert hidden.body.replace(b"lighthouse", b"greenhouse") == absent.body


def test_repository_of_an_owner_is_named_with_its_slash(town: Town, tmp_path: Path) -> None:
    dock = GitRepository(tmp_path / "dock", {"a.md": "# Dock gates\n"})
    town.index(dock, name="port/dock gates")
    token = town.store.reader("dora", "port/dock gates")
    answer = town.ask(token, "search", {"query": "dock gates"})
    (found,) = answer.json["results"]
    assert found["uri"] == "cairn-team:///port/dock%20gates/a.md"
    for workspace in ("port/dock%20gates", found["folder"].replace("%", "%25")):
        assert paths(town.ask(token, "search", {"query": "dock gates"}, workspace)) == ["a.md"]


def test_empty_repository_is_answered_without_results(town: Town, tmp_path: Path) -> None:
    town.index(GitRepository(tmp_path / "empty", {"a.bin": "\0\0"}), name="empty")
    token = town.store.reader("emil", "empty")
    assert paths(town.ask(token, "search", {"query": "anything"})) == []
    assert town.ask(token, "status", {}).json["files"]["indexed"] == 0


def test_next_query_after_indexing_is_answered_from_the_new_snapshot(town: Town) -> None:
    question = {"query": "dredge_fairway"}
    assert "src/harbour/dredging.py" not in paths(town.ask(town.ada, "search", question))
    town.harbour.write({"src/harbour/dredging.py": "def dredge_fairway(depth):\n    return depth\n"})
    commit = town.harbour.commit("Dredging")
    town.index(town.harbour)
    answer = town.ask(town.ada, "search", question)
    assert paths(answer)[0] == "src/harbour/dredging.py"
    (revision,) = answer.json["index"]["revisions"]
    assert (revision["repository"], revision["commit"]) == ("harbour", commit)
    assert revision["folder"] == "cairn-team:///harbour"
    town.harbour.git("rm", "--quiet", "src/harbour/dredging.py")
    town.harbour.commit("No dredging")
    town.index(town.harbour)
    assert "src/harbour/dredging.py" not in paths(town.ask(town.ada, "search", question))


# --- callers -------------------------------------------------------------------------------------------


def test_cached_answers_of_one_reader_never_reach_another(town: Town) -> None:
    one, other = town.store.reader("olga", "harbour", "lighthouse"), town.store.reader("otto", "harbour")
    for name, params in (
        ("search", {"query": "bright lamp in fog"}),
        ("discover", {"query": "how bright is the lamp in the fog"}),
    ):
        for _ in range(2):
            assert b"src/lighthouse/lamp.py" in town.ask(one, name, params).body
            assert b"lighthouse" not in town.ask(other, name, params).body
    hits = [town.ask(token, "status", {}).json["latency"]["cacheHits"] for token in (one, other)]
    assert hits == [2, 2]


def test_status_has_the_latency_of_the_reader_s_own_searches(town: Town) -> None:
    one, other = town.store.reader("ines", "harbour"), town.store.reader("igor", "harbour")
    town.ask(one, "search", {"query": "ropes on the quay"})
    town.ask(other, "discover", {"query": "how are ropes tied on the quay"})
    latencies = [town.ask(token, "status", {}).json["latency"] for token in (one, other)]
    assert [each["p50"] is not None for each in latencies] == [True, False]


def test_recent_queries_of_one_reader_never_reach_another(town: Town) -> None:
    place = {"textDocument": BERTHS, "range": PLACE}
    one, other = town.store.reader("pia", "harbour"), town.store.reader("paul", "harbour")
    town.ask(one, "search", {"query": "secret plans for the quay"})
    assert b"secret plans" in town.ask(one, "context", place).body
    assert b"secret plans" not in town.ask(other, "context", place).body


def test_revoked_repository_and_token_are_gone_with_the_next_request(town: Town) -> None:
    token = town.store.reader("rita", "harbour", "lighthouse")
    question = {"query": "kindle the lamp"}
    assert paths(town.ask(token, "search", question))[0] == "src/lighthouse/lamp.py"
    town.store.owned.revoke("rita", ["lighthouse"])
    assert b"lighthouse" not in town.ask(token, "search", question).body
    town.store.owned.revoke("rita", [])
    assert refusal(town.ask(token, "search", question))[:2] == (401, "unauthorized")
    again = town.store.owned.token("rita")
    assert paths(town.ask(again, "search", question)) == []
    assert town.ask(again, "collections", {}).json == []


def test_token_is_refused_once_it_expired(town: Town) -> None:
    valid, expired = town.store.expiring_token("ada", 3600), town.store.expiring_token("ada", -1)
    assert town.ask(valid, "status", {}).status == 200
    code, name, message = refusal(town.ask(expired, "status", {}))
    assert (code, name) == (401, "unauthorized")
    assert "cairn team grant" in message


@pytest.mark.parametrize(
    "token", ["", "cairn_guess", "A" * 5_000, "\xe4", "ada", "'; DROP TABLE cairn.tokens"]
)
def test_invalid_token_is_refused_everywhere(town: Town, token: str) -> None:
    for path in ("/api/v1/search", "/mcp", "/metrics", "/team/v1/locate", "/nothing"):
        answer = town.served.ask(path, method="POST", token=token)
        assert refusal(answer)[:2] == (401, "unauthorized"), path
        assert not token.strip() or token not in answer.body.decode()
    assert town.served.ask("/healthz", token="").json == {"ok": True}
    assert town.served.ask("/readyz", token="").json == {"ready": True}


# --- servers that come and go -----------------------------------------------------------------------------


def test_requests_go_on_at_a_replica_and_after_a_restart(server_folder: Path, tmp_path: Path) -> None:
    primary = KillableServer(server_folder / "primary", settings=QUICK_SETTINGS)
    primary.start()
    execute(primary.url(), "CREATE DATABASE cairn")
    execute(primary.url("cairn"), "CREATE EXTENSION vector")
    store = TeamStore.prepared(primary.url("cairn"))
    environment, log = machine(tmp_path), tmp_path / "log"
    index(store.url, harbour(tmp_path / "harbour"))
    token = store.reader("ada", "harbour")
    replica = primary.make_replica(server_folder / "replica", settings=QUICK_SETTINGS)
    replica.start()
    follower = store.server_url.replace(f":{primary.port}/", f":{replica.port}/")
    stores = tmp_path / "stores"
    stores.write_text(f"# The primary and its replica.\n{store.server_url}\n{follower}\n")
    stores.chmod(0o600)
    with team_serving(str(stores), log=log, environment=environment) as served:

        def ask(question: str) -> Answer:
            began = time.monotonic()
            answer = served.ask("/api/v1/search", {"query": question}, token=token)
            assert time.monotonic() - began < ENOUGH_SECONDS
            return answer

        assert paths(ask("moor a ship"))[0] == "src/harbour/berths.py"
        primary.kill()
        assert paths(ask("hour of high water"))[0] == "src/harbour/tides.py"
        assert paths(ask("assign ships"))[0] == "src/harbour/schedule.py"
        replica.stop()
        for question in ("moor a ship", "shortest free berth"):
            status, code, message = refusal(ask(question))
            assert (status, code) == (503, "unavailable")
            assert "Start PostgreSQL there" in message
            assert PASSWORD not in message
        unready = served.ask("/readyz", token="")
        assert (unready.status, unready.json) == (503, {"ready": False})
        assert served.ask("/healthz", token="").status == 200
        primary.start()
        wait_for(lambda: ask("free berth for a long ship").status == 200)
        wait_for(lambda: served.ask("/readyz", token="").status == 200)
    assert token not in log.read_text()


def test_folders_are_not_served_beside_a_store(tmp_path: Path) -> None:
    done = CliRunner().invoke(serve, [str(tmp_path), "--store", "postgresql://127.0.0.1/cairn"])
    assert "Give folders or --store, not both" in str(done.exception)


# --- the page in a browser --------------------------------------------------------------------------------


def test_page_shows_each_reader_what_they_may_see(town: Town) -> None:
    def page(token: str, path: str) -> str:
        browser = Browser(town.served)
        assert browser.ask("/ui/sign-in", method="POST", body=f"token={token}").status == 303
        return browser.ask(path).body.decode()

    for path in ("/ui/?q=kindle+the+lamp", "/ui/answer?whole=1&q=how+is+the+lamp+kindled"):
        assert "src/lighthouse/lamp.py" in page(town.bob, path)
        assert "src/lighthouse/lamp.py" not in page(town.ada, path)
    hidden = page(town.ada, "/ui/?q=lamp&repository=lighthouse")
    assert "There is no repository &#39;lighthouse&#39; that you may see" in hidden
    assert "berths.py" in page(town.ada, "/ui/?q=moor+a+ship&repository=cairn-team:///harbour")


def test_page_of_a_revoked_reader_shows_nothing_more(town: Town) -> None:
    token, browser = town.store.reader("eve", "harbour"), Browser(town.served)
    browser.ask("/ui/sign-in", method="POST", body=f"token={token}")
    assert "berths.py" in browser.page("/ui/", q="moor a ship")
    town.store.owned.revoke("eve", [])
    answer = browser.ask("/ui/?q=moor+a+ship")
    assert answer.status == 401
    assert b"berths.py" not in answer.body
