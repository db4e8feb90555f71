#!/usr/bin/env python3
"""Show thousands of hostile texts with every command on real terminals, and look for control characters.

    python benchmarks/hostile_terminal.py FOLDER [--texts 10000] [--files 1] [--pages 200] [--output FILE]

It writes a repository into FOLDER, which must not exist: a file for every four texts, with hostile contents,
name, symbol and commit subject. Then it runs every command line of `hostile_texts` with a terminal each for
stdout and stderr: with and without a running engine, and with a team's server that refuses with hostile
texts. With the engine, it also searches for every group of files, and shows `--pages` of them. It exits with
1 if a terminal received anything but text and Cairn's own escape sequences.
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
    parser.add_argument("--files", type=int, default=1, help="files for which every command runs")
    parser.add_argument("--pages", type=int, default=200, help="files to show whole")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    root = folder / "lighthouse"
    texts = hostile_texts(options.texts)
    files = write_repository(root, texts)
    environment = environment_of(folder / "data")
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "cairn", "index", "-q", str(root)], env=environment, check=True)
    figures = run_all(root, files, texts, environment, options.files, options.pages)
    conditions = {**run_conditions(), "texts": len(texts), "seconds": round(time.monotonic() - started)}
    shutil.rmtree(folder)
    if options.output:
        shown = json.dumps({"conditions": conditions, **figures}, indent=2)
        options.output.write_text(f"{shown}\n", encoding="utf-8")
    return int(any(each["problems"] for each in figures.values()))


def run_all(
    root: Path,
    files: Sequence[HostileFile],
    texts: Sequence[str],
    environment: dict[str, str],
    file_count: int,
    page_count: int,
) -> Figures:
    """Run all commands, and return the figures of each part. `root` is indexed already."""
    figures: Figures = {}
    chosen = files[:: max(1, len(files) // file_count)][:file_count]
    some = "".join(texts[:40])

    def keep(part: str, tally: Tally) -> None:
        figures[part] = tally.figures()
        print(part, json.dumps(figures[part], indent=2), flush=True)

    with hostile_server(texts) as url:
        beside, alone, team = Tally(root), Tally(root), Tally(root)
        with serving(root, Path(environment["CAIRN_DATA_DIR"])):
            for file in files[::GROUP]:
                asked = [each for each in questions(file) if each[0] in ("search", "discover")]
                beside.run(asked, environment)
            for file in files[:: max(1, len(files) // page_count)]:
                beside.run(pages(file)[:1], environment)
            keep("beside an engine, questions", beside)
            for file in chosen:
                beside.run(questions(file) + other_commands(file, some, url), environment)
            keep("beside an engine", beside)
        for file in chosen:
            alone.run(questions(file) + other_commands(file, some, url), environment)
        keep("alone", alone)
        shared = {"CAIRN_TEAM__URL": url, "CAIRN_TEAM_TOKEN": "token"}
        team.run([("status",), ("search", chosen[0].word), ("doctor",)], {**environment, **shared})
        keep("with a team's server", team)
    return figures


if __name__ == "__main__":
    sys.exit(main())
