#!/usr/bin/env python3
"""Measure the first answer after a switch of branches, and whether it is of the new branch.

    python benchmarks/branch_switch.py CLONE COMMIT COMMIT [--runs 5] [--output FILE]

The two commits of a copy of the git repository CLONE are checked out in turns. After each checkout, at once,
a definition that only this commit has is looked for: by `cairn search`, once with an engine in the background
that an agent's `cairn mcp` started, and once without any; and by the agent itself. An answer is right if it
has the file, and silent if it is not right and does not say that changes are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.clients import Server, connected
from engine.figures import keep, run_conditions

from cairn.attach.engine_records import read_record

_DEFINITION = re.compile(
    rb"^\s*(?:export )?(?:async )?(?:def|class|func|function|struct|trait|fn)\s+(\w{9,})", re.MULTILINE
)
_MOST_FILES = 400
_LACKS = ("lack changes", "Index incomplete", "Changed since")


class Tree:
    """A clone whose commits are checked out in turns."""

    def __init__(self, folder: Path, commits: tuple[str, str]) -> None:
        self.folder, self.commits = folder, commits
        changed = self.git("diff", "--name-only", "--no-renames", *commits).decode().split("\n")
        mine, other = (self._definitions(commit, changed) for commit in commits)
        self.definitions = [_only_in(mine, other), _only_in(other, mine)]

    def _definitions(self, commit: str, changed: list[str]) -> dict[str, str]:
        """Return the paths of the definitions in those of the changed files that the commit has, by name."""
        there = set(self.git("ls-tree", "-r", "--name-only", commit).decode().split("\n"))
        files = [path for path in changed if path in there][:_MOST_FILES]
        texts = ((path, self.git("show", f"{commit}:{path}")) for path in files)
        return {name.decode(): path for path, text in texts for name in _DEFINITION.findall(text)}

    def git(self, *arguments: str) -> bytes:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def check_out(self, turn: int) -> tuple[str, str]:
        """Check out the commit of this turn. Return the name and path of a definition that only it has."""
        self.git("checkout", "--quiet", self.commits[turn % 2])
        found = self.definitions[turn % 2]
        return found[turn // 2 % len(found)]


def _only_in(mine: dict[str, str], other: dict[str, str]) -> list[tuple[str, str]]:
    return [each for each in mine.items() if each[0] not in other and each[1] not in other.values()] or [
        each for each in mine.items() if each[0] not in other
    ]


def searched(tree: Tree, turn: int) -> dict[str, Any]:
    name, path = tree.check_out(turn)
    began = time.monotonic()
    command = [sys.executable, "-m", "cairn", "search", name, "-C", str(tree.folder)]
    ran = subprocess.run(command, capture_output=True, text=True)
    answer = ran.stdout + ran.stderr
    return {"seconds": time.monotonic() - began, "right": path in answer, "says": _says(answer)}


def asked(tree: Tree, turn: int, agent: Server) -> dict[str, Any]:
    name, path = tree.check_out(turn)
    began = time.monotonic()
    answer = agent.call("search", query=name)
    return {"seconds": time.monotonic() - began, "right": path in answer, "says": _says(answer)}


def _says(answer: str) -> bool:
    return any(sentence in answer for sentence in _LACKS)


@contextmanager
def _agent(tree: Tree) -> Iterator[Server]:
    command = [sys.executable, "-m", "cairn", "mcp", str(tree.folder)]
    with connected(command, cwd=tree.folder, environment={}) as agent:
        while "ncomplete" in agent.result("status").content[0].text:
            time.sleep(0.2)
        yield agent
    record = read_record(tree.folder)
    if record is not None:
        os.kill(record.process_id, signal.SIGTERM)


def _figures(runs: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = [run["seconds"] for run in runs]
    return {
        "median_s": round(statistics.median(seconds), 2),
        "most_s": round(max(seconds), 2),
        "right": sum(run["right"] for run in runs),
        "silent": sum(not run["right"] and not run["says"] for run in runs),
        "of": len(runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("commits", nargs=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-switch-", ignore_cleanup_errors=True) as place:
        os.environ["CAIRN_DATA_DIR"] = str(Path(place) / "data")
        folder = Path(place) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(arguments.clone), str(folder)], check=True)
        tree = Tree(folder, tuple(arguments.commits))
        files = len(tree.git("diff", "--name-only", "--no-renames", *arguments.commits).split())
        result: dict[str, Any] = {"conditions": run_conditions(), "files": files}
        print(json.dumps(result), file=sys.stderr)
        searched(tree, 0)
        result["without an engine"] = _figures([searched(tree, 1 + turn) for turn in range(arguments.runs)])
        with _agent(tree) as agent:
            print(json.dumps(result["without an engine"]), file=sys.stderr)
            result["beside an engine"] = _figures([searched(tree, turn) for turn in range(arguments.runs)])
            print(json.dumps(result["beside an engine"]), file=sys.stderr)
            result["agent"] = _figures([asked(tree, turn, agent) for turn in range(arguments.runs)])
    print(json.dumps(result, indent=2))
    if arguments.output:
        keep(arguments.output, f"{arguments.clone.name} {' and '.join(arguments.commits)}", result)


if __name__ == "__main__":
    main()
