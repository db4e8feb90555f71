"""Loops over the tools of MCP servers with an index: Cairn's and semble's."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from agents.clients import Server, ToolError
from agents.grep import Tree, call, read_file
from agents.loops import Step

_MORE = re.compile(r"^more: cursor=(?P<cursor>\S+)", re.MULTILINE)
_PLACE = re.compile(r"^(?:=== )?(?P<path>[^\s:]+):(?P<first>\d+)(?:-(?P<last>\d+))?(?=\s|$)")
_FURTHER = re.compile(r"(?:^also |, )(?P<first>\d+)(?:-(?P<last>\d+))?(?=\s|,|$)")
_GOES_ON = re.compile(r"^more: path=(?P<place>\S+:\d+-\d+)", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*\d+[:\t ]", re.MULTILINE)

_CALLERS = re.compile(
    r"\b(?:who|what|which|where)\b.*\b(?:calls?|called|callers?|uses?|used|invokes?)\b", re.IGNORECASE
)
_NAME = re.compile(r"\b(?:\w+(?:\.|::|->))*(?:\w*[a-z0-9]_\w+|[A-Za-z]\w*[a-z][A-Z]\w*|_\w+)\b")
"""An identifier of several words, which ordinary sentences do not contain."""
_MOST_TOKENS = 16_000

Place = tuple[str, int, int]
"""A path with its first and last line, 1-based."""


def places_in(answer: str) -> list[Place]:
    """Return the places at the beginnings of lines, each once; further places of a file come last."""
    first: list[Place] = []
    further: list[Place] = []
    path = ""
    for line in answer.splitlines():
        if match := _PLACE.match(line):
            path = match["path"]
            first.append((path, int(match["first"]), int(match["last"] or match["first"])))
        elif path and line.startswith("also "):
            further += [
                (path, int(m["first"]), int(m["last"] or m["first"])) for m in _FURTHER.finditer(line)
            ]
    return list(dict.fromkeys([*first, *further]))


def cursor_in(answer: str) -> str:
    """Return the cursor for the next part of an answer; "" for the last part."""
    match = _MORE.search(answer)
    return match["cursor"] if match else ""


def without_numbers(answer: str) -> str:
    """Remove line numbers from an answer, so that a fact of two lines can be found."""
    return _NUMBERED.sub("", answer)


# --- Cairn ----------------------------------------------------------------------------------------


@frozen
class CairnLoop:
    """Calls `discover`, then `search`, and then `read` for the places shown, in their order."""

    discoveries: int = 1
    """The number of answers of `discover` to take first, by its cursor; 0 for none."""
    discover_tokens: int | None = None
    """The `max_tokens` of `discover`; None for its default."""
    growth: float = 1.0
    """The factor by which `max_tokens` grows from one answer to the next."""
    searches: int = 1
    """The number of answers of `search` that follow; 0 for none."""
    search_tokens: int | None = None
    limit: int | None = None
    first_search: bool = False
    """Whether searches come before discoveries."""
    margin: int = 30
    """The number of lines around a shown place to read afterwards."""
    references: bool = True
    """Whether a question about the callers of a name starts with `references`, as the tool's manual says."""
    files: int = 0
    """The number of files to read whole instead, in the order in which they were shown."""

    def steps(self, server: Server, question: str) -> Iterator[Step]:
        """Yield the steps for a question."""
        if self.references and (symbol := function_in_question(question)):
            yield from _references(server, symbol)
        order = [("discover", self.discoveries), ("search", self.searches)]
        shown: list[Place] = []
        left: dict[str, tuple[str, int]] = {}
        for tool, count in order[::-1] if self.first_search else order:
            cursor = ""
            for number in range(count):
                step = _call(
                    server, tool, query=question, **self._options(tool, number), cursor=cursor or None
                )
                yield step
                shown += places_in(step.answer)
                cursor = cursor_in(step.answer)
                if not cursor:
                    break
            if cursor:
                left[tool] = (cursor, count)
        yield from self._reads(server, shown)
        for tool, (cursor, number) in left.items():
            while cursor:
                step = _call(server, tool, query=question, **self._options(tool, number), cursor=cursor)
                yield step
                cursor, number = cursor_in(step.answer), number + 1

    def _options(self, tool: str, number: int) -> dict[str, int | None]:
        """Return the arguments of the 0-based answer `number`."""
        if tool == "search":
            return {"limit": self.limit, "max_tokens": self.search_tokens}
        if self.discover_tokens is None:
            return {}
        return {"max_tokens": min(_MOST_TOKENS, round(self.discover_tokens * self.growth**number))}

    def _reads(self, server: Server, shown: list[Place]) -> Iterator[Step]:
        whole = list(dict.fromkeys(path for path, _, _ in shown))[: self.files]
        for path in whole:
            yield from _read(server, path)
        read: dict[str, set[int]] = defaultdict(set)
        for path, first, last in dict.fromkeys(shown):
            start, end = max(1, first - self.margin), last + self.margin
            if path not in whole and not set(range(first, last + 1)) <= read[path]:
                read[path].update(range(start, end + 1))
                yield from _read(server, f"{path}:{start}-{end}")


def _read(server: Server, place: str) -> Iterator[Step]:
    """Yield the answers that show a place; none for a line of code that only looks like a place."""
    while place:
        try:
            step = _call(server, "read", path=place)
        except ToolError:
            return
        yield step
        match = _GOES_ON.search(step.answer)
        place = match["place"] if match else ""


def function_in_question(question: str) -> str:
    """Return the function whose callers a question asks for by its name in code; "" for none."""
    name = _NAME.search(question)
    return name[0] if name and _CALLERS.search(question) else ""


def _references(server: Server, symbol: str) -> Iterator[Step]:
    """Ask who calls the function of that name, unless no definition has the name."""
    try:
        yield _call(server, "references", symbol=symbol)
    except ToolError:
        return


def _call(server: Server, tool: str, **arguments: Any) -> Step:
    present = {name: value for name, value in arguments.items() if value is not None}
    answer = server.call(tool, **present)
    return Step(call(tool, **present), answer, without_numbers(answer))


# --- semble ---------------------------------------------------------------------------------------


@frozen
class SembleLoop:
    """Calls semble's `search`, then the agent's own reading tool at the places found, in their order."""

    top_k: int = 5
    lines: int | None = 10
    """The `max_snippet_lines` of semble; None for whole chunks."""
    content: str = "all"
    """The content that the server indexes: `code`, its default, or `all`."""
    then: str = "windows"
    """The following steps: `windows` around the results, `files` whole, `more` results, or `related` chunks
    of the results."""
    margin: int = 20

    def steps(self, server: Server, tree: Tree, question: str) -> Iterator[Step]:
        repo = str(tree.folder)
        step, found = _semble(server, "search", self._options(query=question, repo=repo, top_k=self.top_k))
        yield step
        if self.then == "related":
            for path, first, _ in found:
                arguments = self._options(file_path=path, line=first, repo=repo)
                yield _semble(server, "find_related", arguments)[0]
        top_k = self.top_k
        while self.then == "more" and top_k < 80:
            top_k *= 2
            step, found = _semble(server, "search", self._options(query=question, repo=repo, top_k=top_k))
            yield step
        if self.then == "windows":
            for path, first, last in found:
                start = max(1, first - self.margin)
                text = "\n".join(tree.lines(path)[start - 1 : last + self.margin])
                limit = last + self.margin - start + 1
                yield Step(call("Read", file_path=path, offset=start, limit=limit), text)
        for path in dict.fromkeys(path for path, _, _ in found):
            yield from read_file(tree, path)

    def _options(self, **arguments: Any) -> dict[str, Any]:
        return arguments if self.lines == 10 else {**arguments, "max_snippet_lines": self.lines}


def _semble(server: Server, tool: str, arguments: Mapping[str, Any]) -> tuple[Step, list[Place]]:
    answer = server.call(tool, **arguments)
    try:
        results = json.loads(answer).get("results", [])
    except ValueError:  # The answer was a sentence instead of results.
        return Step(call(tool, **arguments), answer), []
    shown = "\n".join(result.get("content", "") for result in results)
    found = [(str(Path(r["file_path"]).as_posix()), r["start_line"], r["end_line"]) for r in results]
    return Step(call(tool, **arguments), answer, shown), found
