"""Compares what a terminal and a pipe show of the same answers, by reading the printed texts of both.

    .venv/bin/python benchmarks/forms.py FOLDER --output benchmarks/results/forms.json

Questions are command lines about the definitions of the folder, each answered by the code of its command on
one engine. A fact is a place with its names: of a reference, its function, what it means and how it is used;
of a result or an excerpt, its definition. A compact text is continued by the options that its line `more:`
names, so all facts of both forms are compared. Shown lines are compared with the files.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from engine.drawn import drawn_questions
from engine.figures import keep, run_conditions
from engine.index_file import NAME, IndexFile

from cairn.cli.main import question_of
from cairn.cli.output import display
from cairn.cli.question import Question
from cairn.cli.reference_commands import DIRECTIONS
from cairn.discovery.layout import MARK, OMITTED
from cairn.engine.engine import Engine
from cairn.paths import workspace_dir
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

_MOST_PAGES = {"discover": 3, "search": 10, "references": 50}
"""The maximum number of compact texts of an answer, by tool. Each text of `discover` is twice as long."""
_RESULTS = 10
"""The number of results that are compared. A compact text of a search can be continued up to 200."""
_ESCAPE = re.compile(r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\")
_MORE = re.compile(r"^more: --cursor (\S+)$", re.MULTILINE)
Fact = tuple[Any, ...]


@frozen
class Facts:
    """The facts of a printed text, and its lines of files, as (path, number, text)."""

    facts: set[Fact] = field(factory=set)
    lines: set[tuple[str, int, str]] = field(factory=set)


# --- references ------------------------------------------------------------------------------------

_ITEM = re.compile(
    r"- (?P<path>.+?):(?P<line>\d+)(?: in (?P<around>.+?))?"
    r"(?: → (?:(?P<file>[^:]+):\d+(?:-\d+)?  )?(?P<name>.+?)(?: \([a-z ]+\))?)?"
    r"(?:: (?P<code>.*?))?(?:  \((?P<remark>(?:import|inherit|read|write|\d+% sure).*)\))?"
)
_ALSO = re.compile(r"(\d+)(?: in (.+?))?(?:, (?=\d)|$)")
_PLACE = re.compile(r"(?P<path>.+):\d+")
_CODE = re.compile(r" +(\d+)(?:  (.*)|$)")
_SURE = 80
_USES = ("import", "inherit", "read", "write")


def compact_references(text: str, _: str) -> Facts:
    found, above = Facts(), {}
    for line in text.split("\n"):
        if line.startswith("  also at "):
            for number, around in _ALSO.findall(line.removeprefix("  also at ")):
                found.facts.add(_reference(above, int(number), around))
        elif match := _ITEM.fullmatch(line):
            above = match.groupdict()
            found.facts.add(_reference(above, int(above["line"]), above["around"] or ""))
        elif line.startswith("also calls, not defined here: "):
            path = name = ""
            for token in line.partition(": ")[2].split(", "):
                begins, _, place = token.rpartition(" (") if not name else ("", "", token)
                name = name or begins
                path, number = place.removesuffix(")").rpartition(":")[::2] if ":" in place else (path, place)
                found.facts.add((path, int(number.removesuffix(")")), "", name, "", "", None))
                name = "" if place.endswith(")") else name
    return found


def _reference(item: dict[str, str | None], number: int, around: str) -> Fact:
    remarks = [each.strip() for each in (item["remark"] or "").split(", ")]
    use = remarks[0] if remarks[0] in _USES else ""
    sure = next((int(each.split("%")[0]) for each in remarks if "% sure" in each), None)
    return (item["path"], number, item["file"] or "", item["name"] or "", around, use, sure)


def terminal_references(text: str, command: str) -> Facts:
    found, heads = Facts(), list[tuple[int, _Head]]()
    above, _, tree = text.partition("\n\n")
    asked = above.split(":")[0]
    for line in tree.split("\n"):
        if code := _CODE.fullmatch(line):
            head, number = heads[-1][1], int(code[1])
            if command == "callees":
                caller = head.caller or (heads[-2][1].path if len(heads) > 1 else asked)
                found.facts.add((caller, number, head.path, head.name, "", "", head.sure))
            else:
                found.facts.add((head.path, number, "", head.meant, head.name, head.use, head.sure))
        elif line.startswith(" "):
            depth = len(line) - len(line.lstrip())
            heads = [each for each in heads if each[0] < depth] + [(depth, _Head.of(line))]
    return found


@frozen
class _Head:
    """The line above some references, as a terminal shows it."""

    path: str
    name: str
    meant: str
    caller: str
    use: str
    sure: int | None

    @classmethod
    def of(cls, line: str) -> _Head:
        *parts, about = line.strip().split("  ")
        place = _PLACE.fullmatch(parts[0]) if parts else None
        name, _, meant = f" {''.join(parts[1 if place else 0 :])}".partition(" → ")
        remarks = about.split(", ")
        caller = next(
            (each.removeprefix("called in ") for each in remarks if each.startswith("called in")), ""
        )
        sure = re.search(r"(?:^|, )([01]\.\d\d) ", about)
        percent = round(100 * float(sure[1])) if sure else _SURE
        use = remarks[0] if remarks[0] in _USES else ""
        doubt = percent if percent < _SURE else None
        return cls(place["path"] if place else "", name.strip(), meant, caller, use, doubt)


# --- results and excerpts --------------------------------------------------------------------------

_RESULT = re.compile(r"(?P<path>\S.*?):(?P<lines>\d+(?:-\d+)?)(?:  (?P<name>.+?))?(?: — (?P<why>.+))?")
_NUMBERED = re.compile(r" {0,3}(\d+)(?: (.*))?")
_UNNUMBERED = " " * 5
_RANKED = re.compile(r" *\d+  (?P<path>.+?):(?P<lines>\d+(?:-\d+)?)  \d\.\d\d \w+")
_FURTHER = re.compile(r" {4}:(?P<lines>\d+(?:-\d+)?)(?:  (?P<name>.+))?")
_SHOWN = re.compile(r" {4,}(\d+)  (.*)")


def compact_results(text: str, _: str) -> Facts:
    found, path, results, number = Facts(), "", 0, 0
    for line in text.rstrip("\n").split("\n"):
        if match := _NUMBERED.fullmatch(line):
            number = int(match[1])
            found.lines.add((path, number, match[2] or ""))
        elif not line or line.startswith(_UNNUMBERED):
            number += 1
            found.lines.add((path, number, line.removeprefix(_UNNUMBERED)))
        elif line.startswith("also "):
            for each in re.split(r", (?=\d+(?:-\d+)?(?: |,|$))", line.removeprefix("also ")):
                lines, _, name = each.partition(" ")
                found.facts.add((path, lines, name))
        elif match := _RESULT.fullmatch(line):
            results += 1
            if results > _RESULTS:
                break
            path = match["path"]
            # A terminal shows only with `--explain` why a result was found.
            found.facts.add((path, match["lines"], match["name"] or ""))
    return found


def terminal_results(text: str, _: str) -> Facts:
    found, path, lines = Facts(), "", text.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if match := _RANKED.fullmatch(line):
            path = match["path"]
            about = below[4:] if below.startswith("    ") and not _SHOWN.fullmatch(below) else ""
            found.facts.add((path, match["lines"], about.replace(" — ", "  ")))
        elif match := _FURTHER.fullmatch(line):
            found.facts.add((path, match["lines"], match["name"] or ""))
        elif match := _SHOWN.fullmatch(line):
            found.lines.add((path, int(match[1]), match[2]))
    return found


_PLACES = "More on request"
_NAMED = re.compile(r"(?:  |(?P<path>[^ ].*):)(?P<lines>\d+(?:-\d+)?) (?P<about>.+)")
_LINKED = re.compile(r"(?P<path>\S.*?):(?P<lines>\d+(?:-\d+)?)  (?P<about>.+)")
_NUMBER = re.compile(r" *(?P<number>\d+)(?: (?P<line>.*))?")


def compact_excerpts(text: str, _: str) -> Facts:
    """Return the named places as facts, with the ends of their paths, and the quoted lines without their
    indentation."""
    found, path, number, is_place, owner = Facts(), "", 0, False, ""
    for line in text.split("\n"):
        if line == f"{_PLACES}:":
            is_place = True
        elif line.startswith(MARK):
            path, is_place = line.removeprefix(MARK), False
        elif line.startswith("more: "):
            path = ""
        elif is_place and (match := _NAMED.fullmatch(line)):
            # The owner of several places in a row is named once.
            name = (
                f"{owner}{match['about']}" if match["about"].startswith((".", "#", ":")) else match["about"]
            )
            owner = re.sub(r"(?:::|[.#:])[^\s.#:]+\Z", "", name)
            found.facts.add((match["path"] or path, match["lines"], name))
        elif is_place:
            path = line
        elif path and not line.startswith(OMITTED):
            numbered = _NUMBER.fullmatch(line)
            number = int(numbered["number"]) if numbered else number + 1
            quoted = (numbered["line"] or "") if numbered else line
            found.lines.add((path, number, quoted.strip()))
    return found


def terminal_excerpts(text: str, _: str) -> Facts:
    """Return the same of a terminal."""
    found, path, is_place = Facts(), "", False
    for line in text.split("\n"):
        if line.strip("─ ") == _PLACES:
            is_place = True
        elif is_place and (match := _LINKED.fullmatch(line.strip())):
            found.facts.add((match["path"], match["lines"], match["about"]))
        elif path and (match := _SHOWN.fullmatch(line)):
            found.lines.add((path, int(match[1]), match[2].strip()))
        elif line and not line.startswith((" ", ":")):
            path = line
    return found


# --- the comparison --------------------------------------------------------------------------------

_READERS = {
    "search": (compact_results, terminal_results),
    "discover": (compact_excerpts, terminal_excerpts),
    **{str(each.name): (compact_references, terminal_references) for each in DIRECTIONS},
}


@frozen
class Difference:
    """What the forms of one answer show differently."""

    command: Sequence[str]
    compact_only: list[Fact]
    terminal_only: list[Fact]
    untrue: list[tuple[str, int, str]]
    """Shown lines that are not so in their files."""

    def __bool__(self) -> bool:
        return bool(self.compact_only or self.terminal_only or self.untrue)


def differences(engine: Engine, folder: Path, *command: str) -> tuple[Difference, Facts]:
    """Return the differences of the forms of the answer to a command line, and the facts of the compact form.

    The compact form is continued as long as it says how.
    """
    asked, *options = command[1:]
    question = question_of((command[0], *options, "--", asked), folder)
    assert isinstance(question, Question), question
    read_compact, read_terminal = _READERS[command[0]]
    compact = read_compact("\n".join(_pages(question, engine)), command[0])
    terminal = read_terminal(_printed(question, engine), command[0])
    only = [[*compact.facts - terminal.facts], [*terminal.facts - compact.facts]]
    is_discovery = command[0] == "discover"
    if is_discovery:  # The budget of the prompt decides about the places.
        only = _named_otherwise(compact, terminal)
    shown = (*compact.lines, *terminal.lines)
    untrue = [each for each in shown if not _is_true(folder, *each, is_dedented=is_discovery)]
    return Difference(command, *only, untrue), compact


def _pages(question: Question, engine: Engine) -> Iterator[str]:
    """Yield the compact text and those that continue it."""
    results = 0
    for _ in range(_MOST_PAGES[question.tool]):
        text = question.text(engine.request())
        yield text
        results += sum(map(bool, map(_RESULT.fullmatch, text.split("\n"))))
        more = _MORE.search(text)
        if more is None or (question.tool == "search" and results > _RESULTS):
            return
        question = evolve(question, cursor=more[1])


def _printed(question: Question, engine: Engine) -> str:
    """Return what a terminal without colours shows."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        question.shown(question.answer(engine.request()))
    return _ESCAPE.sub("", shown.getvalue())


def _named_otherwise(compact: Facts, terminal: Facts) -> list[list[Fact]]:
    """Return the places of the same lines that have another name."""
    pairs = [
        (short, full)
        for short in compact.facts
        for full in terminal.facts
        if full[1] == short[1] and f"/{full[0]}".endswith(f"/{short[0]}")
    ]
    differ = [(short, full) for short, full in pairs if not full[2].startswith(short[2])]
    return [[short for short, _ in differ], [full for _, full in differ]]


def _is_true(folder: Path, path: str, number: int, text: str, *, is_dedented: bool) -> bool:
    lines = lines_of(read_text(folder / path) or "")
    if number > len(lines):
        return False
    line = lines[number - 1].strip() if is_dedented else lines[number - 1]
    return text.startswith(" (a line of ") or line.expandtabs(4) == text.expandtabs(4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200, help="questions for each command")
    parser.add_argument("--only", action="append", choices=[*_READERS], help="this command alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    engine = Engine({"index": {"watch": False}, "search": {"legDeadlineMs": 60_000}})
    engine.add_folder(folder)
    waiting = threading.Event()
    while not engine.progress().complete:
        waiting.wait(0.05)
    display.color = "never"
    try:
        names, questions = _asked(folder, options.count, random.Random(options.seed))
        for command in options.only or _READERS:
            follows = _READERS[command][0] is compact_references
            entry = compare(engine, folder, command, names if follows else questions)
            entry = {"conditions": {**run_conditions(), "seed": options.seed}, **entry}
            print(json.dumps({command: entry}, indent=2), flush=True)
            if options.output:
                keep(options.output, command, entry)
    finally:
        engine.stop()


def _asked(folder: Path, count: int, choose: random.Random) -> tuple[list[str], list[str]]:
    """Return names of definitions, and questions."""
    index = IndexFile(workspace_dir(folder) / NAME)
    rows = index.rows(
        "SELECT DISTINCT symbol FROM chunks WHERE symbol_kind IN ('function', 'method', 'class')"
    )
    names = sorted(str(name) for (name,) in rows)
    questions = drawn_questions(folder, index, count, choose)
    index.close()
    return choose.sample(names, min(count, len(names))), questions


def compare(engine: Engine, folder: Path, command: str, asked: Sequence[str]) -> dict[str, Any]:
    """Return how many answers of a command were compared, how many facts they have, and the differences."""
    more = () if command in ("search", "discover") else ("-n", "1000", "--max-tokens", "6000")
    totals, examples = Counter[str](), list[str]()
    for each in asked:
        found, facts = differences(engine, folder, command, each, *more)
        totals.update(answers=1, facts=len(facts.facts), lines=len(facts.lines), different=bool(found))
        totals.update(compact_only=len(found.compact_only), terminal_only=len(found.terminal_only))
        totals.update(untrue=len(found.untrue))
        examples += [str(found)] if found and len(examples) < 3 else []
    return {**totals, "examples": examples}


if __name__ == "__main__":
    main()
