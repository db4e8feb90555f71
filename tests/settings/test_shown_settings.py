"""Settings on display by `cairn config`, and which of them make a folder be indexed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.conftest import IDLE
from tests.settings.setting_trees import Write, attributes

from cairn.cli.main import cli
from cairn.engine import engine
from cairn.settings.layers import overlay
from cairn.settings.sources import user_file
from cairn.settings.tree import Settings


@pytest.mark.parametrize(
    ("values", "concerns"),
    [
        ({"retrieval": {"killSwitch": {"p95Ms": 5}}}, False),
        ({"search": {"candidates": 5}}, False),
        ({"serve": {"port": 5}}, False),
        ({"retrieval": {"phase": 2}}, True),
        ({"retrieval": {"enabled": False}}, True),
        ({"index": {"exclude": ["a"]}}, True),
        ({"embedding": {"textTokens": 9}}, True),
    ],
)
def test_only_indexing_settings_restart_indexing(values: dict[str, Any], concerns: bool) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert warnings == []
    assert (engine._indexing(settings) != engine._indexing(Settings())) is concerns


def test_config_show_prints_changes_origins_and_warnings(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(IDLE)
    write(
        user="[index]\nexclude = ['a']\n[retrieval]\nphase = 3\n",
        workspace='[index]\nexclude = ["b"]\n[search.synonyms]\n"\\u001b" = "x"\n[log]\nqueries = false\n',
    )
    monkeypatch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", "400")
    result = CliRunner().invoke(cli, ["config", "show", str(tmp_path)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f'index.exclude = ["a", "b"]  {user_file()}, .cairn.toml',
        "search.leg_deadline_ms = 400.0  environment CAIRN_SEARCH__LEG_DEADLINE_MS",
        'search.synonyms = { "\\u001b" = "x" }  .cairn.toml',
    ]
    assert lines[3].startswith(".cairn.toml:6: log.queries: a workspace's file may not set this")
    assert len(lines) == 4

    result = CliRunner().invoke(cli, ["config", "show", str(tmp_path), "--all", "--json"])
    answer = json.loads(result.stdout)
    shown = {each["key"]: each for each in answer["settings"]}
    assert set(shown) == {".".join(keys) for keys in attributes()}
    assert shown["retrieval.phase"] == {"key": "retrieval.phase", "value": 3, "origins": [str(user_file())]}
    assert shown["serve.port"] == {"key": "serve.port", "value": 7420, "origins": ["default"]}
    assert len(answer["warnings"]) == 1


def test_config_path_prints_the_files(write: Write, tmp_path: Path) -> None:
    write()
    (tmp_path / ".cairn.toml").unlink()
    result = CliRunner().invoke(cli, ["config", "path", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout == f"{user_file()}\n{tmp_path.resolve() / '.cairn.toml'} (not there)\n"
