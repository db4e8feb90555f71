"""A workspace's settings file is not trusted: it cannot set user-only settings or name files outside."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.settings.setting_trees import Write, attributes, nested

from cairn.settings.marks import NAMES_A_FILE, USER_ONLY, is_marked
from cairn.settings.sources import user_file
from cairn.settings.tree import Settings, leaves

USER_ONLY_SETTINGS = sorted(
    keys for keys, attribute in attributes().items() if is_marked(attribute, USER_ONLY)
)


@pytest.mark.parametrize("keys", USER_ONLY_SETTINGS, ids=".".join)
def test_workspace_cannot_set_user_only_settings(write: Write, tmp_path: Path, keys: tuple[str, ...]) -> None:
    default = leaves(Settings())[keys]
    other = (
        (not default)
        if isinstance(default, bool)
        else default + 1
        if isinstance(default, int | float)
        else ["all" if keys == ("agents", "tools") else "x"]
        if isinstance(default, tuple)
        else "off"
        if isinstance(default, Enum)
        else "x"
    )
    text = f"{'.'.join(keys)} = {json.dumps(other)}\n"
    laid = write(workspace=text).of(tmp_path)
    assert laid.settings == Settings()
    [warning] = laid.texts()
    assert warning.startswith(f".cairn.toml:1: {'.'.join(keys)}: a workspace's file may not set this")
    variable = "CAIRN_" + "__".join(keys).upper()
    assert str(user_file()) in warning
    assert variable in warning

    allowed: list[dict[str, Any]] = [
        {"user": text},
        {"editor": nested(keys, other)},
        {"environment": {variable: json.dumps(other)}},
    ]
    for place in allowed:
        laid = write(**place).of(tmp_path)
        expected = tuple(other) if isinstance(other, list) else other
        assert (leaves(laid.settings)[keys], laid.texts()) == (expected, [])


def test_ports_and_query_log_are_user_only() -> None:
    assert {("log", "query_text"), ("serve", "host"), ("serve", "port")} <= set(USER_ONLY_SETTINGS)


def test_setting_that_names_a_file_is_marked() -> None:
    marked = {keys for keys, attribute in attributes().items() if is_marked(attribute, NAMES_A_FILE)}
    texts = {keys for keys, value in leaves(Settings()).items() if type(value) is str}
    assert marked == {("discovery", "render", "tokenizer")}
    others = {("embedding", "model"), ("serve", "host"), ("team", "url")}  # Only the user may set these.
    assert texts - marked == others, "does the new one name a file?"


@pytest.mark.parametrize(
    "name", ["characters", "", "in/tokenizer.json", "{root}/in/tokenizer.json", "in/../in/link.json"]
)
def test_workspace_may_name_a_tokenizer_inside(write: Write, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "tokenizer.json").write_text("{}")
    (tmp_path / "in" / "link.json").symlink_to(tmp_path / "in" / "tokenizer.json")
    name = name.format(root=tmp_path)
    laid = write(workspace=f"discovery.render.tokenizer = {json.dumps(name)}\n").of(tmp_path)
    real = name if name in ("characters", "") else str(tmp_path.resolve() / "in" / "tokenizer.json")
    assert (laid.settings.discovery.render.tokenizer, laid.texts()) == (real, [])


@pytest.mark.parametrize(
    "name",
    [
        "../tokenizer.json", "/etc/passwd", "{outside}/tokenizer.json", "link/tokenizer.json", "~/tokenizer.json",  # noqa: E501
        "out.json", "missing.json", "circle", "sub", "pipe", "//host/share/tokenizer.json", r"\\host\share\t.json",  # noqa: E501
        r"\\?\C:\tokenizer.json", "/dev/zero", "a\0b", "x" * 5_000,
    ],
)  # fmt: skip
def test_workspace_cannot_name_files_outside(write: Write, tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside, root / "sub"):
        folder.mkdir()
    for folder in (tmp_path, outside):
        (folder / "tokenizer.json").write_text("{}")
    (root / "link").symlink_to(outside, target_is_directory=True)
    (root / "out.json").symlink_to(outside / "tokenizer.json")
    (root / "circle").symlink_to(root / "circle")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
    layers = write()
    named = json.dumps(name.format(outside=outside))
    (root / ".cairn.toml").write_text(f"[discovery.render]\ntokenizer = {named}\n")
    laid = layers.of(root)
    assert laid.settings == Settings()
    [warning] = laid.texts()
    assert warning.startswith(".cairn.toml:2: discovery.render.tokenizer: ")
    assert str(user_file()) in warning
