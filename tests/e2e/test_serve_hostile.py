"""Requests that nobody should send: each is refused or answered, nothing fails, and the server goes on.

`CAIRN_HOSTILE_REQUESTS` sets how many; `benchmarks/hostile_http.py` sends them to a server that runs already.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hostile_http import attack, target_of

from tests.serving import serving, until

REQUESTS = int(os.environ.get("CAIRN_HOSTILE_REQUESTS", "400"))

pytestmark = pytest.mark.usefixtures("bare_data_dir")


def test_hostile_requests_are_refused_or_answered(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("out of bounds")
    with serving(str(workspace)) as served:
        until(lambda: served.ask("/readyz").status == 200)
        target = target_of(served.addresses["url"], served.token, served.ask("/openapi.json").json)
        report = asyncio.run(attack(target, REQUESTS, seed=REQUESTS))
        assert report.problems == []
        assert sum(report.by_kind.values()) == REQUESTS
        assert {"200", "400", "401", "403", "404", "413", "415", "421"} <= set(report.statuses)
        assert served.ask("/healthz").status == 200
        assert served.call("fetch_page", {"path": "README.md"})["text"].startswith("# Harbour")
