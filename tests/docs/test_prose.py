"""scripts/check_prose.py reports long lines, fragments, and words of the glossary."""

from __future__ import annotations

from pathlib import Path

import check_prose
import pytest


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.md", "word " * 30, "long line"),
        ("a.md", "| " + "word " * 30, None),
        ("a.md", "```\n" + "word " * 30 + "\n```", None),
        ("a.ts", "// " + "word " * 30, "long line"),
        ("a.ts", "// The server was told.", "phrase"),
        ("a.py", '"""The path is no file."""', "phrase"),
        ("a.py", '"""There is no file."""', None),
        ("a.py", '"""of the status: no reason to notify."""', "fragment"),
        ("a.py", '"""Without an end"""', "fragment"),
        ("a.py", '"""float32[n, 384]: one row for each text."""', None),
        ("a.py", "deadline_until = 1", "name"),
        ("a.py", "def wait_until(): ...", None),
        ("a.py", f"def test_{'x' * 70}(): ...", "long name"),
    ],
)
def test_check_reports_the_kind(
    name: str, text: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_prose, "ROOT", tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert {found for _, found, _ in check_prose.problems_of(tmp_path / name)} == ({kind} if kind else set())
