"""A run that is killed at any moment leaves no partial snapshot, and the next run succeeds."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.team.git_repositories import (
    assert_equal_to_checkout,
    bulk_counts,
    count,
    harbour,
    index,
    many_files,
)

_RUN = """
import sys
from cairn.team.commit_indexing import index_repository
index_repository(sys.argv[1], sys.argv[2], progress=lambda text: print(text, flush=True))
"""
_KILLS = 4


def test_killed_runs_leave_the_store_whole(store: str, tmp_path: Path, bare_data_dir: Path) -> None:
    repository = harbour(tmp_path / "harbour", **many_files(60))
    index(store, repository)
    repository.git("checkout", "--quiet", "-b", "next")
    repository.write({path: text + "\n\nLENGTH = 1\n" for path, text in many_files(50).items()})
    repository.commit("Lengths")
    before = bulk_counts(store)
    moments = random.Random(7)
    for number in range(_KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN, store, str(repository.folder)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        if number % 2:  # Half of the runs are killed while they write the snapshot.
            for line in process.stdout:
                if line.startswith("Writing"):
                    break
        else:
            process.stdout.readline()
        time.sleep(moments.uniform(0, 0.25))
        process.kill()
        process.wait()
        if count(store, "SELECT count(*) FROM cairn.snapshots") > 1:
            break  # The run was faster.
        assert bulk_counts(store) == before
    assert index(store, repository).ref == "next"
    for ref in ("next", "main"):
        assert_equal_to_checkout(store, repository, ref, tmp_path)
    assert not list((bare_data_dir / "team" / "work").iterdir())
