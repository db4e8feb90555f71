"""Tests of collecting: pairs of each repository with a permissive licence, and the summary of every one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import collect
import pytest
from sources import Source

from tests.git_repository import GitRepository
from tests.training.licence_texts import GPL, MIT

_GUIDE = """\
# Repairing damaged volumes

Unplug the drive before anything else is tried. Then copy it block by block to another drive, and work on it.
"""


def test_pairs_come_from_permissive_repositories_and_each_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, licence in (("harbour+free", MIT), ("harbour+bound", GPL)):
        GitRepository(tmp_path / name).commit("Found the harbour", {"LICENSE": licence, "README.md": _GUIDE})
        bare = tmp_path / "clones" / name
        subprocess.run(["git", "clone", "-q", "--bare", tmp_path / name, bare], check=True)
    wanted = "".join(f"text\tharbour/{name}\n" for name in ("free", "bound", "missing"))
    (tmp_path / "list.tsv").write_text(wanted, encoding="utf-8")
    arguments = [str(tmp_path / name) for name in ("list.tsv", "clones", "pairs")]
    monkeypatch.setattr(sys, "argv", ["collect.py", *arguments, "--processes", "1"])

    assert collect.main() == 0
    said = capsys.readouterr()
    assert "harbour/missing: no clone" in said.err
    assert len(said.out.splitlines()) == 2
    pairs = tmp_path / "pairs"
    assert {path.name for path in pairs.iterdir()} == {
        "harbour+free.jsonl",
        "harbour+free.json",
        "harbour+bound.json",
    }
    rows = [json.loads(line) for line in (pairs / "harbour+free.jsonl").read_text().splitlines()]
    facts = json.loads((pairs / "harbour+free.json").read_text())
    assert facts["licence"] == "MIT"
    assert sum(facts["pairs"].values()) == len(rows)
    assert {Source[row[0]] for row in rows} == {Source.HEADING, Source.SENTENCE}
    assert all(row[4] == "README.md" for row in rows)
    assert json.loads((pairs / "harbour+bound.json").read_text())["licence"] is None

    assert collect.main() == 0
    assert capsys.readouterr().out == ""
