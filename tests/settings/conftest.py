"""Fixtures with settings files of a user and a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.settings.setting_trees import Write

from cairn.settings.layers import Layers


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the two files and returns all layers."""
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "mine"))

    def write(
        user: str = "",
        workspace: str = "",
        editor: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Layers:
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / "config.toml").write_text(user, encoding="utf-8")
        (tmp_path / ".cairn.toml").write_text(workspace, encoding="utf-8")
        return Layers(editor, environment or {})

    return write
