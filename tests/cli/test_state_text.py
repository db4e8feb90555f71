"""The look of a status on a terminal and in a pipe."""

from __future__ import annotations

import pytest
from attrs import evolve

from cairn import protocol
from cairn.cli.state_text import print_status

COLLECTIONS = tuple(
    protocol.CollectionInfo(f"pier-{n}", "file:///harbour", "source", n, 2 * n, (), "", "")
    for n in range(1, 111)
)
STATUS = protocol.StatusAnswer(
    state="ready", searchable=True, generation=7, phase=3, files=protocol.FileCounts(226, 226), chunks=1288,
    embedded=1288, queued=0, model=None, collections=COLLECTIONS, last_error=None, memory=1,
    latency=protocol.Latency(None, None), skipped={"symbolic link": 2, "built-in: minified": 1_300},
    warnings=("not read: a.py: Permission denied",),
)  # fmt: skip


def test_status_is_short_and_counts_collections(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(STATUS)
    assert capsys.readouterr().out.splitlines() == [
        "ready  226 of 226 files, 1,288 chunks, 1,288 with vectors",
        "The index is complete. not read: a.py: Permission denied",
        "model: none, answers use keywords alone",
        "110 collections: pier-110 (110 files), pier-109 (109 files), pier-108 (108 files), "
        "pier-107 (107 files) and 106 more",
        "left out: 1,300 × built-in: minified, 2 × symbolic link",
        "`cairn status --all` lists all of them.",
    ]


def test_status_of_everything_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(STATUS, everything=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 110 + 2
    assert lines[3].split() == ["pier-1", "1", "file", "2", "chunks"]
    assert lines[-1] == "  left out: 2 × symbolic link"


def test_status_of_a_small_folder_names_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(evolve(STATUS, collections=COLLECTIONS[:2], skipped={}))
    assert capsys.readouterr().out.splitlines()[-1] == "2 collections: pier-2 (2 files), pier-1 (1 file)"
