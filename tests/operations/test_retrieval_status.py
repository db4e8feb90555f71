"""One folder's phases and questions, put together for `cairn status`."""

from __future__ import annotations

import json
from pathlib import Path

from cairn.config import LogSettings, RetrievalSettings
from cairn.operations.kill_switch import KillSwitch
from cairn.operations.override import OVERRIDE_NAME, OverrideReader, write_override
from cairn.operations.query_log import QueryLog, QueryRecord
from cairn.operations.retrieval_status import RetrievalStatus, retrieval_status
from cairn.schema import structure, unstructure


def test_a_folder_of_which_nothing_is_known_has_a_status(tmp_path: Path) -> None:
    status = retrieval_status(tmp_path / "none")
    assert status.state is None
    assert status.recent.queries == 0
    assert status.warnings == ()
    assert structure(unstructure(status), RetrievalStatus) == status


def test_what_one_process_did_the_status_of_another_tells(tmp_path: Path) -> None:
    log = QueryLog(tmp_path, LogSettings)
    switch = KillSwitch(
        RetrievalSettings, on_change=log.add_phase_change, override=OverrideReader(tmp_path).phase
    )
    for _ in range(20):
        switch.record(900.0, failed=False, without_vectors=False)
        log.add(QueryRecord("search", 900.0, phase=switch.phase(), wanted=3, action="answer"))
    elsewhere = retrieval_status(tmp_path)
    (change,) = elsewhere.recent.phase_changes
    assert (change.before, change.after, change.alive) == (3, 2, True)
    assert elsewhere.recent.p95_ms == 900.0
    write_override(tmp_path, 0)
    here = retrieval_status(tmp_path, switch, log)
    assert here.state is not None
    assert (here.state.phase, here.state.by_hand, here.override.phase) == (0, True, 0)
    assert [change.after for change in here.recent.phase_changes] == [0, 2], (
        "asking noticed what was set by hand"
    )
    json.dumps(unstructure(here))
    assert structure(unstructure(here), RetrievalStatus) == here


def test_what_is_damaged_or_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / OVERRIDE_NAME).write_text("{")
    (tmp_path / "queries.jsonl").mkdir()
    log = QueryLog(tmp_path, LogSettings)
    log.add(QueryRecord("search", 1.0, phase=3, wanted=3))
    status = retrieval_status(tmp_path, log=log)
    assert len(status.warnings) == 2
    assert status.log_failures == 1
