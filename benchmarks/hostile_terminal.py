#!/usr/bin/env python3
"""Show thousands of hostile texts with every command on real terminals, and look for control characters.

    python benchmarks/hostile_terminal.py FOLDER [--texts 10000] [--files 3] [--output FILE]

It writes a repository into FOLDER, which must not exist: a file for every four texts, with hostile contents,
name, symbol and commit subject. Then it runs every command line of `hostile_texts` with a terminal each for
stdout and stderr: with and without a running engine, and with a team's server that refuses with hostile
texts. With the engine, it also searches for every group of files, and shows every file. It exits with 1 if a
terminal received anything but text and Cairn's own escape sequences.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define, field
from engine.figures import Figures, run_conditions
from hostile_texts import (
    GROUP,
    HostileFile,
    hostile_server,
    hostile_texts,
    other_commands,
    pages,
    questions,
    run_on_terminals,
    write_repository,
)
from serving.server import environment_of, serving

_MOST_PROBLEMS = 20


@define
class Tally:
    """The runs of commands on terminals."""

    root: Path
    commands: int = 0
    characters: int = 0
    replaced: int = 0
    """The number of U+FFFD, each in the place of a character that could control a terminal."""
    problems: list[str] = field(factory=list)

    def run(self, commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> None:
        for command in commands:
            shown = run_on_terminals(command, self.root, environment)
            output = shown.stdout + shown.stderr
            self.commands += 1
            self.characters += len(output)
            self.replaced += output.count("\ufffd")
            found = shown.problems(self.root)
            if shown.code not in (0, 1, 2):
                found.append(f"exit code {shown.code}: {shown.stderr[-500:]}")
            self.problems += [f"{command!a}: {each}" for each in found]

    def figures(self) -> Figures:
        return {
            "commands": self.commands,
            "characters": self.characters,
            "replaced": self.replaced,
            "problems": len(self.problems),
            "first_problems": self.problems[:_MOST_PROBLEMS],
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=3, help="files for which every command runs")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    root = folder / "lighthouse"
    texts = hostile_texts(options.texts)
    files = write_repository(root, texts)
    environment = environment_of(folder / "data")
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "cairn", "index", "-q", str(root)], env=environment, check=True)
    figures = _all(root, files, texts, environment, options.files)
    conditions = {**run_conditions(), "texts": len(texts), "seconds": round(time.monotonic() - started)}
    shutil.rmtree(folder)
    shown = json.dumps({"conditions": conditions, **figures}, indent=2)
    print(shown)
    if options.output:
        options.output.write_text(f"{shown}\n", encoding="utf-8")
    return int(any(each["problems"] for each in figures.values()))


def _all(
    root: Path, files: Sequence[HostileFile], texts: Sequence[str], environment: dict[str, str], count: int
) -> Figures:
    alone, beside, team = Tally(root), Tally(root), Tally(root)
    chosen = files[:: max(1, len(files) // count)][:count]
    with hostile_server(texts) as url:
        for number, file in enumerate(chosen):
            text = "".join(texts[number * 40 : number * 40 + 40])
            alone.run(questions(file) + other_commands(file, text, url), environment)
        shared = {"CAIRN_TEAM__URL": url, "CAIRN_TEAM_TOKEN": "token"}
        team.run([("status",), ("search", chosen[0].word), ("doctor",)] * 5, {**environment, **shared})
        with serving(root, Path(environment["CAIRN_DATA_DIR"])):
            for file in chosen:
                beside.run(questions(file) + other_commands(file, texts[0], url), environment)
            for file in files[::GROUP]:
                beside.run(
                    [each for each in questions(file) if each[0] in ("search", "discover")], environment
                )
            for file in files:
                beside.run(pages(file)[:1], environment)
    return {"alone": alone.figures(), "team": team.figures(), "beside_engine": beside.figures()}


if __name__ == "__main__":
    sys.exit(main())
