"""Checks whether cited lines are in their files: excerpts of an answer, and fenced lines of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cairn.protocol.search_messages import citation
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

_HEADING = re.compile(
    r"^(?:#{1,6} |\d+\. |- )?[`*]*(?P<path>[^\s`#].*?)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?\b"
)
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

    def matches_file(self, tree: Path) -> bool:
        """Return whether the file has exactly these lines there."""
        try:
            text = read_text(tree / self.path)
        except OSError:
            return False
        there = lines_of(text or "")[self.first - 1 : self.last]
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
    """Return the fenced text below lines with `path#Lfirst-Llast`. An unclosed fence has no lines.

    Quoted text may itself look like a heading, as links of a README do, so citations inside a fence are
    ignored.
    """
    lines = lines_of(prompt)
    number = 0
    while number < len(lines) - 1:
        heading, fence = _HEADING.match(lines[number]), _FENCE.match(lines[number + 1])
        number += 1
        if heading and fence:
            body = _fenced(lines[number + 1 :], fence["fence"])
            number += len(body) + 1
            yield Cited(
                heading["path"], int(heading["first"]), int(heading["last"] or heading["first"]), body
            )


def _fenced(lines: Sequence[str], fence: str) -> tuple[str, ...]:
    return tuple(lines[: lines.index(fence)]) if fence in lines else ()
