"""Hostile requests: each is refused or answered, none fails or leaks a secret, and the server goes on.

`CAIRN_HOSTILE_REQUESTS` sets how many of each kind; `benchmarks/hostile.py` sends thousands.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import hostile_http
import hostile_lsp
import hostile_mcp
import pytest
from hostile_traffic import Report, escaped, write_secret

from tests.serving import Served, serving, wait_for

from .shared import environment_of

REQUESTS = int(os.environ.get("CAIRN_HOSTILE_REQUESTS", "400"))


@pytest.fixture(scope="module")
def root(harbour_folder: Path) -> Iterator[Path]:
    """The small project beside a secret, with the data folder of all processes of the module."""
    write_secret(harbour_folder)
    with environment_of(harbour_folder):
        yield harbour_folder


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[Served]:
    with serving(str(root)) as server:
        wait_for(lambda: server.ask("/readyz").status == 200)
        yield server


def check_server(served: Served) -> None:
    assert served.ask("/healthz").status == 200
    # On a busy machine a search may use up its time, and then answers with nothing.
    wait_for(lambda: served.call("search", {"query": "moor a ship"})["results"])
    assert served.call("fetch_page", {"path": "README.md"})["text"].startswith("# Harbour")


def check_report(report: Report) -> None:
    assert report.problems == []
    assert (report.failures, report.hangs) == (0, 0)
    assert sum(report.by_kind.values()) == REQUESTS


def test_hostile_requests_are_refused_or_answered(served: Served) -> None:
    target = hostile_http.target_of(served.addresses["url"], served.token, served.ask("/openapi.json").json)
    report = asyncio.run(hostile_http.attack(target, REQUESTS, seed=REQUESTS))
    check_report(report)
    assert {"200", "400", "401", "403", "404", "413", "415", "421"} <= set(report.outcomes)
    check_server(served)


def test_hostile_lsp_messages_are_refused_or_answered(served: Served, root: Path) -> None:
    description = served.ask("/openapi.json").json
    target = hostile_lsp.target_of("127.0.0.1", served.addresses["lspPort"], served.token, root, description)
    report = asyncio.run(hostile_lsp.attack(target, REQUESTS, seed=REQUESTS))
    check_report(report)
    assert {"result", "closed", "-32600", "-32601", "-32602", "-32700"} <= set(report.outcomes)
    check_server(served)


def test_hostile_mcp_messages_over_http_are_refused_or_answered(served: Served, root: Path) -> None:
    target = hostile_mcp.target_of(served.addresses["mcp"], served.token)
    report = asyncio.run(hostile_mcp.attack_http(target, root, REQUESTS, seed=REQUESTS))
    check_report(report)
    assert {"200", "400", "401", "403"} <= set(report.outcomes)
    assert asyncio.run(hostile_mcp.status_over_http(target)) == ""
    check_server(served)


def test_hostile_mcp_messages_over_stdio_are_refused_or_answered(root: Path) -> None:
    report = asyncio.run(hostile_mcp.attack_stdio(root, REQUESTS, seed=REQUESTS))
    check_report(report)
    assert {"result", "-32600", "-32700", "-32602"} <= set(report.outcomes)
    assert {"noise", "large"} <= set(report.by_kind)


# --- the judgement of answers ------------------------------------------------------------------------

_JSON = b"HTTP/1.1 %s x\r\nContent-Type: application/json\r\n\r\n%s"


@pytest.mark.parametrize(
    ("answer", "kind", "problem"),
    [
        (b"", "any JSON", "no answer but a closed connection"),
        (b"noise", "any JSON", "not HTTP"),
        (_JSON % (b"500", b"{}"), "any JSON", "a failure"),
        (_JSON % (b"504", b'{"error": {"code": "outOfTime", "message": "m"}}'), "any JSON", "a failure"),
        (_JSON % (b"503", b'{"error": {"code": "internal", "message": "m"}}'), "any JSON", "a failure"),
        (_JSON % (b"400", b'{"error": {}}'), "any JSON", "a refusal without its reason"),
        (_JSON % (b"200", b'{"score": NaN}'), "any JSON", "not JSON"),
        (_JSON % (b"200", b'{"text": "root:x:0:0:root"}'), "escape", "outside of the workspace"),
    ],
)
def test_the_judge_reports_a_wrong_answer(answer: bytes, kind: str, problem: str) -> None:
    assert problem in hostile_http.judged(answer, kind)[1]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", "no HTTP"),
        (b"", "wrong length"),
        (b"", "large"),
        (_JSON % (b"503", b'{"error": {"code": "busy", "message": "m"}}'), "any JSON"),
        (_JSON % (b"400", b'{"error": {"code": "invalidParams", "message": "m"}}'), "any JSON"),
        (_JSON % (b"200", b"{}"), "any JSON"),
    ],
)
def test_the_judge_accepts_a_right_answer_or_refusal(answer: bytes, kind: str) -> None:
    assert hostile_http.judged(answer, kind)[1] == ""


def test_the_judge_recognises_the_secret(root: Path) -> None:
    assert escaped((root.parent / "secret.txt").read_bytes())
    assert not escaped(b'{"path": "../secret.txt"}')
