"""Loops without an index: an agent's grep that reads whole files, and a tuned grep with windows around
hits."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from attrs import frozen
from engine.index_file import UnavailableError

from agents.loops import Step, tokens
from agents.words import Term, terms_of
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

_LONGEST_LINE = 500
"""The number of characters shown of a line, as in the grep tools of agents."""
_READ_LINES = 2_000
"""The number of lines that one call of the reading tool returns, as in the tools of agents."""
_TESTS = re.compile(r"(^|[/_.-])(tests?|specs?|__tests__|testing)([/_.-]|$)", re.IGNORECASE)
_PROSE = re.compile(r"\.(md|mdx|rst|txt|adoc|html?)$|(^|/)(docs?|changes|changelog)", re.IGNORECASE)
_FOUND_NOTHING = 1

DEFINITIONS = (
    {
        "name": "Grep",
        "description": "Search the contents of files with ripgrep. Supports full regular expressions "
        "(log.*Error, function\\s+\\w+). Filter files with glob (*.js, **/*.tsx) or type (js, py, rust). "
        "Output modes: content shows the matching lines, files_with_matches shows paths only (the default), "
        "count shows how many lines match. Literal braces need escaping. Patterns match within single lines "
        "unless multiline is true. Use this tool to search; do not call grep or rg in a shell.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression to search for"},
                "path": {
                    "type": "string",
                    "description": "File or folder to search in; the working folder by default",
                },
                "glob": {"type": "string", "description": "Glob to filter files"},
                "type": {"type": "string", "description": "File type to search: js, py, rust, go, java"},
                "output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"]},
                "-i": {"type": "boolean", "description": "Ignore case"},
                "-n": {"type": "boolean", "description": "Show line numbers, in content mode"},
                "context": {
                    "type": "number",
                    "description": "Lines to show before and after each match, in content mode",
                },
                "head_limit": {"type": "number", "description": "Show the first N lines or entries only"},
                "multiline": {"type": "boolean", "description": "Let patterns span lines"},
            },
            "required": ["pattern"],
        },
    },
    {
        "name": "Read",
        "description": "Read a file from the local file system. Reads up to 2,000 lines from the beginning "
        "unless offset and limit are given. Lines longer than 500 characters are cut. Folders cannot be "
        "read; list them with Glob. Call several reads at once when several files may be useful.",
        "input_schema": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The path of the file"},
                "offset": {
                    "type": "number",
                    "description": "The line to start from; only for files too long to read at once",
                },
                "limit": {"type": "number", "description": "How many lines to read"},
            },
            "required": ["file_path"],
        },
    },
    {
        "name": "Glob",
        "description": "Find files by a glob pattern such as **/*.js or src/**/*.ts. Returns matching paths, "
        "the most recently changed first.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The glob pattern"},
                "path": {"type": "string", "description": "The folder to search in"},
            },
            "required": ["pattern"],
        },
    },
)
"""The tools of an agent without an index, in the form and about half the length that coding agents use."""


class Tree:
    """A checkout as ripgrep sees it: without hidden and ignored files."""

    def __init__(self, folder: Path) -> None:
        binary = shutil.which("rg")
        if binary is None:
            raise UnavailableError("ripgrep is not installed, or rg is not on the PATH")
        self.folder, self._binary = folder, binary
        self._lines: dict[str, list[str]] = {}
        self._hits: dict[str, dict[str, list[int]]] = {}

    @cached_property
    def paths(self) -> list[str]:
        """Return all files, sorted."""
        return sorted(path.removeprefix("./") for path in self._run("--files", "--null").split("\0") if path)

    def hits(self, pattern: str) -> dict[str, list[int]]:
        """Return the lines (from 1, and their text) that contain a fixed string in any case, by path."""
        if pattern not in self._hits:
            found: dict[str, list[int]] = defaultdict(list)
            out = self._run("-n", "-i", "-F", "--null", "--with-filename", "-o", "-e", pattern)
            for row in out.splitlines():
                path, zero, rest = row.partition("\0")
                number = rest.partition(":")[0]
                if zero and number.isdigit() and (not found[path] or found[path][-1] != int(number)):
                    found[path].append(int(number))
            self._hits[pattern] = dict(found)
        return self._hits[pattern]

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file, cut at the longest shown length."""
        if path not in self._lines:
            text = read_text(self.folder / path) or ""
            self._lines[path] = [line[:_LONGEST_LINE] for line in lines_of(text)]
        return self._lines[path]

    def idf(self, term: Term) -> float:
        """Return the inverse document frequency, 0 for a term that no file contains."""
        matches = len(self.hits(term.pattern))
        return math.log(1 + len(self.paths) / matches) if matches else 0.0

    def _run(self, *options: str) -> str:
        command = [self._binary, "--no-config", "--sort", "path", *options]
        if "--files" not in options:
            command.append("--")
        done = subprocess.run(
            [*command, "."] if "--files" not in options else command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if done.returncode > _FOUND_NOTHING and not done.stdout:
            raise UnavailableError(f"rg failed: {done.stderr.decode(errors='replace').strip()}")
        text = done.stdout.decode(errors="replace")
        return text.replace("\n./", "\n").removeprefix("./")


def call(tool: str, **arguments: object) -> str:
    """Return a call as the model writes it."""
    return json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)


def read_file(tree: Tree, path: str) -> Iterator[Step]:
    """Yield the calls that read a whole file, without line numbers."""
    lines = tree.lines(path)
    for first in range(0, max(1, len(lines)), _READ_LINES):
        arguments = {"file_path": path, **({"offset": first} if first else {})}
        yield Step(call("Read", **arguments), "\n".join(lines[first : first + _READ_LINES]))


# --- an agent's grep and whole files --------------------------------------------------------------


@frozen
class WholeFileGrep:
    """Greps for the rarest words, names first, reads the files with the most hits, and greps for the next
    words."""

    words: int = 2
    """The number of words to search for before files are read."""
    together: bool = False
    """Whether one call searches for all of them at once."""
    head: int = 100
    """The number of lines of output that a call returns."""
    files: int = 4
    """The number of files to read before the next words are searched for."""

    def steps(self, tree: Tree, question: str) -> Iterator[Step]:
        terms = sorted(terms_of(question), key=lambda term: (not term.is_name, -tree.idf(term)))
        terms = [term for term in terms if tree.hits(term.pattern)]
        read: set[str] = set()
        seen: Counter[str] = Counter()
        for start in range(0, len(terms), self.words):
            some = terms[start : start + self.words]
            for group in [some] if self.together else [[term] for term in some]:
                step, shown = self._grep(tree, group)
                yield step
                for path, lines in shown.items():
                    seen[path] += 1_000 + min(
                        lines, 999
                    )  # The number of matching words counts first, then the number of lines.
            order = [path for path, _ in seen.most_common() if path not in read]
            for path in order[: self.files]:
                read.add(path)
                yield from read_file(tree, path)
        for path, _ in seen.most_common():
            if path not in read:
                yield from read_file(tree, path)

    def _grep(self, tree: Tree, terms: Sequence[Term]) -> tuple[Step, Mapping[str, int]]:
        """Return up to `head` lines with any of the terms, by path, and the number of shown lines of each
        path."""
        lines: dict[str, set[int]] = defaultdict(set)
        for term in terms:
            for path, numbers in tree.hits(term.pattern).items():
                lines[path].update(numbers)
        places = [(path, number) for path in sorted(lines) for number in sorted(lines[path])]
        shown = places[: self.head]
        rows = [f"{path}:{number}:{tree.lines(path)[number - 1]}" for path, number in shown]
        if len(places) > len(shown):
            rows.append(f"[{len(places) - len(shown)} more lines]")
        pattern = "|".join(re.escape(term.pattern) for term in terms)
        arguments = {"pattern": pattern, "-i": True, "-n": True, "output_mode": "content"}
        text = "\n".join(tree.lines(path)[number - 1] for path, number in shown)
        return Step(call("Grep", **arguments), "\n".join(rows), text), Counter(path for path, _ in shown)


# --- a tuned grep ---------------------------------------------------------------------------------


@frozen
class Window:
    """Lines of a file around hits, with their score."""

    path: str
    centre: int
    score: float


@frozen
class TunedGrep:
    """Shows windows around the densest hits of the best files, wider ones of the same files, and then the
    next files.

    Files and windows are ranked by the inverse document frequency of their distinct terms. Counting hits is
    free; only the shown text costs tokens. The defaults are the best of 150 random settings and of their
    neighbours on half `a` of the development questions.
    """

    around: int = 5
    """The number of lines before and after a hit."""
    wider: int = 1
    """The factor by which windows grow in the second round; 1 for no second round."""
    files: int = 10
    """The number of files whose windows are shown before wider ones."""
    page: int = 1_000
    """The number of tokens that one call returns."""
    growth: float = 1.0
    """The factor by which `page` grows from one call to the next."""
    of_file: float = 0.5
    """The weight of a file's score in that of its windows."""
    path_weight: float = 1.0
    """The weight of a term in the path, relative to one in the text."""
    name_weight: float = 1.0
    """The weight of an identifier, relative to a word."""
    demoted: float = 0.3
    """The weight of tests if the question does not mention tests."""
    prose: float = 0.5
    """The weight of documents, relative to code."""
    power: float = 1.0
    """The exponent of the inverse document frequency."""

    def steps(self, tree: Tree, question: str) -> Iterator[Step]:
        terms = [term for term in terms_of(question) if tree.hits(term.pattern)]
        weights = {
            term: tree.idf(term) ** self.power * (self.name_weight if term.is_name else 1.0) for term in terms
        }
        shown: dict[str, set[int]] = defaultdict(set)
        pattern = "|".join(re.escape(term.pattern) for term in terms)
        page: list[str] = []
        size = float(self.page)
        for piece in self._pieces(tree, question, weights, shown):
            page.append(piece)
            if sum(map(tokens, page)) >= size:
                yield Step(call("Grep", pattern=pattern, context=self.around), "\n".join(page))
                page, size = [], size * self.growth
        if page:
            yield Step(call("Grep", pattern=pattern, context=self.around), "\n".join(page))

    def _pieces(
        self, tree: Tree, question: str, weights: Mapping[Term, float], shown: dict[str, set[int]]
    ) -> Iterator[str]:
        ranked = self._files(tree, question, weights)
        for start in range(0, len(ranked), self.files):
            some = ranked[start : start + self.files]
            windows = [
                window
                for path, score in some
                for window in self._windows(tree, path, score, weights, self._factor(path, question))
            ]
            windows.sort(key=lambda window: -window.score)
            for width in dict.fromkeys((self.around, self.around * self.wider)):
                for window in windows:
                    yield from _unseen(tree, window, width, shown)

    def _factor(self, path: str, question: str) -> float:
        of_tests = "test" in question.lower()
        is_test = bool(_TESTS.search(path))
        if is_test != of_tests:
            return self.demoted
        return self.prose if _PROSE.search(path) else 1.0

    def _files(self, tree: Tree, question: str, weights: Mapping[Term, float]) -> list[tuple[str, float]]:
        """Return the files with their scores, best first."""
        scores: dict[str, float] = defaultdict(float)
        for term, weight in weights.items():
            for path in tree.hits(term.pattern):
                scores[path] += weight
                if term.pattern in path.lower():
                    scores[path] += self.path_weight * weight
        worth = {path: score * self._factor(path, question) for path, score in scores.items()}
        return sorted(worth.items(), key=lambda item: (-item[1], item[0]))

    def _windows(
        self, tree: Tree, path: str, of_file: float, weights: Mapping[Term, float], factor: float
    ) -> list[Window]:
        """Return a window around each line with a hit, without the terms of better overlapping windows."""
        at: dict[int, set[Term]] = defaultdict(set)
        for term in weights:
            for number in tree.hits(term.pattern).get(path, ()):
                at[number].add(term)
        numbers = sorted(at)
        windows = []
        for centre in numbers:
            start = bisect_left(numbers, centre - self.around)
            end = bisect_right(numbers, centre + self.around)
            near = set().union(*(at[number] for number in numbers[start:end]))
            # These sums do not depend on the order of a set, so ties are broken the same way in each run.
            of_line = math.fsum(weights[term] for term in at[centre])
            score = math.fsum(weights[term] for term in near) + 0.1 * of_line
            windows.append(Window(path, centre, score * factor + self.of_file * of_file))
        return windows


def _unseen(tree: Tree, window: Window, width: int, shown: dict[str, set[int]]) -> Iterator[str]:
    """Return the lines of a window that were not shown yet, with path and lines before each run of them."""
    lines = tree.lines(window.path)
    first, last = max(1, window.centre - width), min(len(lines), window.centre + width)
    wanted = [number for number in range(first, last + 1) if number not in shown[window.path]]
    if window.centre in shown[window.path] and width and not wanted:
        return
    for run in _runs(wanted):
        shown[window.path].update(run)
        text = "\n".join(lines[number - 1] for number in run)
        yield f"{window.path}:{run[0]}-{run[-1]}\n{text}"


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split sorted numbers into runs of neighbours."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
