"""Prepare the home folder of agents: questions without answers, a task sheet for each run, and the wrapper.

    python benchmarks/agents/real/prepare.py --questions FILE [FILE ...] --home DIR --corpora DIR
        [--size NUMBER] [--cairn FILE] [--data DIR] [--sessions] [--runs NUMBER]

Each file of questions is a set, or several with `--size`. A set is for one agent of each arm, or for several
with `--runs`. Give each agent `DIR/briefs/RUN.txt` and nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from agents.real.runs import InputError, Question, read_questions
from agents.real.wrapper import arms

_HERE = Path(__file__).resolve().parent


def sets(name: str, questions: Sequence[Question], size: int | None) -> dict[str, list[Question]]:
    """Return the questions in sets of at most `size`, by the names of the sets. Neighbours, which are mostly
    about one repository, go to different sets."""
    count = math.ceil(len(questions) / size) if size else 1
    if count == 1:
        return {name: list(questions)}
    return {f"{name}-{ascii_lowercase[part]}": list(questions[part::count]) for part in range(count)}


def prepare(name: str, questions: Sequence[Question], home: Path, count: int = 1) -> list[str]:
    """Write the questions of a set and the task sheets of its runs, `count` of each arm, and return the runs'
    names. Raises InputError."""
    sheet = (_HERE / "brief.txt").read_text(encoding="utf-8")
    asked = [{"id": each.id, "repo": each.repository, "question": each.text} for each in questions]
    numbers = [""] if count == 1 else [f"-{number}" for number in range(1, count + 1)]
    runs = {f"{arm.letter}-{name}{number}": arm for arm in arms() for number in numbers}
    for run in runs:
        if (home / "log" / f"{run}.jsonl").exists():
            raise InputError(f"{run} has run in {home} already: choose another folder, or rename the set")
    for folder in ("q", "ans", "log", "briefs"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    text = json.dumps(asked, indent=1, ensure_ascii=False) + "\n"
    (home / "q" / f"{name}.json").write_text(text, encoding="utf-8")
    for run, arm in runs.items():
        words = {"$AGENT_HOME": str(home.resolve()), "SET": name, "RUN": run, "TOOLS": arm.text}
        (home / "briefs" / f"{run}.txt").write_text(_filled(sheet, words), encoding="utf-8")
    return list(runs)


def _filled(sheet: str, words: Mapping[str, str]) -> str:
    """Return the task sheet with its placeholders replaced."""
    return re.sub(r"\$AGENT_HOME|\b(?:SET|RUN|TOOLS)\b", lambda match: words[match[0]], sheet)


def write_tool(home: Path, environment: dict[str, str]) -> None:
    """Write the wrapper into the home folder, as a script with these variables."""
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    start = f'exec {shlex.quote(str(_HERE / "tool"))} "$@"'
    tool = home / "tool"
    tool.write_text("\n".join(["#!/bin/bash", *exports, start]) + "\n", encoding="utf-8")
    tool.chmod(0o755)


def main() -> None:
    options = _arguments()
    try:
        every = read_questions(options.questions)
        for path in options.questions:
            of_file = list(read_questions([path]).values())
            for name, questions in sets(path.stem, of_file, options.size).items():
                print(*prepare(name, questions, options.home, options.runs), sep="\n")
    except InputError as problem:
        sys.exit(str(problem))
    environment = {
        "AGENT_HOME": str(options.home.resolve()),
        "CORPORA": str(options.corpora.resolve()),
        "REPOSITORIES": " ".join(sorted({each.repository for each in every.values()})),
        "PATH": os.environ["PATH"],
        "AGENT_SESSIONS": "1" if options.sessions else "0",
    }
    if options.cairn:
        environment["CAIRN"] = str(options.cairn.absolute())
    if options.data:
        environment["CAIRN_DATA_DIR"] = str(options.data.resolve())
    write_tool(options.home, environment)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=Path, nargs="+", required=True, help="files of questions")
    parser.add_argument("--home", type=Path, required=True, help="folder for the agents")
    parser.add_argument("--corpora", type=Path, required=True, help="folder of the checkouts")
    parser.add_argument("--size", type=int, help="the most questions of a set; by default all of a file")
    parser.add_argument("--cairn", type=Path, help="executable of Cairn; by default cairn of the PATH")
    parser.add_argument("--data", type=Path, help="folder of the indexes")
    parser.add_argument("--sessions", action="store_true", help="run Cairn with a session for each run")
    parser.add_argument("--runs", type=int, default=1, help="agents of each arm for a set")
    return parser.parse_args()


if __name__ == "__main__":
    main()
