"""An answer says if changes of the folder are not in it, and waits for nothing that is put off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed
from tests.git_repository import GitRepository
from tests.harbour import write_files
from tests.index.index_builders import indexed as indexed_file
from tests.serving import PATIENCE_SECONDS, wait_for

from cairn.engine.engine import Engine
from cairn.index.store.coordination import note_holder, writer_lock
from cairn.index.store.writer import IndexWriter
from cairn.paths import workspace_dir
from cairn.protocol import SearchAnswer, SearchParams
from cairn.retrieval.legs import Legs


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository with two branches, of which `main` is checked out."""
    made = GitRepository(tmp_path / "harbour")
    made.commit("Moor", {"berths.py": "def moor_ship(ship):\n    return ship\n"})
    made.git("checkout", "-qb", "other")
    made.commit("Guide", {"pilots.py": "def guide_vessel(vessel):\n    return vessel\n"})
    made.git("checkout", "-q", "main")
    return made


@pytest.fixture
def harbour(repository: GitRepository) -> Path:
    return repository.folder


def found(engine: Engine, query: str) -> SearchAnswer:
    answer: SearchAnswer = ask(engine, "search", SearchParams(query))
    return answer


def test_an_answer_after_a_checkout_says_that_changes_are_missing(repository: GitRepository) -> None:
    with indexed(repository.folder, **NO_VECTORS) as engine:
        assert "guide_vessel" not in str(found(engine, "guide_vessel").results)
        engine.folders[0].indexer.queue.paused = True  # The comparison of the folder does not begin.
        repository.git("checkout", "-q", "other")
        with engine.folders[0].indexer._state.gate.query():
            answer = found(engine, "moor_ship")
        assert (answer.index.complete, answer.index.remaining) == (False, ("files",))
        assert answer.index.note.startswith("The folder has changed")


def test_a_question_after_an_unreported_checkout_begins_its_indexing(repository: GitRepository) -> None:
    with indexed(repository.folder, **NO_VECTORS) as engine:
        repository.git("checkout", "-q", "other")
        assert not engine.progress().scanned
        found(engine, "guide_vessel")
        wait_for(lambda: engine.progress().scanned)
        answer = found(engine, "guide_vessel")
        assert (answer.results[0].path, answer.index.note) == ("pilots.py", "")


def test_a_commit_of_indexed_files_leaves_the_index_complete(repository: GitRepository) -> None:
    with indexed(repository.folder, **NO_VECTORS) as engine:
        repository.commit("Nothing")
        found(engine, "moor_ship")
        wait_for(lambda: engine.progress().complete)
        assert found(engine, "moor_ship").index.note == ""


def test_an_answer_names_shown_files_that_changed_since_they_were_indexed(harbour: Path) -> None:
    with indexed(harbour, **NO_VECTORS) as engine:
        write_files(harbour, {"berths.py": "# Piers.\n\n\ndef moor_ship(ship):\n    return ship\n"})
        answer = found(engine, "moor_ship")
        assert answer.index.note == "Changed since indexed, and indexed again soon: berths.py."
        wait_for(lambda: engine.progress().complete)
        answer = found(engine, "moor_ship")
        assert (answer.results[0].selection_range.start.line, answer.index.note) == (3, "")


def test_a_file_that_is_written_during_a_search_is_found(
    harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer replaces its chunks after they were found, and before they are read."""
    with indexed(harbour, **NO_VECTORS) as engine:
        writer = IndexWriter(workspace_dir(harbour))
        written = writer.facts().content
        find = Legs.by_text

        def by_text(question: Legs, **how: bool) -> None:
            find(question, **how)
            text = (harbour / "berths.py").read_text("utf-8")
            writer.write([indexed_file("berths.py", f"# Piers.\n{text}")], ())

        monkeypatch.setattr(Legs, "by_text", by_text)
        answer = found(engine, "moor_ship")
        assert writer.facts().content > written
        writer.close()
        assert answer.results[0].path == "berths.py"


def test_a_command_does_not_wait_for_counts_that_another_process_puts_off(harbour: Path) -> None:
    with indexed(harbour):
        pass
    data = workspace_dir(harbour)
    with writer_lock(data).acquire():
        note_holder(data)
        writer = IndexWriter(data)
        writer.note(links=writer.facts().links + 1)  # A file was written since the latest count.
        writer.close()
        ran = subprocess.run(
            [sys.executable, "-m", "cairn", "search", "moor_ship", "-C", str(harbour)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
    assert "berths.py" in ran.stdout


def test_a_command_says_for_which_process_it_waits(harbour: Path) -> None:
    with indexed(harbour):
        pass
    data = workspace_dir(harbour)
    with writer_lock(data).acquire():
        note_holder(data)
        writer = IndexWriter(data)
        writer.note(scanned=0)
        command = [sys.executable, "-m", "cairn", "search", "moor_ship", "-C", str(harbour)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = process.stderr.readline()
            writer.note(scanned=1)
            answer, _ = process.communicate(timeout=PATIENCE_SECONDS)
        writer.close()
    assert said.startswith(f"cairn: waiting for the process {os.getpid()} (")
    assert "berths.py" in answer
