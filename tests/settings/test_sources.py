"""Sources of settings: files and environment variables are read, and problems are reported with their
place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.settings.setting_trees import Write

from cairn.settings.layers import Layered, Layers
from cairn.settings.sources import user_file
from cairn.settings.tree import Settings, leaves


def warnings_of(tmp_path: Path, text: str | bytes) -> list[str]:
    """Return the warnings about a workspace's file."""
    content = text.encode() if isinstance(text, str) else text
    (tmp_path / ".cairn.toml").write_bytes(content)
    return Layers(environment={}).of(tmp_path).texts()


DEEP = ".cairn.toml is not used: the key on line 2 has more than 32 parts"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "# c\n\n[search]\nlegDeadlinMs = 3\n",
            ".cairn.toml:4: search.legDeadlinMs: unknown setting; did you mean leg_deadline_ms?",
        ),
        ("search.candidates = 'x'\n", ".cairn.toml:1: search.candidates: expected a whole number, got 'x'"),
        ("[index]\r\n\r\nwatch = 1\r\n", ".cairn.toml:3: index.watch: expected true or false, got 1"),
        ('\n[index]\nexclude = [\n  "]",\n  3,\n]\n', ".cairn.toml:3: index.exclude: expected a string"),
        (
            '[search]\ncore_concepts = """\n[index]\nx = 3\n"""\n[discovery]\nbroadK = -1',
            ".cairn.toml:7: discovery.broadK: expected zero or more",
        ),
        ("\ndiscovery = { render = { format_style = 1 } }", ".cairn.toml:2: discovery.render.format_style: "),
        ('\n["in dex"]\nx = 1', '.cairn.toml:2: in dex: unknown setting; did you mean index?'),
        ("[[index]]\nwatch = true\n", ".cairn.toml:1: index: expected a table of settings"),
        ('"\\u001b[31m" = 1', '.cairn.toml:1: \\x1b[31m: unknown setting'),
        ("[search]\ncandidates = 2026-01-01", ".cairn.toml:2: search.candidates: expected a whole number"),
        ("[index\n", ".cairn.toml is not used: Expected"),
        (b"\xff\xfe\x00", ".cairn.toml is not used: 'utf-8' codec"),
        ("a = " + "[" * 5_000 + "]" * 5_000, ".cairn.toml is not used: it is nested too deeply"),
        ("a = 1" + "0" * 5_000, ".cairn.toml is not used: "),
        ("\n" + "a." * 100_000 + "b = 1", DEEP),
        ("x = 1\n[" + "'a' . " * 100_000 + "b]", DEEP),
        ("\nx = [{" + r'"\"".' * 100_000 + "b = 1}]", DEEP),
        ('a = "' + '\\"' * 400_000, ".cairn.toml is not used: "),
        ("a = '''" + "b.''" * 200_000, ".cairn.toml is not used: "),
        ("#" * 1_000_001, ".cairn.toml is not used: it is larger than 1,000,000 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_warning_names_the_line(tmp_path: Path, text: str | bytes, warning: str) -> None:
    found = warnings_of(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(warning)


def test_number_of_warnings_is_limited(tmp_path: Path) -> None:
    found = warnings_of(tmp_path, "".join(f"inde{n} = 1\n" for n in range(10_000)))
    assert len(found) == 51
    assert found[0] == ".cairn.toml:1: inde0: unknown setting; did you mean index?"
    assert found[-1] == ".cairn.toml: 9,950 more such warnings"


def test_directory_or_pipe_warns(tmp_path: Path) -> None:
    (tmp_path / ".cairn.toml").mkdir()
    assert Layers(environment={}).of(tmp_path).texts() == [
        ".cairn.toml is not used: it is not a regular file"
    ]
    if hasattr(os, "mkfifo"):
        (tmp_path / ".cairn.toml").rmdir()
        os.mkfifo(tmp_path / ".cairn.toml")
        assert Layers(environment={}).of(tmp_path).texts() == [
            ".cairn.toml is not used: it is not a regular file"
        ]


def test_file_may_name_its_schema(tmp_path: Path) -> None:
    assert warnings_of(tmp_path, '"$schema" = "cairn.json"\n') == []


def test_cross_encoder_warns_that_it_has_no_effect(write: Write, tmp_path: Path) -> None:
    laid = write(workspace="[discovery.focus]\ncross_encoder = true\n").of(tmp_path)
    assert laid.settings.discovery.focus.cross_encoder
    problem = "discovery.focus.cross_encoder has no effect: no cross-encoder comes with Cairn"
    assert laid.texts(".cairn.toml") == [f".cairn.toml: {problem}"]


def test_warning_names_the_users_file(write: Write) -> None:
    laid = write(user="[index]\nexclud = []\n").without_workspace()
    assert laid.texts() == [f"{user_file()}:2: index.exclud: unknown setting; did you mean exclude?"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("CAIRN_SEARCH__LEG_DEADLINE_MS", "400", 400.0),
        ("cairn_search__leg_deadline_ms", "4e2", 400.0),
        ("CAIRN_SEARCH__FEEDBACK", "false", False),
        ("CAIRN_SEARCH__CORE_CONCEPTS", "berth", ("berth",)),
        ("CAIRN_SEARCH__CORE_CONCEPTS", '["berth", "tide"]', ("berth", "tide")),
        ("CAIRN_SEARCH__WEIGHTS", '{ "is a test" = 0 }', {"is a test": 0.0}),
        ("CAIRN_SEARCH__SYNONYMS__HOME", "start page", {"home": "start page"}),
        ("CAIRN_RETRIEVAL__KILL_SWITCH__P95_MS", "7", 7.0),
        ("CAIRN_SERVE__HOST", "127.0.0.2", "127.0.0.2"),
        ("CAIRN_LOG__QUERY_TEXT", "true", True),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "characters", "characters"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "x'\n[y]\nz = 'a'", "x'\n[y]\nz = 'a'"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "'a'\nb = 'c'", "'a'\nb = 'c'"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "", ""),
    ],
)
def test_variable_sets_a_setting(name: str, text: str, value: Any) -> None:
    laid = Layers(environment={name: text}).without_workspace()
    assert laid.texts() == []
    [(keys, origins)] = laid.origins.items()
    assert leaves(laid.settings)[keys] == value
    assert origins == (f"environment {name}",)


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        (
            "CAIRN_SEARCH__LEG_DEADLIN_MS",
            "4",
            "CAIRN_SEARCH__LEG_DEADLIN_MS: unknown setting; did you mean CAIRN_SEARCH__LEG_DEADLINE_MS?",
        ),
        (
            "CAIRN_SEARCH_LEG_DEADLINE_MS",
            "4",
            "CAIRN_SEARCH_LEG_DEADLINE_MS: unknown variable; did you mean CAIRN_SEARCH__LEG_DEADLINE_MS?",
        ),
        ("CAIRN_DATADIR", "/x", "CAIRN_DATADIR: unknown variable; did you mean CAIRN_DATA_DIR?"),
        ("CAIRN_SERVE__PORT", "70000", "CAIRN_SERVE__PORT: expected 0 to 65,535, got 70000"),
        ("CAIRN_SERVE__PORT", "many", "CAIRN_SERVE__PORT: expected a whole number, got 'many'"),
        ("CAIRN_SEARCH__VERDICT", "3", "CAIRN_SEARCH__VERDICT: expected a table of settings"),
        ("CAIRN_SEARCH__VERDICT", "{ x = 1 }", "CAIRN_SEARCH__VERDICT.x: unknown setting"),
        ("CAIRN_", "", "CAIRN_: unknown variable"),
        ("CAIRN___", "", "CAIRN___: unknown setting"),
        ("CAIRN_SEARCH__CANDIDATES", "\udd00", "CAIRN_SEARCH__CANDIDATES: expected a whole number, got '�'"),
    ],
)
def test_invalid_variable_warns(name: str, text: str, warning: str) -> None:
    laid = Layers(environment={name: text}).without_workspace()
    assert laid.settings == Settings()
    assert len(laid.texts()) == 1
    assert laid.texts()[0].startswith(warning)


def test_other_variables_are_ignored() -> None:
    names = ("CAIRN_DATA_DIR", "CAIRN_CONFIG_DIR", "Cairn_Python", "CAIRN_TEST_BROWSER", "PATH", "CAIRNX")
    assert Layers(environment=dict.fromkeys(names, "x")).without_workspace() == Layered(Settings())
