"""The index counts the imports and copies of all files, in a large folder in a separate process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cairn.index.indexing.folder_state import Intervals
from cairn.index.indexing.links import LinkCounter, count_links, store_links
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter

AT_ONCE = Intervals(count_after=0.0, count_every=0.0)
BERTHS = "".join(f"def berth_{number}(ship):\n    return ship.moor({number})\n\n\n" for number in range(60))
SLOW = "import time; time.sleep(600)"
FAILING = "raise SystemExit(1)"
COUNTS = {("port/berth.py", 2), ("port/ship.py", 1)}


@pytest.fixture
def writer(tmp_path: Path) -> IndexWriter:
    writer = IndexWriter(tmp_path)
    save(writer, "port/berth.py", BERTHS)
    save(writer, "port/ship.py", "from port import berth\n")
    save(writer, "port/crane.py", "from port.berth import SIZE\nimport port.ship\n")
    save(writer, "old/berth.py", BERTHS)
    return writer


def save(writer: IndexWriter, path: str, text: str) -> None:
    record = FileRecord(path, len(text), 0, path.encode().hex(), "project-source")
    writer.write([IndexedFile.of(record, text)], ())


def run(counter: LinkCounter) -> None:
    """Do all steps, as the indexing thread does."""
    while counter.step(0.0) or counter.next_step_at(0.0) < float("inf"):
        time.sleep(0.01)


def stored(writer: IndexWriter) -> tuple[set[tuple[object, ...]], list[tuple[object, ...]]]:
    in_degrees = set(writer.db.execute("SELECT path, in_degree FROM file_imports"))
    return in_degrees, list(writer.db.execute("SELECT path, original FROM copies"))


@pytest.mark.parametrize(
    "counter",
    [
        pytest.param(lambda writer: LinkCounter(writer, AT_ONCE), id="here"),
        pytest.param(lambda writer: LinkCounter(writer, AT_ONCE, apart_from=0), id="apart"),
        pytest.param(lambda writer: LinkCounter(writer, AT_ONCE, 0, FAILING), id="process that fails"),
    ],
)
def test_counts_follow_the_index(counter: Callable[[IndexWriter], LinkCounter], writer: IndexWriter) -> None:
    counting = counter(writer)
    run(counting)
    assert stored(writer) == (COUNTS, [("old/berth.py", "port/berth.py")])
    assert writer.facts().is_counted
    save(writer, "port/crane.py", "import os\n")
    writer.write((), ["old/berth.py"])
    assert not writer.facts().is_counted
    run(counting)
    assert stored(writer) == ({("port/berth.py", 1)}, [])
    writer.write((), ["port/berth.py"])
    run(counting)
    assert stored(writer) == (set(), [])
    counting.close()


def test_counting_again_changes_nothing(writer: IndexWriter) -> None:
    before = writer.facts()
    store_links(writer.db, count_links(writer.db))
    counted = writer.facts()
    assert (counted.content, counted.generation > before.generation) == (before.content, True)
    store_links(writer.db, count_links(writer.db))
    assert writer.facts() == counted


def test_index_is_writable_while_a_process_counts(writer: IndexWriter) -> None:
    counting = LinkCounter(writer, AT_ONCE, 0, SLOW)
    assert counting.step(0.0)
    assert not counting.step(0.0)
    save(writer, "port/tug.py", "import port.ship\n")
    running = (each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE)
    (process,) = [each for each in running if SLOW in " ".join(each.cmdline())]
    counting.close()
    assert not process.is_running()
    assert not writer.facts().is_counted


def test_counting_process_ends_with_its_parent(writer: IndexWriter) -> None:
    program = "\n".join(
        (
            "import cairn.index.indexing.links as links, time",
            "links.count_links = lambda db: time.sleep(600)",
            "links.serve()",
        )
    )
    parent_program = f"""
import sys, time
from pathlib import Path
from cairn.index.indexing.folder_state import Intervals
from cairn.index.indexing.links import LinkCounter
from cairn.index.store.writer import IndexWriter
writer = IndexWriter(Path({str(writer.folder)!r}))
LinkCounter(writer, Intervals(), 0, {program!r}).step(0.0)
print("started", flush=True)
time.sleep(600)
"""
    writer.close()
    parent = subprocess.Popen([sys.executable, "-c", parent_program], stdout=subprocess.PIPE)
    assert parent.stdout
    assert parent.stdout.readline() == b"started\n"
    (child,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.communicate()
    child.wait(60)
