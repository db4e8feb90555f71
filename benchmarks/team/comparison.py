#!/usr/bin/env python3
"""Time the comparison of a clone with a commit, as it runs when a team's index answers.

    python benchmarks/team/comparison.py [--files 20000] [--lines 200]

It makes a repository of that many unchanged files in a temporary folder. The first comparison reads all
files; the second, in the same process, reads only their metadata. CPU time is without that of git.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from cairn.settings.tree import IndexSettings
from cairn.workspace.comparison import Comparison
from cairn.workspace.repository import open_repository
from cairn.workspace.scan import FileRules


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--files", type=int, default=20_000)
    options.add_argument("--lines", type=int, default=200)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder).resolve(), given.files, given.lines), indent=2))


def measured(root: Path, files: int, lines: int) -> dict[str, float]:
    """Return the seconds of each comparison of a new repository of `files` files."""
    for number in range(files):
        path = root / f"package_{number // 100}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def function_{number}(value):\n" + f"    value += {number}\n" * lines)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    identity = ("-c", "gc.auto=0", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "All files")):
        subprocess.run(("git", *command), cwd=root, check=True)
    repository, comparison = open_repository(root), Comparison(root)
    commit = repository.resolve("HEAD")
    assert commit is not None
    found: dict[str, float] = {"files": files}
    for name in ("first", "second"):
        cpu, began = time.process_time(), time.monotonic()
        compared = comparison.compare(
            repository, commit, FileRules(root, IndexSettings()), time.monotonic() + 600
        )
        assert (len(compared.same), compared.differing) == (files, ())
        found[f"{name}_cpu_seconds"] = round(time.process_time() - cpu, 2)
        found[f"{name}_seconds"] = round(time.monotonic() - began, 2)
    return found


if __name__ == "__main__":
    main()
