"""Checks whether cited lines are in their files: excerpts of an answer, and numbered lines of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any

from attrs import evolve, frozen

from cairn.discovery.layout import OMITTED
from cairn.protocol.search_messages import citation
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

_HEADING = re.compile(r"### (?P<path>\S.*)")
_NUMBER = re.compile(r" *(?P<number>\d+)(?= |\Z)")
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})")


@frozen
class Cited:
    """Lines as an answer or a prompt shows them."""

    path: str
    """The path relative to the checkout."""
    first: int
    last: int
    """The last line, 1-based and inclusive."""
    lines: tuple[str, ...]
    laid_out: bool = False
    """Whether the lines are without their common indentation and trailing white space, as in a prompt."""

    def matches_file(self, tree: Path) -> bool:
        """Return whether the file has exactly these lines there."""
        try:
            text = read_text(tree / self.path)
        except OSError:
            return False
        there = lines_of(text or "")[self.first - 1 : self.last]
        if self.laid_out:
            there = [line.rstrip() for line in dedent("\n".join(there)).split("\n")]
        return bool(there) and tuple(there) == self.lines


def cited_in_answer(answer: Mapping[str, Any]) -> Iterator[Cited]:
    """Return the `excerpts` of a discovery, and the further passages of a search's results, if there are any.

    An excerpt whose citation differs from its range has no lines.
    """
    for excerpt in answer.get("excerpts") or ():
        cited = lines_shown(excerpt["path"], excerpt["range"], excerpt["text"])
        said = excerpt.get("citation", citation(cited.path, (cited.first - 1, cited.last)))
        yield (
            cited if said == citation(cited.path, (cited.first - 1, cited.last)) else evolve(cited, lines=())
        )
    for result in answer.get("results") or ():
        for passage in result.get("passages") or ():
            yield lines_shown(result["path"], passage["range"], passage["text"])


def lines_shown(path: str, lines: Mapping[str, Any], text: str) -> Cited:
    """Return a text as the lines of an LSP range, which counts from 0 and excludes the end."""
    text = text.removesuffix("\n").removesuffix("\r")
    return Cited(path, lines["start"]["line"] + 1, lines["end"]["line"], tuple(lines_of(text)))


def cited_in_prompt(prompt: str) -> Iterator[Cited]:
    """Return the excerpts in the fences below `### path`. An unclosed fence has no excerpts.

    The lines of an excerpt follow the first one, which has its number. Another number that does not count
    them makes the excerpt one without lines, which is in no file.
    """
    lines = lines_of(prompt)
    number = 0
    while number < len(lines) - 1:
        heading, fence = _HEADING.fullmatch(lines[number]), _FENCE.match(lines[number + 1])
        number += 1
        if heading and fence:
            body = _fenced(lines[number + 1 :], fence["fence"])
            number += len(body) + 1
            yield from _excerpts(heading["path"], body)


def _excerpts(path: str, body: Sequence[str]) -> Iterator[Cited]:
    numbered = next((found for line in body if (found := _NUMBER.match(line))), None)
    width = len(numbered[0]) if numbered else 0
    for is_omission, run in groupby(body, key=lambda line: line.startswith(OMITTED)):
        if is_omission:
            continue
        shown = list(run)
        numbers = [line[:width].strip() for line in shown]
        first = int(numbers[0]) if numbers[0].isdigit() else 0
        is_counted = all(each in ("", str(first + place)) for place, each in enumerate(numbers))
        lines = tuple(line[width + 1 :] for line in shown) if is_counted else ()
        yield Cited(path, first, first + len(shown) - 1, lines, laid_out=True)


def _fenced(lines: Sequence[str], fence: str) -> tuple[str, ...]:
    return tuple(lines[: lines.index(fence)]) if fence in lines else ()
